"""`bayeseval adjust`: scores of unpooled runs, adjusted for pooling bias."""

import os
import warnings
from pathlib import Path
from typing import Annotated

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_missing_topics, outside_shares
from bayeseval.cli.options import DataFrame, Dataset, DataTree, Table, grouped
from bayeseval.cli.output import check_outputs, note, working, write_result
from bayeseval.cli.reading import ORDER, input_files, ordered_files
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
    str | None,
    typer.Option(
        help="Topics where the unpooled runs were judged too: a,b,c, or a file of these, or the "
        "judgments of these topics (QRELS is without them then)."
    ),
]
PoolDepth = Annotated[int, typer.Option(help="Ranks of each run that went into the pool.")]
EXTRA = ["unadjusted", "adjustment", "helps", "confidence"]


@grouped
def adjust(
    qrels: option.Qrels,
    runs: option.Runs,
    unpooled: Unpooled,
    measure: Measures = None,
    common_topics: CommonTopics = None,
    pool_depth: PoolDepth = 10,
    relevance_level: option.RelevanceLevel = 1,
    ci_prob: option.CiProb = 0.9,
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

    written = option.output_format(format, output)
    measures = measure or ["RBP(p=0.8)@10"]
    parsed = parse_measures(measures, relevance_level=relevance_level)
    check_adjusted(parsed)
    _check_runs(runs, unpooled)
    file = _file(common_topics)
    check_outputs({"--output": output}, input_files([qrels], [*runs, *unpooled], [file]))
    with ordered_files():
        before, common = _plain_qrels(qrels), _common_judgments(file)
        judged = before if common is None else _joined(before, common, qrels, str(file))
        collection = be.read_collection(judged, runs)
        collection = be.add_runs(collection, unpooled, contributed=False)
    topics = _topics(common_topics, file) if common is None else common["topic"].unique().tolist()
    _check_topics(common_topics, topics, collection)
    how = {"pool_depth": pool_depth, "relevance_level": relevance_level, "ci_prob": ci_prob}
    with working("adjusting"):
        result = be.adjust_scores(
            collection,
            measures,
            common_topics=topics,
            judged_before=None if common is None else before,
            **how,
        )
    note_missing_topics(collection)
    _note_adjustment(collection, result)
    _note_unknown(result, [m.label for m in parsed if m.cutoff is None or m.cutoff > pool_depth])
    about = {"algorithm": result.attrs["algorithm"], "base": result.attrs["base"]}
    about |= {"pool_depth": pool_depth, "ci_prob": ci_prob}
    shared = written in ("json", "trec_eval")  # which are those of evaluate
    rows = _rows(result)
    text = as_scores(rows, about, written) if shared else as_rows(rows, about, written, _table)
    write_result(text, output)


def _check_runs(runs: list[str], unpooled: list[str]) -> None:
    """Refuse a file that is both pooled and not."""
    from bayeseval.trec.sources import expanded

    pooled = {os.path.realpath(str(path)) for path in expanded(runs, "run")}
    for path in expanded(unpooled, "run"):
        if os.path.realpath(str(path)) in pooled:
            raise ValueError(f"{path} is both a RUN and --unpooled; name it as one of the two")


def _file(given: str | None) -> Path | None:
    """File of common topics, where one is named; a long list of topics is no name of a file."""
    file = expanded_path(given or "")
    return file if given and os.path.isfile(file) else None


def _common_judgments(file: Path | None) -> DataFrame | None:
    """Judgments of common topics; None where a file only lists the topics."""
    if file is None:
        return None
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        if all(len(line.replace(",", " ").split()) < 2 for line in lines):
            return None
    except UnicodeDecodeError:  # a compressed file
        pass
    return _plain_qrels(str(file))


def _topics(given: str | None, file: Path | None) -> list[str] | None:
    """Common topics that a file or the option lists, if any."""
    if given is None:
        return None
    text = given if file is None else file.read_text(encoding="utf-8")
    return [label for label in text.replace(",", " ").split() if label]


def _check_topics(given: str | None, topics: list[str] | None, collection: DataTree) -> None:
    """Refuse the name of a file that is not there."""
    like_a_path = given and (Path(given).suffix or len(Path(given).parts) > 1)
    if like_a_path and not set(topics or []) & set(collection["topic"].to_numpy().tolist()):
        raise ValueError(f"--common-topics: '{given}' is neither a file nor topics of QRELS")


def _joined(before: DataFrame, common: DataFrame, qrels: str, file: str) -> DataFrame:
    """Judgments of the pool and of the common topics, which must not contradict each other."""
    import pandas as pd

    pairs = ["topic", "document"]
    both = before.merge(common, on=pairs, suffixes=("", "_common"))
    unjudged = both["grade"].isna() & both["grade_common"].isna()
    differing = both[(both["grade"] != both["grade_common"]) & ~unjudged]
    if len(differing):
        row = differing.iloc[0]
        raise ValueError(
            f"{file}: topic '{row['topic']}' document '{row['document']}' has grade "
            f"{row['grade_common']}, and {row['grade']} in {qrels}; a document judged in both "
            "needs the same grade"
        )
    return pd.concat([before, common]).drop_duplicates(pairs)


def _plain_qrels(path: str) -> DataFrame:
    """Judgments of a file, where more fields can only be a run's: no option reads them."""
    from bayeseval.trec.qrels import FieldsIgnored

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        judgments = be.trec.qrels_frame(be.read_collection(path))
    for warning in caught:
        message = warning.message
        if isinstance(message, FieldsIgnored):
            message = UserWarning(f"{message.found} ({ORDER})")
        warnings.warn(message, stacklevel=2)
    return judgments


def _note_adjustment(collection: DataTree, result: Dataset) -> None:
    """Say what the adjustment rests on, and for how many runs it helps."""
    pooled = counted(int(collection["contributed"].to_numpy().sum()), "pooled run")
    unpooled = counted(result.sizes["run"], "unpooled run")
    by_topics, n_common = result.attrs["algorithm"] == 2, 0
    basis = "left out in turn"
    if by_topics:
        n_common = int(result["n_common"].max())
        basis = f"{counted(n_common, 'common topic')} of {int(result['n_topics'].max())}"
    note(f"{unpooled} beside {pooled}, {basis}")
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


def _note_unknown(result: Dataset, deeper: list[str]) -> None:
    """Say which measures look beyond the pool, and how much of the unpooled runs is unjudged."""
    if deeper:
        note(
            f"{', '.join(deeper)}: beyond the {counted(result.attrs['pool_depth'], 'rank')} of the "
            "pool (--pool-depth); adjusted scores are those of a run judged as deep as pooled "
            "ones, whose deeper unjudged documents count as non-relevant"
        )
    if "outside_weight" in result and (shares := outside_shares(result["outside_weight"])):
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
    title = f"adjusted by {by}, {level} intervals"
    numbers = ("unadjusted", "adjustment", "adjusted", "interval", "confidence")
    table = new_table(title, ("run", "measure"), numbers)
    for row in rows.to_dict("records"):
        before, after = (f"{row[name]:z.4f}" for name in ("unadjusted", "estimate"))
        scores = (before, f"{row['adjustment']:+z.4f}", after, interval_cell(row) or "-")
        chance = number_cell(row["confidence"], ".0%")
        add_cells(table, row["run"], row["measure"], *scores, chance)
    return table
