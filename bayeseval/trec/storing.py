"""Collections larger than memory: gathered on disk run by run, then put together by topics."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import assemble, topic_order
from bayeseval.collection.labels import label_positions
from bayeseval.collection.schema import labelled_root
from bayeseval.collection.storage import UNWRITTEN, check_scale, check_target, open_collection
from bayeseval.progress import track
from bayeseval.trec.gathering import check_overlap, ranked_pairs, run_facts
from bayeseval.trec.labels import numbered
from bayeseval.trec.run import Run, RunReader, named_apart
from bayeseval.trec.sources import NamedFile, RunDict, expanded
from bayeseval.whole_file import expanded_path, new_folder, whole_folder

CELLS = 2_000_000  # ranks of all runs that are put together at once
PAIRS = 100_000  # labels of documents in a chunk of the store


class SpooledRun(NamedTuple):
    """A run whose documents lie in a file, by topics in natural order and then by rank."""

    run: Run  # without its lines
    topic: NDArray[np.str_]  # (topic,): its own, in natural order
    start: NDArray[np.int64]  # (topic + 1,): lines of topic t are start[t]:start[t + 1]
    document: NDArray[np.bytes_]  # (line,): labels, in a file
    cut: bool


class Block(NamedTuple):
    """Files of the rankings and labels of topics that stand together, and what is in memory."""

    ranking: Path  # of (run, topic, rank): positions counted from the first pair of the block
    document: Path  # of (pair,): labels
    pair_topic: NDArray[np.int32]  # (pair,)
    grade: NDArray[np.float32]  # (pair,): NaN where not judged
    pooled: NDArray[np.bool_]  # (pair,)


def stored(
    path: str | os.PathLike,
    runs: Any,
    judgments: pd.DataFrame | None,
    *,
    depth: int | None,
    run_table: pd.DataFrame | None,
    reading: dict[str, str],
    attrs: dict[str, Any],
) -> tuple[xr.DataTree, xr.DataTree]:
    """Collection in a zarr folder, opened with its rankings and labels of documents on disk.

    Also its first topics, in memory. One run, and then the topics of one block, are in memory at a
    time. ``judgments`` have a column ``judged``, and ``reading`` are options of
    :class:`RunReader`.
    """
    check_scale("store")
    path = expanded_path(path)
    if path.suffix != ".zarr":
        raise ValueError(f"store must be a folder that ends in .zarr, not {path}")
    check_target(path)
    if path.exists():  # an open collection may read it
        raise ValueError(
            f"{path} is a store already: be.open_collection({str(path)!r}, chunks={{}}) opens it, "
            "and runs that are read go to another one"
        )
    with new_folder(path, path.parent) as folder:
        spooled = list(_spooled(runs, folder, reading, depth))
        named = named_apart([one.run for one in spooled], set())
        topics = {*np.concatenate([one.topic for one in spooled]).tolist()}
        if judgments is not None:
            topics |= {*judgments["topic"].astype(str)}
        topics = np.array(sorted(topics))
        topics = topics[topic_order(topics)]
        if judgments is not None:
            known = judgments["topic"].to_numpy(str)
            for one in spooled:
                alone = one.run._replace(topic=np.arange(one.topic.size))
                check_overlap([alone], one.topic, np.arange(one.topic.size), known)
        blocks = list(_blocks(spooled, topics, judgments, folder))
        attrs = attrs | {"runs_cut": sum(one.cut for one in spooled)}
        names = [run.name for run in named]
        tree = _tree(blocks, topics, names, attrs, run_facts(names, run_table))
        beginning = _beginning(blocks[0], topics, names, judgments is not None)
        with whole_folder(path) as part:
            tree.to_zarr(part, consolidated=False, encoding=_chunks(tree))
    return open_collection(path, chunks={}), beginning


def _spooled(
    runs: Any, folder: Path, reading: dict[str, str], depth: int | None
) -> Iterator[SpooledRun]:
    """Runs, each of them ranked and then written to a file."""
    number = 0
    for source in track(expanded(runs, "run"), "reading runs"):
        reader = RunReader(**reading)
        named = isinstance(source, NamedFile | RunDict)
        for run in reader.read(dict([source]) if named else [source]):
            topics, position = reader.topics.resolve()
            order = topic_order(topics)
            topic = np.argsort(order)[position][run.topic]
            pair, line = numbered(topic, reader.documents.keys()[run.document])
            documents = reader.documents.texts(run.document[line])
            labels = {"topics": topics[order], "documents": documents}
            topic, _, pair, cut = ranked_pairs(
                run, topic, pair, **labels, depth=depth, best=reader.best
            )
            own, start = np.unique(topic, return_index=True)
            file = folder / f"run{number}.npy"
            number += 1
            np.save(file, np.char.encode(documents[pair], "utf-8"))
            empty = {name: np.empty(0, dtype=np.int32) for name in ("topic", "document", "score")}
            yield SpooledRun(
                run._replace(where=str, **empty),
                topics[order][own],
                np.append(start, topic.size),
                np.load(file, mmap_mode="r"),
                cut,
            )


def _blocks(
    spooled: list[SpooledRun], topics: NDArray, judgments: pd.DataFrame | None, folder: Path
) -> Iterator[Block]:
    """Topics that stand together, put together from all runs and the judgments."""
    deepest = max(int(np.diff(one.start).max()) for one in spooled)
    place = [label_positions(topics, one.topic) for one in spooled]
    size = max(CELLS // (len(spooled) * deepest), 1)
    judged = pd.DataFrame({"topic": [], "document": [], "grade": [], "judged": []})
    if judgments is not None:
        judged = judgments.assign(topic=label_positions(topics, judgments["topic"].astype(str)))
        judged = judged.sort_values("topic", kind="stable")
    first_of = np.searchsorted(judged["topic"], np.arange(topics.size + 1))
    for first in track(range(0, topics.size, size), "putting topics together"):
        last = min(first + size, topics.size)
        cells, texts = [], []
        for run, (one, at) in enumerate(zip(spooled, place, strict=True)):
            begin, end = np.searchsorted(at, [first, last])
            length = np.diff(one.start[begin : end + 1])
            lines = slice(one.start[begin], one.start[end])
            number = np.arange(int(length.sum()))
            rank = number - np.repeat(one.start[begin:end] - lines.start, length)
            topic = np.repeat(at[begin:end] - first, length)
            cells.append(np.stack([np.full(rank.size, run), topic, rank]))
            texts.append(np.asarray(one.document[lines]))
        rows = judged.iloc[first_of[first] : first_of[last]]
        texts.append(np.char.encode(rows["document"].to_numpy(str), "utf-8"))
        run, topic, rank = np.concatenate(cells, axis=1)
        pairs, documents, row = _pairs(
            np.concatenate([topic, rows["topic"].to_numpy(np.int64) - first]), texts
        )
        ranking = np.full((len(spooled), last - first, deepest), -1, dtype=np.int32)
        ranking[run, topic, rank] = row[: run.size]
        grade = np.full(pairs.size, np.nan, dtype=np.float32)
        pooled = np.zeros(pairs.size, dtype=bool)
        of_rows = row[run.size :]
        pooled[of_rows] = True
        grade[of_rows] = np.where(rows["judged"].to_numpy(bool), rows["grade"], np.nan)
        files = folder / f"ranking{first}.npy", folder / f"document{first}.npy"
        np.save(files[0], ranking)
        np.save(files[1], documents)
        yield Block(*files, (pairs + first).astype(np.int32), grade, pooled)


def _pairs(topic: NDArray, texts: list[NDArray]) -> tuple[NDArray, NDArray, NDArray]:
    """Topic and label of every pair, in their order, and the pair of each line."""
    labels = np.concatenate(texts)
    width = -(-labels.itemsize // 8)
    words = labels.astype(f"S{8 * width}").view(">u8").reshape(labels.size, width)
    row, line = numbered(topic, words.astype(np.uint64))
    return topic[line], labels[line], row


def _tree(
    blocks: list[Block], topics: NDArray, names: list[str], attrs: dict, facts: dict
) -> xr.DataTree:
    """Collection whose rankings and labels of documents are read from the files of blocks."""
    import dask.array as da
    from dask.delayed import delayed

    start = np.cumsum([0, *(block.pair_topic.size for block in blocks)])
    shapes = [np.load(block.ranking, mmap_mode="r").shape for block in blocks]
    width = max(_width(block.document) for block in blocks)
    rankings = [
        da.from_delayed(delayed(_ranking)(block.ranking, int(first)), shape, np.int32)
        for block, first, shape in zip(blocks, start, shapes, strict=False)
    ]
    labels = [
        da.from_delayed(
            delayed(_labels)(block.document), (block.pair_topic.size,), np.dtype(f"U{width}")
        )
        for block in blocks
    ]
    pair_topic, grade, pooled = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("pair_topic", "grade", "pooled")
    )
    document = da.concatenate(labels).rechunk(PAIRS)
    contributed, team = facts.get("contributed"), facts.get("team")
    nodes = {
        "/": labelled_root(topics, names, document, pair_topic, contributed, team, attrs),
        "/rankings": xr.Dataset(
            {"ranking": (("run", "topic", "rank"), da.concatenate(rankings, axis=1))}
        ),
    }
    if pooled.any():
        nodes["/judgments"] = xr.Dataset({"grade": ("pair", grade), "pooled": ("pair", pooled)})
    return xr.DataTree.from_dict(nodes)


def _beginning(block: Block, topics: NDArray, names: list[str], is_judged: bool) -> xr.DataTree:
    """Collection of the topics of the first block."""
    ranking = np.load(block.ranking)
    return assemble(
        topics=topics[: ranking.shape[1]],
        runs=names,
        document=_labels(block.document),
        pair_topic=block.pair_topic,
        ranking=ranking,
        grade=block.grade if is_judged else None,
        pooled=block.pooled if is_judged else None,
    )


def _ranking(file: Path, first: int) -> NDArray[np.int32]:
    """Rankings of a block, whose first pair has a position in the collection."""
    ranking = np.load(file)
    return np.where(ranking < 0, -1, ranking + first).astype(np.int32)


def _width(file: Path) -> int:
    """Letters of the longest label of a block."""
    return int(np.char.str_len(_labels(file)).max(initial=1))


def _labels(file: Path) -> NDArray[np.str_]:
    return np.char.decode(np.load(file), "utf-8")


def _chunks(tree: xr.DataTree) -> dict[str, dict[str, dict]]:
    """Chunks of the store: of one run and a block of topics, and of documents."""
    _, n_topics, n_ranks = tree["rankings/ranking"].shape
    chunks = tree["rankings/ranking"].chunks
    assert chunks is not None
    shape = (1, min(chunks[1][0], n_topics), n_ranks)
    return {"/rankings": {"ranking": {"chunks": shape} | UNWRITTEN}}
