"""`bayeseval compare`: whether one run is better than another."""

import math
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.combining import check_combinable, remark_differences, with_model
from bayeseval.cli.data import DataFrame, Dataset, DataTree, Table
from bayeseval.cli.estimating import (
    COMBINED,
    check_population,
    estimating,
    fitting,
    learned_from,
    read_judged,
)
from bayeseval.cli.groups import Estimated, Judged, Rankings, grouped
from bayeseval.cli.output import remark, working, write_result
from bayeseval.cli.reading import check_level, check_measures, groups_of_topics
from bayeseval.cli.remarks import (
    mean_outside,
    remark_denominators,
    remark_depth,
    remark_lacking,
    remark_no_error,
    remark_outside_weight,
)
from bayeseval.cli.tables import OVER, add_cells, as_rows, interval_cell, new_table, number_cell
from bayeseval.messages import counted, percent

COLUMNS = ["run_a", "run_b", "measure", "estimator", "estimate", "standard_error"]
COLUMNS += ["lower", "upper", "probability_better", "standardised"]
COLUMNS += ["p_value", "p_holm", "p_tukey", "outside_weight_a", "outside_weight_b"]
ROUNDING = 1e-9  # of scores
WORSE = 3  # exit code; 1 is that of an error that nobody foresaw
EQUIVALENCE = ["probability_equivalent", "p_equivalence", "equivalent"]


@grouped
def compare(
    qrels: option.Qrels,
    runs: option.Runs,
    measure: option.Measures,
    estimated: Estimated,
    judged: Judged,
    rankings: Rankings,
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
            "--ci-prob. Combined intervals hold on average over runs, those of dyn for each.",
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

    In tables P(a > b) is probability_better, which rests on a prior that is learned from all pairs
    (--prior; from two runs next to nothing is learned), and size is standardised: the difference
    over the standard deviation of the topics' differences.
    """
    written = option.chosen_format(format, output)
    check_measures(measure, estimated.relevance_level, estimated.estimator)
    check_population(population, estimated.estimator)
    _check_asked(estimated.estimator, reference, fail_if_worse, topic_groups)
    options, ci_prob = estimating(estimated, judged), estimated.ci_prob
    groups = groups_of_topics(topic_groups)
    collection = read_judged(qrels, runs, judged, rankings, output, topic_groups)
    check_level(collection, estimated.relevance_level, measure)
    asked = {"reference": reference, "ci_prob": ci_prob, "equivalence": equivalence}
    if estimated.estimator == COMBINED:
        pairs = _combined(collection, measure, asked, prior, options, fitting(estimated, seed))
    else:
        asked |= {"population": population, "prior": prior or "normal", "random_seed": seed}
        asked["topic_groups"] = groups
        with working("comparing"):
            pairs = be.compare(collection, measure, **asked, **options)
    remark_depth(collection, rankings.depth, pairs["measure"].to_numpy())
    remark_lacking(collection, None, zero=estimated.missing_topics == "zero")
    remark_denominators(pairs)
    _remark_errors(pairs)
    _remark_prior(pairs, collection.sizes["run"])
    pairs = _with_outside_weight(pairs, collection, measure, options)
    about = {name: pairs.attrs[name] for name in ("estimator", "population", "ci_prob", "prior")}
    about |= {"seed": seed} | learned_from(estimated)
    columns = COLUMNS if equivalence is None else COLUMNS + EQUIVALENCE
    # a posterior has no tests, whose columns are empty
    rows = be.to_frame(pairs).assign(estimator=estimated.estimator).reindex(columns=columns)
    if estimated.estimator == "assumed":
        _warn_reversible(rows)
    write_result(as_rows(rows, about, written, _table), output)
    if fail_if_worse:
        _fail_if_worse(rows, equivalence or 0.0)


def _check_asked(
    estimator: str, reference: str | None, fail_if_worse: bool, topic_groups: Path | None
) -> None:
    """Refuse options that need another one, or do not go with the estimator."""
    if fail_if_worse and reference is None:
        raise ValueError(
            "--fail-if-worse needs the run that others may not fall behind; give it by --reference"
        )
    if topic_groups is not None and estimator == COMBINED:
        raise ValueError("--topic-groups is for the population of topics, not combined scores")


def _combined(
    collection: DataTree,
    measure: list[str],
    asked: dict[str, Any],
    prior: str | None,
    options: dict[str, Any],
    how: dict[str, Any],
) -> Dataset:
    """Differences of scores by design and model combined, and what is to be said of the scores."""
    import numpy as np

    from bayeseval.evaluation import compared_pairs
    from bayeseval.rankings.comparisons import equivalence_margins

    compared_pairs(collection["run"].to_numpy(), asked["reference"])  # refused before the fit
    equivalence_margins(asked["equivalence"], np.array(measure))
    check_combinable(collection, measure, options["relevance_level"])
    with working("estimating"):
        scores = be.evaluate(collection, measure, **options)
        mean = be.mean_over_topics(scores, ci_prob=asked["ci_prob"])
    known = with_model(collection, mean, options, how)
    remark_denominators(known)
    pairs = be.rankings.compare_draws(known, prior=prior, **asked)
    plain = be.compare(collection, measure, **asked | {"equivalence": None}, **options)
    remark_differences(pairs, plain)
    return pairs


def _remark_errors(pairs: Dataset) -> None:
    """Say which differences have no error."""
    if pairs.attrs["population"] == "sample":
        remark_no_error(pairs)
    elif (pairs["n_topics"] == 1).any():
        remark(
            "a difference on 1 topic has no standard error: that comes from its spread over topics"
        )


def _remark_prior(pairs: Dataset, n_runs: int) -> None:
    """Say of two runs that a prior is hardly learned from them."""
    if n_runs < 3 and pairs.attrs["prior"] != "flat":
        remark(
            "P(a > b) rests on a prior of the difference that is learned from all pairs of runs, "
            "and 2 runs are one pair: it is mostly what is assumed beforehand, and less sure than "
            "the interval; --prior flat goes by the interval alone"
        )


def _with_outside_weight(pairs, collection, measure: list[str], options: dict) -> Dataset:
    """Pairs with their runs' weight on what nobody could judge; how much there is is said."""
    from bayeseval.estimators import HAS_COVARIANCE

    if options["estimator"] in HAS_COVARIANCE:  # the weight is that of the frame: the least to ask
        own = {"estimator": "stat", "predictor": None}
        options = options | own | {"estimator_options": {"denominator": "topic"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already
        scores = be.evaluate(collection, measure, **options)
    remark_outside_weight(scores)
    outside = mean_outside(scores)
    weights = {
        f"outside_weight_{side}": outside.sel(run=pairs[f"run_{side}"]).reset_coords(drop=True)
        for side in "ab"
    }
    return pairs.assign(weights)


def _warn_reversible(rows: DataFrame) -> None:
    """Say where unjudged documents, which count as non-relevant, could turn a difference round."""
    estimate = rows["estimate"]
    beyond = rows["outside_weight_b"] - rows["outside_weight_a"] - estimate
    turned = beyond.where(estimate > 0, -beyond) > ROUNDING
    found = rows.loc[turned & (estimate != 0.0)]
    if found.empty:
        return
    first = found.iloc[0]
    warnings.warn(
        f"{len(found)} of {counted(len(rows), 'comparison')} may be reversed by documents that "
        "nobody judged and that count as non-relevant: the run that scores lower has more of them, "
        f"by more than the difference; the first is {first['measure']} of {first['run_a']} and "
        f"{first['run_b']}, difference {first['estimate']:z.4f}, weights on unjudged documents "
        f"{first['outside_weight_a']:.3f} and {first['outside_weight_b']:.3f}",
        stacklevel=2,
    )


def _fail_if_worse(rows: DataFrame, margin: float) -> None:
    """End with an exit code of its own where intervals lie below minus the margin."""
    worse, unknown = rows.loc[rows["upper"] < -margin], rows.loc[rows["upper"].isna()]
    if len(worse):
        named = ", ".join(f"{row['run_a']} ({row['measure']})" for row in worse.to_dict("records"))
        remark(f"worse than {worse.iloc[0]['run_b']}: {named}")
        raise typer.Exit(WORSE)
    if len(unknown):
        first = unknown.iloc[0]
        raise ValueError(
            f"--fail-if-worse cannot tell: {len(unknown)} of {counted(len(rows), 'comparison')} "
            f"without an interval; the first is {first['measure']} of {first['run_a']}"
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
    title = f"{about['estimator']}, {level} intervals over {OVER[about['population']]}"
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
            told = "yes" if row["equivalent"] else "no"
            cells.append("-" if math.isnan(row["p_equivalence"]) else told)
        add_cells(table, row["run_a"], row["run_b"], row["measure"], *cells)
    return table
