"""Labels of topics and documents: their order, and joins by label instead of by position."""

import re
import unicodedata
import zlib
from collections.abc import Iterable

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.messages import Message, Option, counted, some_of

MOST = 10  # labels in a sentence that lists them


def topic_order(labels) -> np.ndarray:
    """Positions (topic,) that put topic labels in natural order.

    Labels that are all whole numbers are ordered as numbers; any others with each run of digits
    read as a number (``q2`` before ``q10``). Equal numbers (``1`` and ``01``) go by their text.
    """
    labels = [str(label) for label in labels]
    parts = [re.split("([0-9]+)", label) for label in labels]
    keys = [
        ([int(part) if place % 2 else part for place, part in enumerate(split)], label)
        for split, label in zip(parts, labels, strict=True)
    ]
    return np.array(sorted(range(len(labels)), key=keys.__getitem__), dtype=np.int64)


def topic_starts(collection) -> np.ndarray:
    """Where each topic's pairs start: those of topic ``t`` are ``starts[t]:starts[t + 1]``.

    Of a collection, a design, or whatever has ``pair_topic(pair)`` and ``topic(topic)``.
    """
    pair_topic = collection["pair_topic"].to_numpy()
    return np.searchsorted(pair_topic, np.arange(collection["topic"].size + 1)).astype(np.int64)


def pair_positions(collection, topic_labels, document_labels) -> np.ndarray:
    """Positions (n,) of pairs of a collection or design, by their labels; -1 where it lacks one."""
    topic = _topic_positions(collection["topic"].to_numpy(), same_strings(topic_labels))
    own, asked = collection["document"].to_numpy(), same_strings(document_labels)
    own_topic, order = collection["pair_topic"].to_numpy(), np.arange(own.size)
    step = np.diff(own_topic)
    if ((step < 0) | ((step == 0) & (own[1:] <= own[:-1]))).any():  # a design need not be sorted
        order = np.lexsort((own, own_topic))
    starts = np.searchsorted(own_topic[order], np.arange(collection["topic"].size + 1))
    position = np.full(asked.size, -1, dtype=np.int64)
    by_topic = np.argsort(topic, kind="stable")
    present, first = np.unique(topic[by_topic], return_index=True)
    last = np.append(first[1:], topic.size)
    for number, begin, end in zip(present, first, last, strict=False):
        rows = by_topic[begin:end]
        members = order[starts[number] : starts[number + 1]] if number >= 0 else order[:0]
        if members.size:
            labels = own[members]
            place = np.minimum(np.searchsorted(labels, asked[rows]), labels.size - 1)
            position[rows] = np.where(labels[place] == asked[rows], members[place], -1)
    return position


def _topic_positions(own, labels: np.ndarray) -> np.ndarray:
    """Positions of labels in a list of distinct ones, where many that stand together are equal."""
    if not labels.size:
        return np.zeros(0, dtype=np.int64)
    first = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
    return np.repeat(label_positions(own, labels[first]), np.diff(np.append(first, labels.size)))


def label_positions(own, labels) -> np.ndarray:
    """Positions of labels in a list of distinct labels; -1 where it lacks one."""
    index = pd.Index(np.asarray(own).astype(object), dtype=object)
    return index.get_indexer(np.asarray(labels).astype(object)).astype(np.int64)


def asked_labels(labels) -> list[str]:
    """Labels that an option names, as text: one, or several in any container.

    A set, which has no order of its own, comes in the order of the alphabet.

    Examples
    --------
    >>> asked_labels(301), asked_labels({"b", "a"}), asked_labels({"q2": 0, "q1": 0}.keys())
    (['301'], ['a', 'b'], ['q2', 'q1'])
    """
    if np.isscalar(labels):
        return [str(labels)]
    if isinstance(labels, xr.DataArray):
        labels = np.atleast_1d(labels.to_numpy())
    if not isinstance(labels, Iterable):
        raise TypeError(f"labels must be one or a list of them, not {labels!r}")
    texts = [str(label) for label in labels]
    return sorted(texts) if isinstance(labels, set | frozenset) else texts


def named_positions(collection, dim: str, labels, option: str) -> np.ndarray:
    """Positions of the runs or topics that an option names, in the order of its labels.

    Refused where no label is given, or one that the collection lacks.

    Examples
    --------
    >>> collection = xr.Dataset(coords={"run": ["a", "b"]})
    >>> named_positions(collection, "run", "b", "runs").tolist()
    [1]
    """
    asked = asked_labels(labels)
    positions = label_positions(collection[dim].to_numpy(), asked)
    if not asked or (positions < 0).any():
        unknown = [label for label, at in zip(asked, positions, strict=True) if at < 0]
        raise ValueError(
            Message(
                Option(option),
                f" must name {dim}s of the collection; unknown: "
                f"{some_of(unknown, MOST) or 'none given'}; its {dim}s: "
                f"{some_of(collection[dim].to_numpy().tolist(), MOST)}",
            )
        )
    return positions


def row_of_pair(pairs, n_pairs: int, first: int | np.ndarray = 0) -> np.ndarray:
    """Row of every pair in a list of pairs, -1 where it lacks it.

    The array has one entry more than there are pairs: it serves position -1, an empty rank, so that
    a ranking can be used as its index as it is. Rows are counted from ``first`` on, an integer or
    one for each pair of the list: the first row of its topic makes them rows within the topic.
    """
    row = np.full(n_pairs + 1, -1, dtype=np.int32)
    row[pairs] = np.arange(len(pairs)) - first
    return row


def pair_names(
    collection, pairs: slice | np.ndarray | int = slice(None)
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the topics and of the documents of some pairs of a collection or design."""
    topic = collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()[pairs]]
    return topic, collection["document"].to_numpy()[pairs]


def pair_labels(collection: xr.DataTree, pairs: slice | np.ndarray = slice(None)) -> np.ndarray:
    """Text ``topic document`` of some pairs, as objects."""
    topic, document = pair_names(collection, pairs)
    return topic.astype(object) + " " + document.astype(object)


def ranking_checksums(collection: xr.DataTree, run: np.ndarray) -> np.ndarray:
    """Checksum (31 bits) of the ranking of some runs (run,): topics and documents, in order.

    It does not change when runs are added, though positions of pairs do.
    """
    labels = pair_labels(collection)
    of_pair = np.array([zlib.crc32(label.encode()) for label in labels], dtype=np.uint32)
    ranking = collection["rankings/ranking"].to_numpy()
    return np.array(
        [
            zlib.crc32(of_pair[ranked[ranked >= 0]].tobytes()) & 0x7FFFFFFF
            for ranked in ranking[run]
        ],
        dtype=np.int64,
    )


def check_frame(same: bool) -> None:
    """Refuse a collection whose frame is not the ``same`` as when a fit was made."""
    if not same:
        raise ValueError(
            "the fit does not belong to this collection: its frame has other documents, or "
            "other judgments of them; fit the model to this collection"
        )


def check_rankings(collection: xr.DataTree, run: np.ndarray, checksums: np.ndarray) -> None:
    """Refuse a collection in which a run ranks otherwise than when a fit was made."""
    other = ranking_checksums(collection, run) != checksums
    if other.any():
        label = collection["run"].to_numpy()[run[np.argmax(other)]]
        raise ValueError(
            f"the fit does not belong to this collection: run '{label}' has another ranking here, "
            "or one read to another depth; fit the model to this collection"
        )


def without_judgment(topics, n_others: int | None = None) -> str:
    """Text on topics that have no judgment; means, if there are any, are over ``n_others``."""
    is_single = len(topics) == 1
    verbs = ("score NaN", "scores NaN") if n_others is None else ("are left out", "is left out")
    number = "1 topic has" if is_single else f"{len(topics)} topics have"
    first = f": '{topics[0]}'" if is_single else f", the first is '{topics[0]}'"
    text = f"{number} no judgment yet and {verbs[is_single]}{first}"
    if n_others is None:
        return text
    return f"{text}; means are over {counted(n_others, 'topic')}"


def without_documents(topics, n_scored: int) -> str:
    """Text on topics that no run has documents for, of those that are scored.

    Examples
    --------
    >>> without_documents(["7", "8"], 16).split(";")[0]
    'no run has documents for 2 of 16 topics (7, 8): runs score 0 there, which lowers means'
    """
    return (
        f"no run has documents for {len(topics)} of {counted(n_scored, 'topic')} "
        f"({some_of(topics, 5)}): runs score 0 there, which lowers means; score the others "
        "alone by be.select(collection, topics=...), or by missing_topics='skip' of be.evaluate"
    )


def floating_topics(one: str, other: str) -> str:
    """Text on the topics that are floating-point numbers, where one of two that differ is so.

    Examples
    --------
    >>> floating_topics("101", "101.0")
    "; the column topic with '101.0' holds floating-point numbers: make them whole, or text"
    >>> floating_topics("101", "301")
    ''
    """
    floating = [label for label in (one, other) if re.fullmatch(r"[0-9]+\.0", label)]
    if len(floating) != 1:
        return ""
    holds = "holds floating-point numbers: make them whole, or text"
    return f"; the column topic with '{floating[0]}' {holds}"


def plain_label(label: str) -> str:
    """A label without the parts that files often write differently.

    Examples
    --------
    >>> plain_label(" D7"), plain_label("007"), plain_label("0")
    ('d7', '7', '')
    """
    return unicodedata.normalize("NFC", label).strip().casefold().lstrip("0")


def alike_document(dataset, topic: str, document: str) -> str:
    """Text on a document of the topic that is written nearly as this one, where there is one.

    Examples
    --------
    >>> pairs = xr.Dataset({"topic": ["1"], "document": ["d7"], "pair_topic": ("pair", [0])})
    >>> alike_document(pairs, "1", "D7 ")
    "; it is 'd7' but for blanks, zeros at its beginning, capitals or composed letters"
    """
    where = np.flatnonzero(dataset["topic"].to_numpy() == topic)
    if not where.size:
        return ""
    of_topic = dataset["document"].to_numpy()[dataset["pair_topic"].to_numpy() == where[0]]
    near = (label for label in of_topic.tolist() if plain_label(label) == plain_label(document))
    alike = next(near, document)
    if alike == document:
        return ""
    return f"; it is {alike!r} but for blanks, zeros at its beginning, capitals or composed letters"


def same_strings(labels) -> np.ndarray:
    """Labels as a numpy array of fixed-width text, whatever they came as."""
    if isinstance(labels, xr.DataArray):
        labels = labels.values
    array = np.asarray(labels)
    return array.astype(str, copy=False) if array.size else np.zeros(array.shape, dtype="<U1")
