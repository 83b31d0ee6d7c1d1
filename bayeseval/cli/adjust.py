"""`bayeseval adjust`: scores of unpooled runs, adjusted for pooling bias."""

import os
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_depth, note_missing_topics, outside_shares
from bayeseval.cli.options import DataFrame, Dataset, DataTree, Rankings, Table, grouped
from bayeseval.cli.output import check_outputs, note, working, write_result
from bayeseval.cli.reading import ORDER, input_files, ordered_files, read_columns
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
    from bayeseval.adjustment.scores import check_adjusted
    from bayeseval.measures.names import parse_measures
    from bayeseval.trec.sources import expanded

    written = option.output_format(format, output)
    measures = measure or ["RBP(p=0.8)@10"]
    parsed = parse_measures(measures, relevance_level=relevance_level)
    check_adjusted(parsed)
    _check_options(common_topics or common_qrels, leave_out, teams, interval)
    pooled = {os.path.realpath(str(path)) for path in expanded(runs, "run")}
    for path in expanded(unpooled, "run"):
        if os.path.realpath(str(path)) in pooled:
            raise ValueError(f"{path} is both a RUN and --unpooled; name it as one of the two")
    topic_file = _topic_file(common_topics)
    read = input_files([qrels, common_qrels], [*runs, *unpooled], [topic_file, teams])
    check_outputs({"--output": output}, read)
    seed = option.checked_seed(seed)
    with ordered_files():
        before, judged, more = _judgments(qrels, common_qrels, negative_grades)
        table = None if teams is None else read_columns(teams, "run", "team")
        options = asdict(rankings) | {"run_table": table, "negative_grades": negative_grades}
        collection = be.read_collection(judged, runs, **options)
        collection = be.add_runs(
            collection,
            unpooled,
            contributed=False,
            on_duplicate=rankings.on_duplicate,
            exclude=rankings.exclude,
        )
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
    note_depth(collection, rankings.depth, result["measure"].to_numpy())
    note_missing_topics(collection, zero=missing_topics == "zero")
    _note_adjustment(collection, result, seed if interval == "bootstrap" else None)
    deeper = [one.label for one in parsed if one.cutoff is None or one.cutoff > pool_depth]
    given = {"relevance_level": relevance_level, "missing_topics": missing_topics}
    _note_unknown(collection, result, measures, deeper, given)
    if interval == "bootstrap":
        result["interval"] = result["bootstrap_interval"]
    about = {"algorithm": result.attrs["algorithm"], "base": base}
    about |= {"pool_depth": pool_depth, "ci_prob": ci_prob}
    shared = written in ("json", "trec_eval")  # which are those of evaluate
    rows = _rows(result)
    text = as_scores(rows, about, written) if shared else as_rows(rows, about, written, _table)
    write_result(text, output)


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


def _judgments(qrels: str, common_qrels: str | None, negative_grades: str) -> tuple:
    """Judgments of the pool, all judgments, and those of the common topics alone, if any."""
    import pandas as pd

    first = _plain_qrels(qrels, negative_grades)
    if common_qrels is None:
        return first, first, None
    more = _plain_qrels(common_qrels, negative_grades)
    pairs = ["topic", "document"]
    both = first.merge(more, on=pairs, suffixes=("", "_common"))
    unjudged = both["grade"].isna() & both["grade_common"].isna()
    differing = both[(both["grade"] != both["grade_common"]) & ~unjudged]
    if len(differing):
        row = differing.iloc[0]
        raise ValueError(
            f"{common_qrels}: topic '{row['topic']}' document '{row['document']}' has grade "
            f"{row['grade_common']}, and {row['grade']} in {qrels}; a document judged in both "
            "needs the same grade"
        )
    return first, pd.concat([first, more]).drop_duplicates(pairs), more


def _plain_qrels(path: str, negative_grades: str) -> DataFrame:
    """Judgments of a file, where more fields can only be a run's: no option reads them."""
    from bayeseval.trec.qrels import FieldsIgnored

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        judgments = be.trec.qrels_frame(be.read_collection(path, negative_grades=negative_grades))
    for warning in caught:
        message = warning.message
        if isinstance(message, FieldsIgnored):
            message = UserWarning(f"{message.found} ({ORDER})")
        warnings.warn(message, stacklevel=2)
    return judgments


def _note_adjustment(collection: DataTree, result: Dataset, seed: int | None) -> None:
    """Say what the adjustment rests on, and for how many runs it helps."""
    pooled = counted(int(collection["contributed"].to_numpy().sum()), "pooled run")
    unpooled = counted(result.sizes["run"], "unpooled run")
    by_topics, n_common = result.attrs["algorithm"] == 2, 0
    basis = "left out in turn"
    if by_topics:
        n_common = int(result["n_common"].max())
        basis = f"{counted(n_common, 'common topic')} of {int(result['n_topics'].max())}"
    note(f"{unpooled} beside {pooled}, {basis}" + ("" if seed is None else f", seed {seed}"))
    outside, judged = result.attrs["judged_outside_pool"], result.attrs["n_judged"]
    if outside:
        note(
            f"{outside} of {judged} judged documents are in no run's first "
            f"{result.attrs['pool_depth']} ranks: the pool was deeper, or not all runs that made "
            "it are among RUN"
        )
    aside = result.attrs["judged_set_aside"]
    if aside and not by_topics:
        note(
            f"{aside} of {judged} judged documents are set aside, because no RUN brought them into "
            "the pool: unadjusted scores are below those of evaluate"
        )
    if n_common == 1:
        note("one common topic gives no standard error; name two or more")
    elif result["helps"].notnull().any():
        helps = result["helps"].sum("run", skipna=True)
        shares = [f"{label} {int(number)}" for label, number in helps.to_series().items()]
        note(
            f"runs whose adjustment is larger than its standard error, of {result.sizes['run']}: "
            + "; ".join(shares)
        )


def _note_unknown(
    collection: DataTree, result: Dataset, measures: list[str], deeper: list[str], options: dict
) -> None:
    """Say which measures look beyond the pool, and how much of the unpooled runs is unjudged."""
    if deeper:
        note(
            f"{', '.join(deeper)}: beyond the {counted(result.attrs['pool_depth'], 'rank')} of the "
            "pool (--pool-depth); adjusted scores are those of a run judged as deep as pooled "
            "ones, whose deeper unjudged documents count as non-relevant"
        )
    if result.attrs["algorithm"] != 1:
        return
    unpooled = be.select(collection, runs=result["run"].to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # adjust_scores has warned
        scores = be.evaluate(unpooled, measures, estimator="assumed", **options)
        shares = outside_shares(be.mean_over_topics(scores)["outside_weight"])
    if shares:
        note(
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
