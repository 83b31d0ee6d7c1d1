"""Runs: rankings with scores, one run a file, as integer codes."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bayeseval.progress import track
from bayeseval.trec.compression import bare_name, read_bytes
from bayeseval.trec.frames import checked_frame, finite_column, row_name
from bayeseval.trec.labels import Labels, spans_of
from bayeseval.trec.lines import Lines, blocks
from bayeseval.trec.sources import expanded

COLUMNS = "topic iter document rank score tag"


class Run(NamedTuple):
    """One run's lines, with provisional codes of topics and documents."""

    name: str
    source: str
    topic: np.ndarray
    document: np.ndarray
    score: np.ndarray


class RunReader:
    """Runs that share their labels of topics and documents."""

    def __init__(self, *, on_duplicate: str = "error", score_type: str = "float64"):
        allowed = {"on_duplicate": ("error", "best"), "score_type": ("float64", "float32")}
        for option, value in (("on_duplicate", on_duplicate), ("score_type", score_type)):
            if value not in allowed[option]:
                raise ValueError(f"{option} must be one of {allowed[option]}, not {value!r}.")
        self.topics = Labels()
        self.documents = Labels()
        self.best = on_duplicate == "best"
        self.score_type = np.dtype(score_type)

    def read(self, sources, taken=()) -> list[Run]:
        """Runs of files and data frames, each with a name of its own."""
        runs = []
        for source in track(expanded(sources, "run"), "reading runs"):
            if isinstance(source, Path):
                runs.append(self._read_file(source))
            else:
                runs.extend(self._read_frame(source))
        return _named_apart(runs, set(taken))

    def _read_file(self, path: Path) -> Run:
        parts = list(blocks(str(path), read_bytes(path), COLUMNS))
        tag = _only_tag(parts)
        topic = _stacked([self.topics.pack(lines.column(0)) for lines in parts])
        document = _stacked([self.documents.pack(lines.column(2)) for lines in parts])
        score = np.concatenate([lines.numbers(4, "score") for lines in parts])
        number = np.concatenate([lines.number for lines in parts])

        def where(row: int) -> str:
            return f"{path}, line {number[row]}"

        return self._run(tag, str(path), topic, document, score, where)

    def _read_frame(self, frame: pd.DataFrame) -> Iterator[Run]:
        frame = checked_frame(frame, "runs", ("run", "topic", "document"), ("score",))
        scores = finite_column(frame, "runs", "score")
        for name, rows in frame.groupby("run", sort=False).indices.items():
            topic = self.topics.pack(spans_of(frame["topic"].iloc[rows]))
            document = self.documents.pack(spans_of(frame["document"].iloc[rows]))

            def where(row: int, rows=rows) -> str:
                return row_name("runs", frame, rows[row])

            yield self._run(str(name), "", topic, document, scores[rows], where)

    def _run(self, name, source, topic, document, score, where) -> Run:
        run = Run(
            name,
            source,
            self.topics.encode(topic),
            self.documents.encode(document),
            _as_type(score, self.score_type, where),
        )
        return self._without_duplicates(run, topic, document, where)

    def _without_duplicates(self, run: Run, topic, document, where) -> Run:
        key = run.topic.astype(np.int64) << 32 | run.document
        if not (np.diff(np.sort(key)) == 0).any():
            return run
        if not self.best:
            again = int(np.flatnonzero(pd.Series(key).duplicated())[0])
            raise ValueError(
                f"{where(again)}: document '{_text(self.documents, document, again)}' is in the "
                f"ranking of topic '{_text(self.topics, topic, again)}' a second time; once is "
                "allowed (on_duplicate='best' keeps the best-ranked copy)."
            )
        order = np.argsort(-run.score, kind="stable")
        kept = np.sort(order[~pd.Series(key[order]).duplicated()])
        warnings.warn(
            f"{run.source or 'runs'}: run '{run.name}' has {key.size - kept.size} documents a second "
            "time in one ranking; the best-ranked copy is kept.",
            stacklevel=2,
        )
        return run._replace(
            topic=run.topic[kept], document=run.document[kept], score=run.score[kept]
        )


def ranked(run: Run, topic: np.ndarray, document: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order of a run's lines by topic, score and document, and the rank of each, from 0.

    ``topic`` and ``document`` are positions of labels in their order; ties of score go by document
    descending.
    """
    same = topic[1:] == topic[:-1]
    lower = run.score[1:] < run.score[:-1]
    tie = (run.score[1:] == run.score[:-1]) & (document[1:] < document[:-1])
    if ((topic[1:] > topic[:-1]) | (same & (lower | tie))).all():
        order = np.arange(topic.size)
    else:
        order = np.lexsort((-document, -run.score, topic))
        same = np.diff(topic[order]) == 0
    start = np.flatnonzero(np.concatenate([[True], ~same]))
    length = np.diff(np.append(start, topic.size))
    return order, np.arange(topic.size) - np.repeat(start, length)


def _only_tag(parts: list[Lines]) -> str:
    labels = Labels()
    tag = parts[0].texts(5)[0] if parts[0].first.size == 1 else None
    for lines in parts:
        words = labels.pack(lines.column(5))
        tag = tag or _text(labels, words, 0)
        other = np.flatnonzero((words != words[0]).any(axis=1))
        row = int(other[0]) if other.size else 0
        found = _text(labels, words, row)
        if found != tag:
            raise ValueError(
                f"{lines.name}, line {lines.number[row]}: tag '{found}' where the lines before have "
                f"'{tag}'; a file holds one run, with one tag."
            )
    return str(tag)


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    width = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])


def _text(labels: Labels, packed: np.ndarray, row: int) -> str:
    return str(labels.texts(packed[row : row + 1])[0])


def _as_type(score: np.ndarray, score_type: np.dtype, where) -> np.ndarray:
    if score_type == np.float64:
        return score
    with np.errstate(over="ignore"):
        score = score.astype(score_type)
    if not np.isfinite(score).all():
        row = int(np.argmax(~np.isfinite(score)))
        raise ValueError(f"{where(row)}: score is too large for float32; use score_type='float64'.")
    return score


def _named_apart(runs: list[Run], taken: set[str]) -> list[Run]:
    """Runs whose names differ: those with a clashing tag are called by their files."""
    for name_of in (lambda run: bare_name(Path(run.source)), lambda run: run.source):
        counts = pd.Series([*(run.name for run in runs), *taken], dtype=object).value_counts()
        clashing = {str(name) for name in counts.index[counts > 1]}
        if not clashing:
            return runs
        renamed = [
            run._replace(name=name_of(run)) if run.name in clashing and run.source else run
            for run in runs
        ]
        pairs = [(a.name, b.name) for a, b in zip(runs, renamed, strict=True) if a.name != b.name]
        if pairs:
            shown = ", ".join(f"'{old}' is now '{new}'" for old, new in pairs[:5])
            more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
            warnings.warn(
                f"run tags clash, so runs are named by their files: {shown}{more}.", stacklevel=2
            )
        runs = renamed
    names = pd.Series([*(run.name for run in runs), *taken], dtype=object)
    if names.duplicated().any():
        name = names[names.duplicated()].iloc[0]
        raise ValueError(f"two runs are named '{name}'; every run must have a name of its own.")
    return runs
