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
    groups_of_topics,
    read_judged,
)
from bayeseval.cli.tables import OVER, add_cells, as_rows, new_table
from bayeseval.messages import percent

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
    from bayeseval.evaluation import default_population, means_with_covariance
    from bayeseval.evaluation.differences import without_defaults
    from bayeseval.evaluation.topic_groups import check_groups
    from bayeseval.rankings.rank_sets import check_top

    written = option.output_format(format, output)
    estimator, combining = estimated.estimator, estimated.estimator == COMBINED
    check_measures(measure, estimated.relevance_level, estimator)
    check_population(population, estimator)
    options, ci_prob = estimate_options(estimated, judged), estimated.ci_prob
    by_group = {"topic_groups": groups_of_topics(topic_groups)}
    collection = read_judged(qrels, runs, judged, rankings, output, topic_groups)
    check_level(collection, estimated.relevance_level, measure)
    check_top(top, collection.sizes["run"])
    over = population or default_population(options["estimator"])
    check_groups(population=over, topics=collection["topic"].to_numpy(), **by_group)
    how: dict[str, Any] = {"ci_prob": ci_prob, "random_seed": seed, **by_group}
    if combining:
        check_combinable(collection, measure, estimated.relevance_level)
        known = mean = combined(collection, measure, estimated, options, seed)
    elif over == "sample":
        options = without_defaults(options, "ranks count")
        with working("estimating"):
            mean = means_with_covariance(
                collection, measure, ci_prob=ci_prob, anticipated=True, **options
            )
        known, how["covariance"] = mean.drop_vars("covariance"), mean["covariance"]
    else:
        with working("estimating"):
            known = be.evaluate(collection, measure, ci_prob=ci_prob, **options)
            mean = be.mean_over_topics(known, population=over, ci_prob=ci_prob, **by_group)
    note_depth(collection, rankings.depth, mean["measure"].to_numpy())
    note_scores(collection, mean)
    with working("ranking"):
        sets = be.rankings.rank_sets(known, simultaneous=simultaneous, top=top, **how)
        chances = be.rankings.rank_probabilities(known, prior=prior, **how)
    rows = _rows(sets.assign(expected_rank=chances["expected_rank"]), estimator)
    about = {"estimator": estimator, "population": over, "ci_prob": ci_prob}
    about |= {"simultaneous": simultaneous, "prior": chances.attrs["prior"], "seed": seed}
    about |= {"learn_from": estimated.learn_from} if combining else {}
    write_result(as_rows(rows, about, written, _table), output)
    n_groups = sets["tie_group"].max("run")
    alike = n_groups["measure"].to_numpy()[n_groups.to_numpy() == 1].tolist()
    if alike:
        note(
            f"{', '.join(alike)}: one group, since nowhere are all runs above found better than "
            "all below"
        )


def _rows(sets: Dataset, estimator: str) -> DataFrame:
    """One row for each run and measure, the best first."""
    frame = be.to_frame(sets).assign(estimator=estimator)
    frame = frame.loc[:, COLUMNS + (["best"] if "best" in sets else [])]
    order = sets["measure"].to_numpy().tolist()
    frame = frame.assign(place=[order.index(label) for label in frame["measure"]])
    ordered = frame.sort_values(["place", "rank", "run"], kind="stable")
    return ordered.drop(columns="place").reset_index(drop=True)


def _table(rows: DataFrame, about: dict) -> Table:
    """A line for each run, the best first, a rule between groups."""
    level = percent(about["ci_prob"])
    held = "all at once" if about["simultaneous"] else "each by itself"
    title = f"{about['estimator']}, {level} sets of ranks over {OVER[about['population']]}, {held}"
    if not about["simultaneous"]:
        title += "; groups" + (" and the best" if "best" in rows else "") + " all at once"
    numbers = ["estimate", "rank", "possible ranks", "expected", "group"]
    if "best" in rows:
        numbers.append("among the best")
    table = new_table(title, ("measure", "run"), numbers)
    for _, group in rows.groupby(["measure", "tie_group"], sort=False):
        for row in group.to_dict("records"):
            possible = f"{row['lower']} to {row['upper']}"
            cells = [f"{row['estimate']:z.4f}", f"{row['rank']}", possible]
            cells += [f"{row['expected_rank']:.1f}", f"{row['tie_group']}"]
            if "best" in row:
                cells.append("possible" if row["best"] else "no")
            add_cells(table, row["measure"], row["run"], *cells)
        table.add_section()
    return table
