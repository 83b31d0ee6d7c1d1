"""Rankings: a run's lines in order of score, ties by document, duplicates found."""

import warnings

import numpy as np
import pandas as pd

from bayeseval.messages import Message, Option, counted
from bayeseval.trec.run import Run


def ranked_pairs(
    run: Run,
    topics: tuple[np.ndarray, np.ndarray],
    documents: tuple[np.ndarray, np.ndarray],
    *,
    depth: int | None,
    best: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Ranking of a run, whose lines may have any order, cut at a depth.

    Of every document its topic, rank from 0, and pair as topic * span + document; and whether there
    were more, below the depth.

    ``topics`` and ``documents`` are labels, and the position of the label of each code; document
    labels ascend, so that ties can go by document descending. ``best`` keeps the best-ranked copy
    of a duplicate, with a warning, which is refused otherwise.
    """
    topic, document = topics[1][run.topic], documents[1][run.document]
    pair = topic.astype(np.int64) * documents[0].size + document
    score = run.score
    ordered = np.sort(pair)
    if (ordered[1:] == ordered[:-1]).any():
        if not best:
            _refuse_duplicate(run, pair, topics[0], documents[0])
        kept = _best_copies(run, pair)
        topic, document, pair, score = topic[kept], document[kept], pair[kept], score[kept]
    order, rank = ranking_order(topic, document, score)
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
    order = np.arange(topic.size)
    if (topic[1:] < topic[:-1]).any():
        order = _stable_order(topic)
    ordered, scores = topic[order], score[order]
    if ((ordered[1:] == ordered[:-1]) & (scores[1:] > scores[:-1])).any():
        order = np.argsort(-score)
        order = order[_stable_order(topic[order])]
    sorted_topic, sorted_score = topic[order], score[order]
    same = sorted_topic[1:] == sorted_topic[:-1]
    tie = np.concatenate([[False], same & (sorted_score[1:] == sorted_score[:-1]), [False]])
    tied = np.flatnonzero(tie[1:] | tie[:-1])
    rows = order[tied]
    order[tied] = rows[np.lexsort((-document[rows], -score[rows], topic[rows]))]
    start = np.flatnonzero(np.concatenate([[True], ~same]))
    length = np.diff(np.append(start, topic.size))
    return order, np.arange(topic.size) - np.repeat(start, length)


def _stable_order(topic: np.ndarray) -> np.ndarray:
    small = topic.max() < 2**16  # 16 bits are sorted by radix
    return np.argsort(topic.astype(np.uint16) if small else topic, kind="stable")


def _refuse_duplicate(run: Run, pair: np.ndarray, topics, documents):
    row = int(np.argmax(pd.Series(pair).duplicated()))
    topic, document = divmod(int(pair[row]), documents.size)
    raise ValueError(
        Message(
            f"{run.where(row)}: document '{documents[document]}' is in the ranking of topic "
            f"'{topics[topic]}' a second time; once is allowed (",
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
