"""`bayeseval compare`: whether one run is better than another."""

import math
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import (
    note_depth,
    note_lengths,
    note_missing_topics,
    note_no_error,
    note_outside_weight,
)
from bayeseval.cli.options import (
    DataFrame,
    Dataset,
    DataTree,
    Estimated,
    Judged,
    Rankings,
    Table,
    grouped,
)
from bayeseval.cli.output import note, working, write_result
from bayeseval.cli.reading import (
    COMBINED,
    check_combinable,
    check_level,
    check_measures,
    check_population,
    combined,
    estimate_options,
    given_scores,
    groups_of_topics,
    read_judged,
)
from bayeseval.cli.tables import (
    OVER,
    add_cells,
    as_rows,
    interval_cell,
    interval_title,
    new_table,
    number_cell,
)
from bayeseval.messages import counted, percent

COLUMNS = ["run_a", "run_b", "measure", "estimator", "estimate", "standard_error"]
COLUMNS += ["lower", "upper", "probability_better", "standardised"]
COLUMNS += ["p_value", "p_holm", "p_tukey", "outside_weight_a", "outside_weight_b"]
EQUIVALENCE = ["probability_equivalent", "p_equivalence", "equivalent"]


@grouped
def compare(
    qrels: option.Qrels,
    runs: option.Runs,
    measure: option.Measures,
    estimated: Estimated,
    judged: Judged,
    rankings: Rankings,
    scores: option.Scores = None,
    reference: Annotated[
        str | None, typer.Option(help="Compare every run with this one.", show_default="all pairs")
    ] = None,
    population: option.ComparedPopulation = None,
    topic_groups: option.TopicGroups = None,
    equivalence: Annotated[
        float | None, typer.Option(help="Largest difference of no practical importance.")
    ] = None,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse",
            help="Exit code 3 if a run is worse than the --reference: if its interval lies below "
            "0, or below minus --equivalence. Of many comparisons some fail by chance: raise "
            "--ci-prob. Combined intervals are valid on average over runs, those of dyn for each. "
            "With --anytime it may be asked often: 0 if every interval lies above that limit "
            "(a run as good as the reference needs --equivalence), 3 worse, 2 not yet known.",
        ),
    ] = False,
    prior: option.Prior = None,
    seed: Annotated[int, typer.Option(help="Seed of estimator, permutations and draws.")] = 0,
    format: option.TidyFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Compare RUNs in pairs: differences and adjusted p values.

    CSV columns: run_a, run_b, measure, estimator, estimate (a minus b), standard_error, lower,
    upper, probability_better, standardised, p_value, p_holm, p_tukey, outside_weight_a and
    outside_weight_b (weight on documents that are unjudged or outside the sampling frame). Combined
    scores have no tests: standardised, p values and equivalent are empty.

    In tables P(a > b) is probability_better, which rests on a prior that is estimated from all
    pairs (--prior; two runs say almost nothing about it) and is of one look, and size is
    standardised: the difference over the standard deviation of the topics' differences.
    """
    from bayeseval.estimators import HAS_COVARIANCE

    written = option.output_format(format, output)
    combining, ci_prob = estimated.estimator == COMBINED, estimated.ci_prob
    if fail_if_worse and reference is None:
        raise ValueError(
            "--fail-if-worse needs the run that others may not fall behind; give it by --reference"
        )
    groups = groups_of_topics(topic_groups)
    asked: dict[str, Any] = {"reference": reference, "ci_prob": ci_prob, "equivalence": equivalence}
    if scores:
        asked |= {"prior": prior, "random_seed": seed, "topic_groups": groups}
        given = given_scores(scores, measure, output, topic_groups)
        rows = _of_scores(given, asked, written, output)
        return _fail_if_worse(rows, equivalence or 0.0, anytime=False) if fail_if_worse else None
    check_measures(measure, estimated.relevance_level, estimated.estimator)
    check_population(population, estimated.estimator)
    options = estimate_options(estimated, judged)
    collection = read_judged(qrels, runs, judged, rankings, output, topic_groups)
    check_level(collection, estimated.relevance_level, measure)
    if combining:
        over = {"population": population or "sample", "topic_groups": groups}
        pairs, mean = _combined(collection, measure, estimated, options, asked, over, prior, seed)
    else:
        asked |= {"population": population, "prior": prior, "random_seed": seed}
        asked["anytime"] = estimated.anytime
        with working("comparing"):
            pairs = be.compare(collection, measure, topic_groups=groups, **asked, **options)
        if options["estimator"] in HAS_COVARIANCE:  # the weight is that of the frame
            options |= {"estimator": "stat", "predictor": None, "denominator": "topic"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # compare has warned
            mean = be.mean_over_topics(be.evaluate(collection, measure, **options))
    note_depth(collection, rankings.depth, pairs["measure"].to_numpy())
    note_missing_topics(collection, zero=estimated.missing_topics == "zero")
    _note_errors(pairs, collection.sizes["run"])
    note_outside_weight(mean)
    weights = {
        f"outside_weight_{side}": mean["outside_weight"]
        .sel(run=pairs[f"run_{side}"])
        .reset_coords(drop=True)
        for side in "ab"
    }
    about = {name: pairs.attrs[name] for name in ("estimator", "population", "ci_prob", "prior")}
    about |= {"seed": seed} | ({"learn_from": estimated.learn_from} if combining else {})
    about |= {"anytime": True} if estimated.anytime else {}
    columns = COLUMNS if equivalence is None else COLUMNS + EQUIVALENCE
    columns = [*columns, "more_judgments"] if "more_judgments" in pairs else columns
    # a posterior has no tests, whose columns are empty
    rows = be.to_frame(pairs.assign(weights)).assign(estimator=estimated.estimator)
    rows = rows.reindex(columns=columns)
    if "more_judgments" in rows:
        rows = rows.astype({"more_judgments": "Int64"})
    if estimated.estimator == "assumed":
        _warn_reversible(rows)
    write_result(as_rows(rows, about, written, _table), output)
    if fail_if_worse:
        _fail_if_worse(rows, equivalence or 0.0, anytime=estimated.anytime)
        _check_something_relevant(collection, measure, estimated.relevance_level)


def _of_scores(given: Dataset, asked: dict, written: str, output: Path | None) -> DataFrame:
    """Differences of scores of another tool as rows, which are written."""
    with working("comparing"):
        pairs = be.compare(given, **asked)
    _note_errors(pairs, given.sizes["run"])
    about = {name: pairs.attrs[name] for name in ("estimator", "population", "ci_prob", "prior")}
    about["seed"] = asked["random_seed"]
    columns = COLUMNS if asked["equivalence"] is None else COLUMNS + EQUIVALENCE
    rows = be.to_frame(pairs).assign(estimator=about["estimator"]).reindex(columns=columns)
    write_result(as_rows(rows, about, written, _table), output)
    return rows


def _combined(
    collection: DataTree,
    measure: list[str],
    estimated: Estimated,
    options: dict[str, Any],
    asked: dict[str, Any],
    over: dict[str, Any],
    prior: str | None,
    seed: int,
) -> tuple[Dataset, Dataset]:
    """Differences of scores by design and model combined, and the scores."""
    import numpy as np

    from bayeseval.answers.scoring import summed_and_listed
    from bayeseval.evaluation import compared_pairs
    from bayeseval.measures.names import parse_measures
    from bayeseval.rankings.comparisons import equivalence_margins

    compared_pairs(collection["run"].to_numpy(), asked["reference"])  # refused before the fit
    equivalence_margins(asked["equivalence"], np.array(measure))
    check_combinable(collection, measure, options["relevance_level"])
    scores = combined(collection, measure, estimated, options, seed, **over)
    pairs = be.rankings.compare_draws(scores, prior=prior, **asked)
    parsed = parse_measures(measure, relevance_level=estimated.relevance_level)
    summed = summed_and_listed(parsed)[0]
    if summed:
        alone = asked | over | {"equivalence": None}
        by_dyn = be.compare(collection, summed, **alone, **options)
        note_differences(pairs.sel(measure=summed), by_dyn)
    return pairs, scores


def note_differences(pairs: Dataset, by_dyn: Dataset) -> None:
    """Say how long the intervals of differences are, and which differences dyn knows better."""
    length, of_dyn = (
        one["interval"].diff("ci_bound").isel(ci_bound=0, drop=True) for one in (pairs, by_dyn)
    )
    ratio = length / of_dyn.where(of_dyn > 0)
    note_lengths(ratio.median("comparison"), "median of the differences")
    ratio = ratio.where((of_dyn > 0) | (length <= 0), float("inf"))  # dyn is certain, and dyn alone
    longer = ratio.max("measure").fillna(0.0).to_numpy()
    number, worst = int((longer > 1.25).sum()), int(longer.argmax())
    if number:
        pair = " and ".join(str(pairs[name].to_numpy()[worst]) for name in ("run_a", "run_b"))
        note(
            f"dyn knows {number} of {counted(longer.size, 'difference')} better, most that of "
            f"{pair} (its interval is {1.0 / longer[worst]:.2f} times as long): take --estimator "
            "dyn for such pairs"
        )


def _note_errors(pairs: Dataset, n_runs: int) -> None:
    """Say which differences have no error, and of two runs that their prior says little."""
    if pairs.attrs["population"] == "sample":
        note_no_error(pairs)
    elif "n_topics" in pairs and (pairs["n_topics"] == 1).any():
        note(
            "a difference on 1 topic has no standard error: that comes from its spread over topics"
        )
    if n_runs < 3 and pairs.attrs["prior"] != "flat":
        note(
            "P(a > b) rests on a prior of the difference that is estimated from all pairs of runs, "
            "and 2 runs are one pair: it is mostly what is assumed beforehand, and less sure than "
            "the interval; --prior flat goes by the interval alone"
        )


def _warn_reversible(rows: DataFrame) -> None:
    """Warn where unjudged documents, which count as non-relevant, could reverse a difference."""
    estimate = rows["estimate"]
    beyond = rows["outside_weight_b"] - rows["outside_weight_a"] - estimate
    reversible = beyond.where(estimate > 0, -beyond) > 1e-9  # rounding of scores
    affected = rows.loc[reversible & (estimate != 0.0)]
    if affected.empty:
        return
    first = affected.iloc[0]
    warnings.warn(
        f"{len(affected)} of {counted(len(rows), 'comparison')} may be reversed by documents that "
        "nobody judged and that count as non-relevant: the run that scores lower has more of them, "
        f"by more than the difference; the first is {first['measure']} of {first['run_a']} and "
        f"{first['run_b']}, difference {first['estimate']:z.4f}, weights on unjudged documents "
        f"{first['outside_weight_a']:.3f} and {first['outside_weight_b']:.3f}",
        stacklevel=2,
    )


def _fail_if_worse(rows: DataFrame, margin: float, *, anytime: bool) -> None:
    """End with an exit code of its own where intervals lie below minus the margin.

    At every look a run is not worse where its interval lies above; else nobody can tell yet.
    """
    worse, unknown = rows.loc[rows["upper"] < -margin], rows.loc[rows["upper"].isna()]
    if len(worse):
        named = ", ".join(f"{row['run_a']} ({row['measure']})" for row in worse.to_dict("records"))
        note(f"worse than {worse.iloc[0]['run_b']}: {named}")
        raise typer.Exit(3)  # 1 is the code of an unforeseen error
    if len(unknown):
        first = unknown.iloc[0]
        raise ValueError(
            f"--fail-if-worse cannot tell: {len(unknown)} of {counted(len(rows), 'comparison')} "
            f"without an interval; the first is {first['measure']} of {first['run_a']}"
        )
    open_ones = rows.loc[anytime & (rows["lower"] < -margin)]
    if len(open_ones):
        most = open_ones.loc[open_ones["more_judgments"].idxmax()]
        raise ValueError(
            f"--fail-if-worse cannot tell yet: {len(open_ones)} of "
            f"{counted(len(rows), 'comparison')} {'is' if len(rows) == 1 else 'are'} open; about "
            f"{most['more_judgments']} more documents of each topic would decide all (most for "
            f"{most['measure']} of {most['run_a']}), if estimates stay as they are"
        )


def _check_something_relevant(collection: DataTree, measures: list[str], level: int) -> None:
    """Refuse to say that no run is worse where no judged document is relevant."""
    import numpy as np

    from bayeseval.measures.names import parse_measures

    highest = np.nanmax(collection["judgments/grade"].to_numpy())
    for measure in parse_measures(measures, relevance_level=level):
        if highest < (1 if measure.graded else measure.relevance_level):
            raise ValueError(
                "--fail-if-worse cannot tell: no judged document is relevant for "
                f"{measure.label}, the highest grade is {highest:g}"
            )


TESTED = {  # column of the table: column of the rows, and its digits
    "P(a > b)": ("probability_better", ".3f"),
    "size": ("standardised", "z.2f"),
    "p": ("p_value", ".4f"),
    "Holm": ("p_holm", ".4f"),
    "Tukey": ("p_tukey", ".4f"),
}
POSTERIOR = {
    "P(a > b)": ("probability_better", ".3f"),
    "P(equivalent)": ("probability_equivalent", ".3f"),
}


def _table(rows: DataFrame, about: dict) -> Table:
    """A line for each comparison."""
    level = percent(about["ci_prob"])
    over = OVER[about["population"]]
    title = f"{about['estimator']}, {level} {interval_title(about)} over {over}"
    posterior = about["estimator"] == COMBINED
    known = POSTERIOR if posterior else TESTED
    columns = {head: column for head, column in known.items() if column[0] in rows}
    tested = "equivalent" in rows and not posterior
    numbers = ["a - b", *columns, *(["equivalent"] if tested else [])]
    table = new_table(title, ("run a", "run b", "measure"), numbers)
    for row in rows.to_dict("records"):
        cells = [f"{row['estimate']:z.4f} {interval_cell(row)}".rstrip()]
        cells += [number_cell(row[name], form) for name, form in columns.values()]
        if tested:
            verdict = "yes" if row["equivalent"] else "no"
            cells.append("-" if math.isnan(row["p_equivalence"]) else verdict)
        add_cells(table, row["run_a"], row["run_b"], row["measure"], *cells)
    return table
