"""`bayeseval rank`: which ranks are possible for every run."""

from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_depth, note_scores
from bayeseval.cli.options import (
    DataFrame,
    Dataset,
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
from bayeseval.cli.tables import OVER, add_cells, as_rows, new_table
from bayeseval.messages import counted, percent

COLUMNS = ["run", "measure", "estimator", "estimate"]
COLUMNS += ["rank", "lower", "upper", "tie_group", "expected_rank"]


@grouped
def rank(
    qrels: option.Qrels,
    runs: option.Runs,
    measure: option.Measures,
    estimated: Estimated,
    judged: Judged,
    rankings: Rankings,
    scores: option.Scores = None,
    simultaneous: Annotated[
        bool,
        typer.Option("--simultaneous", help="Sets of ranks that are valid for all runs at once."),
    ] = False,
    top: Annotated[
        int | None, typer.Option(help="Also say which runs may be among the best TOP.")
    ] = None,
    population: option.ComparedPopulation = None,
    topic_groups: option.TopicGroups = None,
    prior: option.Prior = None,
    seed: Annotated[int, typer.Option(help="Random seed of the draws.")] = 0,
    format: option.TidyFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Rank RUNs, with a confidence set of ranks for each.

    Groups: every run of a group is found better than every run of the next. CSV columns: run,
    measure, estimator, estimate, rank, lower, upper (of the rank), tie_group, expected_rank; with
    --top also best. Groups and best hold for all runs at once.
    """
    from bayeseval.evaluation.score_tables import GIVEN
    from bayeseval.rankings.rank_sets import check_top

    written = option.output_format(format, output)
    estimator, combining = estimated.estimator, estimated.estimator == COMBINED
    by_group: dict[str, Any] = {"topic_groups": groups_of_topics(topic_groups)}
    ci_prob = estimated.ci_prob
    how: dict[str, Any] = {"ci_prob": ci_prob, "random_seed": seed, "prior": prior, "top": top}
    how |= {"simultaneous": simultaneous, "anytime": estimated.anytime}
    if scores:
        given, estimator = given_scores(scores, measure, output, topic_groups), GIVEN
        with working("ranking"):
            sets = be.rank(given, **how, **by_group)
    else:
        check_measures(measure, estimated.relevance_level, estimator)
        check_population(population, estimator)
        options = estimate_options(estimated, judged)
        collection = read_judged(qrels, runs, judged, rankings, output, topic_groups)
        check_level(collection, estimated.relevance_level, measure)
        check_top(top, collection.sizes["run"])
        if combining:
            check_combinable(collection, measure, estimated.relevance_level)
            over = {"population": population, **by_group}
            sets = be.rank(combined(collection, measure, estimated, options, seed, **over), **how)
        else:
            how |= by_group | {"population": population}
            with working("estimating and ranking"):
                sets = be.rank(collection, measure, **how, **options)
        note_depth(collection, rankings.depth, sets["measure"].to_numpy())
        note_scores(collection, sets)
    rows = _rows(sets, estimator)
    about = {"estimator": estimator, "population": sets.attrs["population"], "ci_prob": ci_prob}
    about |= {"simultaneous": simultaneous, "prior": sets.attrs["prior"], "seed": seed}
    about |= {"learn_from": estimated.learn_from} if combining else {}
    about |= {"anytime": True} if estimated.anytime else {}
    about |= {} if top is None else {"top": top}
    write_result(as_rows(rows, about, written, _table), output)
    if top is not None:
        _note_best(sets, top)
    n_groups = sets["tie_group"].max("run")
    alike = n_groups["measure"].to_numpy()[n_groups.to_numpy() == 1].tolist()
    if alike:
        note(
            f"{', '.join(alike)}: one group, since nowhere are all runs above found better than "
            "all below"
        )


def _note_best(sets: Dataset, top: int) -> None:
    """Say of each measure whether the best runs are known, or how many may be among them."""
    level = percent(sets.attrs["ci_prob"])
    for label in sets["measure"].to_numpy():
        possible = sets["run"].to_numpy()[sets["best"].sel(measure=label).to_numpy()].tolist()
        if len(possible) == top:
            note(f"{label}: the best {top} with {level} confidence: {', '.join(possible)}")
        else:
            note(f"{label}: {counted(len(possible), 'run')} may be among the best {top}")


def _rows(sets: Dataset, estimator: str) -> DataFrame:
    """One row for each run and measure, the best first."""
    kept = ["estimate", "rank", "interval", "tie_group", "expected_rank"]
    frame = be.to_frame(sets[kept + (["best"] if "best" in sets else [])])
    frame = frame.assign(estimator=estimator)
    frame = frame.loc[:, COLUMNS + (["best"] if "best" in sets else [])]
    order = sets["measure"].to_numpy().tolist()
    frame = frame.assign(place=[order.index(label) for label in frame["measure"]])
    ordered = frame.sort_values(["place", "rank", "run"], kind="stable")
    return ordered.drop(columns="place").reset_index(drop=True)


def _table(rows: DataFrame, about: dict) -> Table:
    """A line for each run, the best first, a rule between groups."""
    level = percent(about["ci_prob"])
    held = "all at once" if about["simultaneous"] else "each by itself"
    held += ", at every look" if about.get("anytime") else ""
    title = f"{about['estimator']}, {level} sets of ranks over {OVER[about['population']]}, {held}"
    if not about["simultaneous"]:
        title += "; groups" + (" and the best" if "best" in rows else "") + " all at once"
    numbers, among = ["estimate", "rank", "possible ranks", "expected", "group"], {}
    if "best" in rows:
        numbers.append("among the best")
        for label, of_measure in rows.groupby("measure"):
            sure = of_measure["best"].to_numpy().sum() == about["top"]
            among[label] = "yes" if sure else "possible"
    table = new_table(title, ("measure", "run"), numbers)
    for _, group in rows.groupby(["measure", "tie_group"], sort=False):
        for row in group.to_dict("records"):
            possible = f"{row['lower']} to {row['upper']}"
            cells = [f"{row['estimate']:z.4f}", f"{row['rank']}", possible]
            cells += [f"{row['expected_rank']:.1f}", f"{row['tie_group']}"]
            if "best" in row:
                cells.append(among[row["measure"]] if row["best"] else "no")
            add_cells(table, row["measure"], row["run"], *cells)
        table.add_section()
    return table
