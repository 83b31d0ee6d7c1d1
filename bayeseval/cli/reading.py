"""What the commands read: judgments, runs, designs and labels, or scores of another tool."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bayeseval as be
from bayeseval.cli.notes import note_progress
from bayeseval.cli.options import (
    Dataset,
    DataTree,
    Estimated,
    Judged,
    Source,
)
from bayeseval.cli.output import check_outputs, note, working
from bayeseval.whole_file import expanded_path

ORDER = "the order is QRELS RUN...: judgments first"


def input_files(
    judgments: list[str | None], runs: list[str], others: list[Path | None]
) -> list[Path]:
    """Files that a command reads: those of judgments and runs, some behind globs."""
    from bayeseval.trec.sources import IR_DATASETS, expanded

    named = [path for path in judgments if path is not None and not path.startswith(IR_DATASETS)]
    found = expanded(named, "judgments") if named else []
    runs = [path for path in runs if not path.startswith(IR_DATASETS)]
    found = [*found, *(expanded(runs, "run") if runs else [])]
    paths = [path for path in found if isinstance(path, Path)]
    return paths + [path for path in others if path is not None]


def measure_labels(
    measures: list[str], relevance_level: int = 1, estimator: str | None = None
) -> list[str]:
    """Canonical labels of measures; unknown ones are refused before files are read.

    So are those of which an estimator has no estimate.
    """
    from bayeseval.estimators import check_estimable
    from bayeseval.measures.names import parse_measures

    parsed = parse_measures(measures, relevance_level=relevance_level)
    if estimator not in (None, "combined"):
        check_estimable(parsed, estimator)
    return [measure.label for measure in parsed]


@contextmanager
def ordered_files() -> Iterator[None]:
    """Add the order of the files to an error that a wrong order gives."""
    from bayeseval.trec.lines import WrongFields

    try:
        yield
    except WrongFields as error:
        raise ValueError(f"{str(error).rstrip('.')} ({ORDER})") from error


def label_files(labels: list[str] | None) -> dict[str, Path]:
    """Files of labels by the name of their judge: NAME=FILE, or the file's name."""
    from bayeseval.trec.records import ENDINGS
    from bayeseval.trec.sources import bare_name

    files: dict[str, Path] = {}
    for text in labels or []:
        name, sign, path = text.partition("=")
        if not sign or expanded_path(text).exists():
            path = text
            name = bare_name(Path(text))
            stem, dot, ending = name.rpartition(".")
            if dot and f".{ending}" in (*ENDINGS, ".txt", ".qrels", ".labels"):
                name = stem
        if name in files:
            raise ValueError(f"--labels names two judges '{name}'; write NAME=FILE for each")
        if not name:
            raise ValueError(f"--labels {text} names no judge; write NAME=FILE")
        file = expanded_path(path)
        if not file.is_file():
            raise ValueError(f"--labels {text}: there is no file '{path}' of labels")
        files[name] = file
    return files


def labelled(collection: DataTree, labels: list[str] | None) -> DataTree:
    """Collection with the labels of files; a note says how many pairs have one."""
    for name, path in label_files(labels).items():
        collection = be.add_predictions(collection, name, path)
        known = collection[f"predictors/{name}"].notnull().sum().item()
        note(f"labels '{name}': {known} of {collection['document'].size} pairs have one")
    return collection


def judged_files(qrels: str, runs: list[str], judged: Judged) -> list[Path]:
    """Files that a command reads for a collection with judgments."""
    others = [judged.design, judged.exclude, *label_files(judged.labels).values()]
    return input_files([qrels], runs, others)


def read_source(
    source: Source, judged: Judged, output: Path | None, groups: Path | None = None
) -> DataTree | Dataset:
    """Runs with their judgments and labels, or scores per topic of another tool.

    An output that would replace one of the files that are read is refused.
    """
    from bayeseval.trec.sources import expanded

    others = [] if groups is None else [groups]
    if not source.scores:
        read = judged_files(source.qrels, source.runs, judged) + others
        check_outputs({"--output": output}, read)
        return judged_collection(source.qrels, source.runs, judged)
    files = [path for path in expanded(source.scores, "scores") if isinstance(path, Path)]
    check_outputs({"--output": output}, files + others)
    with working("reading scores"):
        return be.read_scores([str(path) for path in files], measure=source.measure or None)


def asked_of(source: Source, judged: Judged, estimated: Estimated) -> dict[str, Any]:
    """What ``be.scores``, ``compare``, ``rank`` and ``report`` are asked of a source."""
    if source.scores:
        return {"ci_prob": estimated.ci_prob}
    return {
        "measures": source.measure,
        "estimator": estimated.estimator,
        "labels": list(label_files(judged.labels)) or None,
        "relevance_level": estimated.relevance_level,
        "ci_prob": estimated.ci_prob,
        "anytime": estimated.anytime,
    }


def over_topics(source: Source, population: str | None, groups: Path | None) -> dict[str, Any]:
    """Population of the intervals, that of topics where there are groups of these."""
    named = {} if groups is None else {"topic_groups": groups_of_topics(groups)}
    if source.scores:
        return named
    return named | {"population": population or (None if groups is None else "topics")}


def judged_collection(
    qrels: str, runs: list[str], judged: Judged, depth: int | None = None
) -> DataTree:
    """Runs with their judgments, those of a design joined to it, and with labels."""
    if judged.design is not None and judged.qrels_format != "qrels":
        raise ValueError("--design goes with plain qrels; the other formats bring their own design")
    if judged.design is None and judged.unjudgeable != "error":
        raise ValueError("--unjudgeable goes with --design, whose list holds such documents")
    from bayeseval.trec.excluding import refuse_sampled

    how: dict[str, Any] = {"depth": depth, "exclude": judged.exclude}
    with ordered_files():
        if judged.design is None:
            how["qrels_format"] = judged.qrels_format
            collection = be.read_collection(qrels, runs, **how)
        else:
            collection = be.read_collection(None, runs, **how)
            design, fate = be.read_design(judged.design), judged.unjudgeable
            if judged.exclude is not None:
                refuse_sampled(design, judged.exclude)
            collection = be.attach_judgments(collection, design, qrels, unjudgeable=fate)
            note_progress(collection, design)
    return labelled(collection, judged.labels)


def groups_of_topics(path: Path) -> dict[str, str]:
    """Group of every topic that a file names."""
    from bayeseval.trec.records import named_frame

    table = named_frame(path, ("topic", "group"))
    twice = table.loc[table["topic"].duplicated(), "topic"]
    if len(twice):
        raise ValueError(f"{path} names the topic '{twice.iloc[0]}' twice")
    return dict(zip(table["topic"], table["group"], strict=True))
