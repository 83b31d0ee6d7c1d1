"""`bayeseval adjust`: scores of unpooled runs, adjusted for pooling bias."""

import os
import warnings
from pathlib import Path
from typing import Annotated, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.data import DataFrame, Dataset, DataTree, Measure, Table
from bayeseval.cli.groups import Rankings, grouped
from bayeseval.cli.output import check_outputs, remark, working, write_result
from bayeseval.cli.reading import (
    check_apart,
    input_files,
    judgments_of,
    ordered_files,
    pooled_collection,
)
from bayeseval.cli.remarks import mean_outside, outside_shares, remark_depth, remark_lacking
from bayeseval.cli.tables import (
    COLUMNS,
    add_cells,
    as_rows,
    as_scores,
    interval_cell,
    new_table,
    number_cell,
)
from bayeseval.messages import counted, percent
from bayeseval.whole_file import expanded_path

Unpooled = Annotated[
    list[str],
    typer.Option(metavar="RUN", help="Run that did not contribute, or a quoted glob; repeatable."),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure", "-m", help="P@10, AP, ...; repeatable.", show_default="RBP(p=0.8)@10"
    ),
]
CommonTopics = Annotated[
    str | None, typer.Option(help="Topics where unpooled runs were judged too: a file, or a,b,c.")
]
CommonQrels = Annotated[
    str | None,
    typer.Option(help="Judgments of common topics, with the unpooled runs; QRELS: without."),
]
PoolDepth = Annotated[int, typer.Option(help="Ranks of each run that went into the pool.")]
Base = Annotated[
    Literal["nonrelevant", "condensed"],
    typer.Option(help="Unjudged documents: non-relevant, or removed from the ranking."),
]
LeaveOut = Annotated[
    Literal["run", "team"], typer.Option(help="Without common topics: leave out runs, or teams.")
]
Teams = Annotated[
    Path | None, typer.Option(help="CSV with the columns run and team, for --leave-out team.")
]
Interval = Annotated[Literal["t", "bootstrap"], typer.Option(help="Intervals with common topics.")]
EXTRA = ["unadjusted", "adjustment", "helps", "confidence"]


@grouped
def adjust(
    qrels: option.Qrels,
    runs: option.Runs,
    unpooled: Unpooled,
    rankings: Rankings,
    negative_grades: option.NegativeGrades = "unjudged",
    measure: Measures = None,
    common_topics: CommonTopics = None,
    common_qrels: CommonQrels = None,
    pool_depth: PoolDepth = 10,
    base: Base = "nonrelevant",
    leave_out: LeaveOut = "run",
    teams: Teams = None,
    interval: Interval = "t",
    seed: option.Seed = None,
    ci_prob: option.CiProb = 0.9,
    missing_topics: option.MissingTopics = "zero",
    relevance_level: option.RelevanceLevel = 1,
    format: option.ScoreFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Adjust scores of unpooled runs for pooling bias.

    RUNs are all runs that made the pool. The bias is estimated by leaving out each of them in turn,
    or, with --common-topics, from topics where the unpooled runs were judged too (Webber and Park
    2009). CSV columns: the first eight of evaluate (estimate is the adjusted score), then
    unadjusted, adjustment, helps (whether the adjustment is larger than its standard error) and
    confidence (the probability that it brings the score nearer to that of a full pool).
    """
    written = option.chosen_format(format, output)
    measures = measure or ["RBP(p=0.8)@10"]
    parsed = _checked_measures(measures, relevance_level)
    _check_options(common_topics or common_qrels, leave_out, teams, interval)
    check_apart(runs, unpooled)
    topic_file = _topic_file(common_topics)
    read = input_files([qrels, common_qrels], [*runs, *unpooled], [topic_file, teams])
    check_outputs({"--output": output}, read)
    seed = option.chosen_seed(seed)
    with ordered_files():
        before, judged, more = judgments_of(qrels, common_qrels, negative_grades)
        collection = pooled_collection(judged, runs, unpooled, teams, rankings, negative_grades)
    with working("adjusting"):
        result = be.adjust_scores(
            collection,
            common_topics=_topics(common_topics, more, collection),
            measures=measures,
            pool_depth=pool_depth,
            base=base,
            leave_out=leave_out,
            judged_before=None if more is None else before,
            relevance_level=relevance_level,
            missing_topics=missing_topics,
            n_boot=1000 if interval == "bootstrap" else 0,
            random_seed=seed,
            ci_prob=ci_prob,
        )
    remark_depth(collection, rankings.depth, result["measure"].to_numpy())
    remark_lacking(collection, None, zero=missing_topics == "zero")
    _remark(collection, result, seed if interval == "bootstrap" else None)
    _remark_deeper(parsed, pool_depth)
    options = {"relevance_level": relevance_level, "missing_topics": missing_topics}
    _remark_unjudged(collection, result, measures, options)
    if interval == "bootstrap":
        result["interval"] = result["bootstrap_interval"]
    about = {"algorithm": result.attrs["algorithm"], "base": base}
    about |= {"pool_depth": pool_depth, "ci_prob": ci_prob}
    own = written not in ("json", "trec_eval")  # which are those of evaluate
    rows = _rows(result)
    text = as_rows(rows, about, written, _table) if own else as_scores(rows, about, written)
    write_result(text, output)


def _checked_measures(measures: list[str], relevance_level: int) -> list[Measure]:
    """The measures; refused, before files are read, are those that are none or are not adjusted."""
    from bayeseval.adjustment.scores import check_adjusted
    from bayeseval.measures.names import parse_measures

    parsed = parse_measures(measures, relevance_level=relevance_level)
    check_adjusted(parsed)
    return parsed


def _check_options(common, leave_out: str, teams: Path | None, interval: str) -> None:
    """Refuse options that would have no effect, and teams that are not known."""
    if common and leave_out != "run":
        raise ValueError("--leave-out does not go with common topics; leave out one of the two")
    if not common and interval != "t":
        raise ValueError("--interval bootstrap resamples common topics; give --common-topics")
    if (leave_out == "team") != (teams is not None):
        raise ValueError("--leave-out team and --teams go together; give both or neither")


def _topic_file(given: str | None) -> Path | None:
    """File of common topics, where one is named; a long list of topics is no name of a file."""
    file = expanded_path(given or "")
    return file if given and os.path.isfile(file) else None


def _topics(given: str | None, more: DataFrame | None, collection: DataTree) -> list[str] | None:
    """Common topics: those named, else those of the common judgments, else none."""
    if given is None:
        return None if more is None else more["topic"].drop_duplicates().tolist()
    file = _topic_file(given)
    if file is not None:
        return file.read_text(encoding="utf-8").split()
    labels = [label.strip() for label in given.split(",") if label.strip()]
    like_a_path = Path(given).suffix or len(Path(given).parts) > 1
    if like_a_path and not set(labels) & set(collection["topic"].to_numpy().tolist()):
        raise ValueError(f"--common-topics: '{given}' is neither a file nor topics of QRELS")
    return labels


def _remark(collection: DataTree, result: Dataset, seed: int | None) -> None:
    """Say what was adjusted by what, and how often that helps."""
    pooled = counted(int(collection["contributed"].to_numpy().sum()), "pooled run")
    unpooled = counted(result.sizes["run"], "unpooled run")
    how = "left out in turn"
    if result.attrs["algorithm"] == 2:
        n_common = counted(int(result["n_common"].max()), "common topic")
        how = f"{n_common} of {int(result['n_topics'].max())}"
    remark(f"{unpooled} beside {pooled}, {how}" + ("" if seed is None else f", seed {seed}"))
    outside, judged = result.attrs["judged_outside_pool"], result.attrs["n_judged"]
    if outside:
        remark(
            f"{outside} of {judged} judged documents are in no run's first "
            f"{result.attrs['pool_depth']} ranks: the pool was deeper, or not all runs that made "
            "it are among RUN"
        )
    aside = result.attrs["judged_set_aside"]
    if aside and result.attrs["algorithm"] == 1:
        remark(
            f"{aside} of {judged} judged documents are set aside, because no RUN brought them into "
            "the pool: unadjusted scores are below those of evaluate"
        )
    if result.attrs["algorithm"] == 2 and int(result["n_common"].max()) == 1:
        remark("one common topic gives no standard error; name two or more")
        return
    if result["helps"].isnull().all():
        return
    helps = result["helps"].sum("run", skipna=True)
    shares = [f"{label} {int(number)}" for label, number in helps.to_series().items()]
    remark(
        f"runs whose adjustment is larger than its standard error, of {result.sizes['run']}: "
        + "; ".join(shares)
    )


def _remark_deeper(measures: list[Measure], pool_depth: int) -> None:
    """Say which measures look beyond the pool, whose adjusted scores are no full ones."""
    deeper = [one.label for one in measures if one.cutoff is None or one.cutoff > pool_depth]
    if deeper:
        remark(
            f"{', '.join(deeper)}: beyond the {counted(pool_depth, 'rank')} of the pool "
            "(--pool-depth); adjusted scores are those of a run judged as deep as pooled ones, "
            "whose deeper unjudged documents count as non-relevant"
        )


def _remark_unjudged(
    collection: DataTree, result: Dataset, measures: list[str], options: dict
) -> None:
    """Say how much of the unpooled runs is unjudged, where intervals speak of the pooled ones."""
    if result.attrs["algorithm"] != 1:
        return
    unpooled = be.select(collection, runs=result["run"].to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said when they were adjusted
        scores = be.evaluate(unpooled, measures, estimator="assumed", **options)
    shares = outside_shares(mean_outside(scores))
    if shares:
        remark(
            f"weight of unpooled runs on unjudged documents, mean over runs: {shares}; the "
            "interval is for runs like the pooled ones"
        )


def _rows(result: Dataset) -> DataFrame:
    """One row for each run and measure."""
    from bayeseval.tidy import BOUNDS, with_bounds

    flat = with_bounds(result)[["adjusted", "standard_error", *EXTRA, *BOUNDS]]
    rows = flat.to_dataframe(dim_order=["run", "measure"]).reset_index()
    rows = rows.rename(columns={"adjusted": "estimate"})
    rows["helps"] = rows["helps"].astype("boolean")
    return rows.assign(topic="all", estimator="adjusted").loc[:, COLUMNS + EXTRA]


def _table(rows: DataFrame, about: dict) -> Table:
    """A line for each run and measure."""
    by = "pooled runs left out" if about["algorithm"] == 1 else "common topics"
    level = percent(about["ci_prob"])
    title = f"adjusted by {by} ({about['base']}), {level} intervals"
    numbers = ("unadjusted", "adjustment", "adjusted", "interval", "confidence")
    table = new_table(title, ("run", "measure"), numbers)
    for row in rows.to_dict("records"):
        before, after = (f"{row[name]:z.4f}" for name in ("unadjusted", "estimate"))
        scores = (before, f"{row['adjustment']:+z.4f}", after, interval_cell(row) or "-")
        chance = number_cell(row["confidence"], ".0%")
        add_cells(table, row["run"], row["measure"], *scores, chance)
    return table
