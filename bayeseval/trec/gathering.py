"""Rankings of many runs over one list of pairs: in order of score, ties by document."""

import warnings

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import assemble, topic_order
from bayeseval.collection.labels import floating_topics, label_positions, plain_label, topic_starts
from bayeseval.messages import Message, Option, counted
from bayeseval.trec.labels import numbered, stable_order
from bayeseval.trec.lines import spans_of
from bayeseval.trec.run import Run, RunReader


def gathered(
    reader: RunReader,
    runs: list[Run],
    judgments: pd.DataFrame | None,
    depth: int | None,
    run_table: pd.DataFrame | None,
    facts: dict,
) -> tuple[xr.DataTree, np.ndarray]:
    """Collection of runs, over their pairs and the judged ones, and the positions of the latter.

    It holds no judgments yet.

    ``reader``, which read the runs, knows the labels; there may be no runs. ``judgments`` are pairs
    to have besides the retrieved ones, ``depth`` the ranks to keep, ``run_table`` facts about every
    run, and ``facts`` attributes of the collection.
    """
    topic_codes = [run.topic for run in runs]
    document_codes = [run.document for run in runs]
    if judgments is not None:
        topic_codes.append(reader.topics.encode(spans_of(judgments["topic"])))
        document_codes.append(reader.documents.encode(spans_of(judgments["document"])))
    topics, position = reader.topics.resolve()
    order = topic_order(topics)
    topics, position = topics[order], np.argsort(order).astype(np.int32)[position]
    if runs and judgments is not None:
        check_overlap(runs, topics, position, judgments["topic"].to_numpy(str))
    topic, code = position[np.concatenate(topic_codes)], np.concatenate(document_codes)
    pairs, line = numbered(topic, reader.documents.keys()[code])
    pair_topic, document = topic[line], reader.documents.texts(code[line])
    ends = np.cumsum([codes.size for codes in topic_codes])
    topic_parts, pair_parts = np.split(topic, ends[:-1]), np.split(pairs, ends[:-1])
    labels = {"topics": topics, "documents": document}
    longest = max((int(np.bincount(own).max()) for own in topic_parts[: len(runs)]), default=0)
    shape = (len(runs), topics.size, min(longest, depth or longest))
    ranking = np.full(shape, -1, dtype=np.int32)
    deepest = runs_cut = 0
    for of_run, run, *places in zip(ranking, runs, topic_parts, pair_parts, strict=False):
        topic, rank, pair, cut = ranked_pairs(run, *places, **labels, depth=depth, best=reader.best)
        of_run[topic, rank] = pair
        deepest, runs_cut = max(deepest, int(rank.max()) + 1), runs_cut + cut
    ranking = np.ascontiguousarray(ranking[..., :deepest])
    judged = pair_parts[-1] if judgments is not None else np.empty(0, dtype=np.int32)
    kept = np.zeros(document.size + 1, dtype=bool)
    kept[ranking], kept[judged], kept[-1] = True, True, False  # -1, nothing, is the last
    if not kept[:-1].all():  # some are below the depth of every run
        place = np.append(np.cumsum(kept[:-1]) - 1, -1).astype(np.int32)
        ranking, judged = place[ranking], place[judged]
        pair_topic, document = pair_topic[kept[:-1]], document[kept[:-1]]
    names = [run.name for run in runs]
    tree = assemble(
        topics=topics,
        runs=names,
        document=document,
        pair_topic=pair_topic,
        ranking=ranking if runs else None,
        attrs=facts | {"runs_cut": runs_cut},
        **run_facts(names, run_table),
    )
    return tree, judged


def check_overlap(runs: list[Run], topics, topic_position, known) -> None:
    """Refuse a run none of whose topics is among the known ones."""
    is_known = np.isin(topics, known)
    for run in runs:
        own = topic_position[run.topic]
        if not is_known[own].any():
            raise ValueError(
                f"{run.source or 'runs DataFrame'}: run '{run.name}' has no topic in common with "
                f"the judgments or the collection; it has '{topics[own.min()]}' and so on, they "
                f"have '{known[0]}' and so on{floating_topics(topics[own.min()], known[0])}."
            )


def warn_unjudged_runs(tree: xr.DataTree, first: int = 0) -> None:
    """Warn of runs, from the ``first`` on, that share no document with the judgments.

    Their documents' ids may be written differently. Other runs must share documents.
    """
    pooled = np.append(tree["judgments/pooled"].to_numpy(), False)
    ranking = tree["rankings/ranking"].to_numpy()
    judged = np.array([pooled[ranked].any() for ranked in ranking])
    large = np.array([np.count_nonzero(ranked >= 0) >= 10 for ranked in ranking])
    unjudged = np.flatnonzero(~judged & large)
    unjudged = unjudged[unjudged >= first]
    if unjudged.size and judged.any():
        pairs = ranking[unjudged[0]]
        name = tree["run"].to_numpy()[unjudged[0]]
        more = f", nor of {counted(unjudged.size - 1, 'other run')}" if unjudged.size > 1 else ""
        warnings.warn(
            f"no document of run '{name}' is among the judged ones{more}: it has "
            f"'{tree['document'].to_numpy()[pairs[pairs >= 0][0]]}' and so on, they have "
            f"'{tree['document'].to_numpy()[np.argmax(pooled)]}' and so on; are the documents' ids "
            "written alike?",
            stacklevel=3,
        )


def warn_documents_alike(tree: xr.DataTree) -> None:
    """Warn of documents of a topic that may be one, written differently by runs or judgments.

    Two documents that one run, or the judgments, hold both are not the same.
    """
    starts, document = topic_starts(tree), tree["document"].to_numpy()
    # the pairs of the first topics are compared with each other
    n_topics = int(np.count_nonzero(starts[1:] <= max(20_000, starts[1])))
    first: dict[tuple[int, str], int] = {}
    alike = []
    for topic in range(n_topics):
        for pair in range(starts[topic], starts[topic + 1]):
            other = first.setdefault((topic, plain_label(document[pair])), pair)
            if other != pair:
                alike.append((topic, other, pair))
    suspected = _never_side_by_side(tree, alike) if alike else []
    if suspected:
        topic, *pairs = suspected[0]
        earlier, later = (str(label) for label in document[pairs])
        compared = "all" if n_topics == starts.size - 1 else f"the first {n_topics} topics"
        warnings.warn(
            f"topic '{tree['topic'].to_numpy()[topic]}' has documents {earlier!r} and {later!r}, "
            "which differ in blanks, zeros at the beginning, capitals or composed letters alone, "
            f"and so it is with {len(suspected)} in {compared}: are they the same? Each counts for "
            "itself",
            stacklevel=3,
        )


def _never_side_by_side(
    tree: xr.DataTree, alike: list[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """Those of (topic, pair, pair) of which neither a run nor the pool holds both pairs."""
    judged, ranked = "judgments" in tree.children, "rankings" in tree.children
    pooled = tree["judgments/pooled"].to_numpy() if judged else None
    ranking = tree["rankings/ranking"].to_numpy() if ranked else None
    suspected = []
    for topic, earlier, later in alike:
        together = pooled is not None and pooled[earlier] and pooled[later]
        if not together and ranking is not None:
            lists = ranking[:, topic]
            together = ((lists == earlier).any(axis=1) & (lists == later).any(axis=1)).any()
        if not together:
            suspected.append((topic, earlier, later))
    return suspected


def run_facts(runs: list[str], run_table: pd.DataFrame | None) -> dict:
    """What a table says of runs: whether they contributed, and their team."""
    if run_table is None:
        return {}
    if "run" not in run_table or run_table["run"].duplicated().any():
        raise ValueError("run_table must have a column 'run' in which every run is once.")
    rows = label_positions(run_table["run"].map(str), runs)
    if (rows < 0).any():
        raise ValueError(
            f"run_table lacks run '{runs[int(np.argmax(rows < 0))]}'; every run that is read needs "
            "a row."
        )
    table = run_table.iloc[rows]
    facts = {}
    if "contributed" in table:
        facts["contributed"] = _yes_or_no(table)
    if "team" in table:
        facts["team"] = table["team"].astype(object).fillna("").map(str).to_numpy()
    return facts


def _yes_or_no(table: pd.DataFrame) -> np.ndarray:
    """Which runs contributed, as True and False or 1 and 0 say."""
    given = table["contributed"].astype(object)
    # 1 and 0 are equal to these
    known: dict = {True: True, False: False}
    contributed = [known.get(value) if np.isscalar(value) else None for value in given]
    if None in contributed:
        row = contributed.index(None)
        raise ValueError(
            f"run_table: contributed is {given.iloc[row]!r} for run '{table['run'].iloc[row]}'; it "
            "must be True or False (or 1 or 0)."
        )
    return np.array(contributed, dtype=bool)


def ranked_pairs(
    run: Run,
    topic: np.ndarray,
    pair: np.ndarray,
    *,
    topics: np.ndarray,
    documents: np.ndarray,
    depth: int | None,
    best: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Ranking of a run, whose lines may have any order, cut at a depth.

    For every document its topic, its rank from 0, and its pair; and whether there were more
    documents below the depth.

    ``topic`` and ``pair`` are those of the run's lines. Pairs ascend by topic and document, so that
    ties can go by document descending; their labels are ``topics[topic]`` and ``documents[pair]``.
    ``best`` keeps the best-ranked copy of a duplicate, with a warning, which is refused otherwise.
    """
    score = run.score
    ordered = np.sort(pair)
    if (ordered[1:] == ordered[:-1]).any():
        if not best:
            row = int(np.argmax(pd.Series(pair).duplicated()))
            _refuse_duplicate(run, row, str(topics[topic[row]]), str(documents[pair[row]]))
        kept = _best_copies(run, pair)
        topic, pair, score = topic[kept], pair[kept], score[kept]
    order, rank = ranking_order(topic, pair, score)
    cut = depth is not None and bool(rank.max() >= depth)
    if cut:
        order, rank = order[rank < depth], rank[rank < depth]
    return topic[order], rank, pair[order], cut


def ranking_order(
    topic: np.ndarray, document: np.ndarray, score: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Order of lines by topic, score and document, and the rank of each, from 0.

    ``topic`` and ``document`` are positions of labels in their order; ties of score go by document
    descending.
    """
    order = stable_order(topic)
    in_order = (topic[1:] >= topic[:-1]).all()
    sorted_topic, sorted_score = (topic, score) if in_order else (topic[order], score[order])
    same = sorted_topic[1:] == sorted_topic[:-1]
    if (same & (sorted_score[1:] > sorted_score[:-1])).any():
        order = np.argsort(-score)
        order = order[stable_order(topic[order])]
        sorted_score = score[order]
    tie = np.concatenate([[False], same & (sorted_score[1:] == sorted_score[:-1]), [False]])
    tied = np.flatnonzero(tie[1:] | tie[:-1])
    rows = order[tied]
    order[tied] = rows[np.lexsort((-document[rows], -score[rows], topic[rows]))]
    start = np.flatnonzero(np.concatenate([[True], ~same]))
    length = np.diff(np.append(start, topic.size))
    return order, np.arange(topic.size) - np.repeat(start, length)


def _refuse_duplicate(run: Run, row: int, topic: str, document: str):
    raise ValueError(
        Message(
            f"{run.where(row)}: document '{document}' is in the ranking of topic '{topic}' a "
            "second time; once is allowed (",
            Option("on_duplicate", "best"),
            " keeps the best-ranked copy).",
        )
    )


def _best_copies(run: Run, pair: np.ndarray) -> np.ndarray:
    order = np.argsort(-run.score, kind="stable")
    kept = np.sort(order[~pd.Series(pair[order]).duplicated().to_numpy()])
    dropped = pair.size - kept.size
    warnings.warn(
        f"{run.source or 'runs DataFrame'}: run '{run.name}' has "
        f"{counted(dropped, 'document')} a second time in one ranking; the best-ranked copies are "
        "kept, the others dropped.",
        stacklevel=2,
    )
    return kept
