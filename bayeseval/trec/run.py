"""Runs: rankings with scores, one run a file, as integer codes."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bayeseval.collection.choices import check_choice
from bayeseval.messages import Message, Option, some_of
from bayeseval.progress import track
from bayeseval.trec.frames import (
    checked_frame,
    finite_column,
    of_columns,
    of_run,
    plain_dict,
    row_name,
    with_our_names,
)
from bayeseval.trec.labels import Labels
from bayeseval.trec.lines import Lines, blocks, spans_of
from bayeseval.trec.records import file_frame, run_name
from bayeseval.trec.sources import (
    NamedFile,
    RunDict,
    bare_name,
    expanded,
    path_text,
    read_bytes,
)

COLUMNS = "topic iter document rank score tag"


class Run(NamedTuple):
    """One run's lines, with provisional codes of topics and documents.

    ``where`` names the file and line, or the row of a data frame, for messages; ``given`` says that
    the name is the user's and no tag, ``renamed`` that another run has its tag.
    """

    name: str
    source: str
    topic: np.ndarray
    document: np.ndarray
    score: np.ndarray
    where: Callable[[int], str]
    given: bool = False
    renamed: bool = False


class RunReader:
    """Runs that share their labels of topics and documents."""

    def __init__(self, *, on_duplicate: str, score_type: str):
        check_choice("on_duplicate", on_duplicate, ("error", "best"))
        check_choice("score_type", score_type, ("float64", "float32"))
        self.topics = Labels()
        self.documents = Labels()
        self.best = on_duplicate == "best"
        self.score_type = np.dtype(score_type)

    def read(self, sources, taken=()) -> list[Run]:
        """Runs of files and data frames, each with a name of its own."""
        runs = []
        for source in track(expanded(sources, "run"), "reading runs"):
            if isinstance(source, Path):
                runs.extend(self._read_file(source))
            elif isinstance(source, NamedFile):
                runs.extend(self._read_file(source.path, source.name))
            elif isinstance(source, RunDict):
                runs.extend(self._read_dict(*source))
            else:
                runs.extend(self._read_frame(source, "runs DataFrame"))
        return named_apart(runs, set(taken))

    def _read_file(self, path: Path, given: str | None = None) -> list[Run]:
        data = read_bytes(path, "a run")
        table = file_frame(path_text(path), data, "run")
        if table is None:
            return [self._read_lines(path, data, given)]
        table = of_columns(table, "run", run=run_name(path), file=path_text(path))
        runs = self._read_frame(table, path_text(path))
        if given is not None and len(runs) > 1:
            raise ValueError(f"run '{given}' is one run, and {path} holds {len(runs)}.")
        for run in runs if "score" in table else ():
            _warn_of_order(path, run.topic, run.score)
        fixed = given is not None or len(runs) > 1
        return [
            run._replace(name=given or run.name, source=path_text(path), given=fixed)
            for run in runs
        ]

    def _read_lines(self, path: Path, data: bytes, given: str | None) -> Run:
        parts, tag, other = [], "", None
        for lines in blocks(
            path_text(path), data, COLUMNS
        ):  # one after the other is still in the cache
            topic = self.topics.encode(lines.column(0))
            document = self.documents.encode(lines.column(2))
            score = lines.numbers(4, "score")
            parts.append((topic, document, score, lines.number.astype(np.int32)))
            tag = tag or lines.text_of(5, 0)
            other = other or (_other_tag(lines, tag) if given is None else None)
        topic, document, score, number = map(np.concatenate, zip(*parts, strict=True))

        def where(row: int) -> str:
            return f"{path_text(path)}, line {number[row]}"

        score = _as_type(score, self.score_type, where)
        _warn_of_order(path, topic, score)
        if other is not None:
            warnings.warn(
                f"{other} where the lines before have '{tag}'; the run is named by its file, "
                f"'{bare_name(path)}'.",
                stacklevel=2,
            )
            tag = bare_name(path)
        return Run(given or tag, path_text(path), topic, document, score, where, given is not None)

    def _read_dict(self, name: str, table: Mapping) -> list[Run]:
        plain = plain_dict(table)
        if plain is None:
            return self._read_frame(of_run(name, table), "runs DataFrame")
        topics, sizes, documents, score = plain
        topic = np.repeat(self.topics.encode(spans_of(topics)), sizes)
        document = self.documents.encode(spans_of(documents))

        def where(row: int) -> str:
            return row_name("runs DataFrame", of_run(name, table), row)

        return [Run(name, "", topic, document, _as_type(score, self.score_type, where), where)]

    def _read_frame(self, frame: pd.DataFrame, source: str) -> list[Run]:
        frame = with_our_names(frame, () if "score" in frame else ("rank",))
        value = "rank" if "rank" in frame and "score" not in frame else "score"
        frame = checked_frame(frame, source, ("run", "topic", "document"), (value,))
        scores = finite_column(frame, source, value)
        if value == "rank":
            wrong = (scores < 0) | (scores != np.round(scores))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise ValueError(
                    f"{row_name(source, frame, row)}: rank {scores[row]:.6g} is not a whole number "
                    "of 0 or more, as every rank must be."
                )
            scores = 0.0 - scores
        runs = []
        for name, rows in frame.groupby("run", sort=False).indices.items():
            topic = self.topics.encode(spans_of(frame["topic"].iloc[rows]))
            document = self.documents.encode(spans_of(frame["document"].iloc[rows]))

            def where(row: int, rows=rows) -> str:
                return row_name(source, frame, rows[row])

            score = _as_type(scores[rows], self.score_type, where)
            runs.append(Run(str(name), "", topic, document, score, where))
        return runs


def _warn_of_order(path: Path, topic: np.ndarray, score: np.ndarray) -> None:
    """Warn where the lines cannot be ordered by their scores, as where scores are ranks."""
    for n_lines in (10_000, topic.size):  # the beginning mostly says enough
        topics = topic[:n_lines]
        step = np.diff(score[:n_lines])[topics[1:] == topics[:-1]]
        if not ((step > 0).all() or (step == 0).all()):
            return
    if step.size < 5:  # few lines may be in this order by chance
        return
    finding = "all scores of a topic are the same: documents are ranked by their names alone"
    if (step > 0).all():
        finding = "scores rise from line to line: what stands last in the file is ranked first"
    warnings.warn(
        f"{path}: {finding}, since ranks come from scores, as in trec_eval.", stacklevel=2
    )


def _other_tag(lines: Lines, tag: str) -> str | None:
    """The first line whose tag is another one, as where it repeats the rank; None without any."""
    other = lines.column(5).other_than(tag.encode())
    if not other.size:
        return None
    row = int(other[0])
    return f"{lines.name}, line {lines.number[row]}: tag '{lines.text_of(5, row)}'"


def _as_type(score: np.ndarray, score_type: np.dtype, where) -> np.ndarray:
    if score_type == np.float64:
        return score
    with np.errstate(over="ignore"):
        score = score.astype(score_type)
    if not np.isfinite(score).all():
        row = int(np.argmax(~np.isfinite(score)))
        raise ValueError(
            Message(
                f"{where(row)}: score is too large for float32; use ",
                Option("score_type", "float64"),
                ".",
            )
        )
    return score


def named_apart(runs: list[Run], taken: set[str]) -> list[Run]:
    """Runs whose names differ: those with a clashing tag are called by their files."""
    for run in runs:
        fixed = run.given or not run.source
        if run.name in taken and (fixed or bare_name(Path(run.source)) in taken):
            raise ValueError(
                f"{run.source or 'runs DataFrame'}: run '{run.name}' is in the collection already; "
                "every run must have a name of its own."
            )
    for name_of in (lambda run: bare_name(Path(run.source)), lambda run: run.source):
        counts = Counter([*(run.name for run in runs), *taken])
        clashing = {name for name, count in counts.items() if count > 1}
        if not clashing:
            return runs
        renamed = [
            run._replace(name=name_of(run), renamed=True)
            if run.name in clashing and run.source and not run.given
            else run
            for run in runs
        ]
        pairs = [(a.name, b.name) for a, b in zip(runs, renamed, strict=True) if a.name != b.name]
        if pairs:
            shown = some_of([f"'{old}' is now '{new}'" for old, new in pairs], 5)
            warnings.warn(
                f"names of runs clash, so these are named by their files: {shown}.", stacklevel=2
            )
        runs = renamed
    name, count = Counter([*(run.name for run in runs), *taken]).most_common(1)[0]
    if count > 1:
        raise ValueError(f"two runs are named '{name}'; every run must have a name of its own.")
    return runs
