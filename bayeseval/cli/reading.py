"""What the commands read: runs, judgments, and a design that joins the two."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bayeseval as be
from bayeseval.cli.data import DataFrame, DataTree
from bayeseval.cli.groups import Judged, Rankings
from bayeseval.cli.output import remark
from bayeseval.whole_file import expanded_path

COMBINED = "combined"  # an estimator of the commands: dyn and a model
ORDER = "the order is QRELS RUN...: judgments first"


def input_files(
    judgments: list[str | None], runs: list[str], others: list[Path | None]
) -> list[Path]:
    """Files that a command reads: those of judgments and runs, some behind globs."""
    from bayeseval.trec.sources import expanded

    named = [path for path in judgments if path is not None]
    found = [*(expanded(named, "judgments") if named else []), *expanded(runs, "run")]
    paths = [path for path in found if isinstance(path, Path)]
    return paths + [path for path in others if path is not None]


def check_measures(
    measures: list[str], relevance_level: int, estimator: str | None = None
) -> list[str]:
    """Canonical labels of measures; unknown ones are refused before files are read.

    So is an unknown estimator, or one that has no estimate of a measure.
    """
    from bayeseval.estimators import check_estimable, check_known
    from bayeseval.measures.names import parse_measures

    parsed = parse_measures(measures, relevance_level=relevance_level)
    if estimator == COMBINED:
        from bayeseval.posterior.modelled import check_modelled  # takes time to import

        check_modelled(parsed)
    elif estimator is not None:
        check_known(estimator, (COMBINED,))
        check_estimable(parsed, estimator)
    return [measure.label for measure in parsed]


def check_level(
    collection: DataTree, relevance_level: int, measures: list[str], *, fitting: bool = False
) -> None:
    """Refuse a level that makes no document relevant, as a mistyped one does.

    It is the option's, or that of a measure (``rel=``). A sample may have missed the highest
    grades: then the estimate is 0, with a warning. A model has nothing to be fitted to.
    """
    from bayeseval.measures.names import parse_measures

    grades = collection["judgments/grade"]
    if grades.isnull().all() or ("design" in collection.children and not fitting):
        return
    highest = int(grades.max(skipna=True).item())
    asked = {f"the grade --relevance-level {relevance_level}": relevance_level}
    for measure in parse_measures(measures, relevance_level=relevance_level):
        own = measure.relevance_level
        if not measure.graded and own != relevance_level:
            asked[f"the grade {own} of {measure.label}"] = own
    for what, level in asked.items():
        if level > max(highest, 1):
            raise ValueError(f"no judged document has {what} or more; the highest is {highest}")


def check_apart(runs: list[str], unpooled: list[str]) -> None:
    """Refuse a file that is said to have made the pool and not to have made it."""
    from bayeseval.trec.sources import expanded

    pooled = {os.path.realpath(str(path)) for path in expanded(runs, "run")}
    for path in expanded(unpooled, "run"):
        if os.path.realpath(str(path)) in pooled:
            raise ValueError(f"{path} is both a RUN and --unpooled; name it as one of the two")


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
    from bayeseval.trec.sources import bare_name

    files: dict[str, Path] = {}
    for text in labels or []:
        name, sign, path = text.partition("=")
        if not sign or expanded_path(text).exists():
            name, path = _judge(bare_name(Path(text))), text
        if name in files:
            raise ValueError(f"--labels names two judges '{name}'; tell them apart by NAME=FILE")
        if not name:
            raise ValueError(f"--labels {text} names no judge; write NAME=FILE")
        file = expanded_path(path)
        if not file.is_file():
            raise ValueError(f"--labels {text}: there is no file '{path}' of labels")
        files[name] = file
    return files


def _judge(file: str) -> str:
    """Name of a judge after its file, without the endings that files of labels have."""
    from bayeseval.trec.records import ENDINGS

    stem, dot, ending = file.rpartition(".")
    return stem if dot and f".{ending}" in (*ENDINGS, ".txt", ".qrels", ".labels") else file


def labelled(collection: DataTree, labels: list[str] | None) -> DataTree:
    """Collection with the labels of files; how many pairs have one is said."""
    for name, path in label_files(labels).items():
        collection = be.add_predictions(collection, name, path)
        known = collection[f"predictors/{name}"].notnull().sum().item()
        remark(f"labels '{name}': {known} of {collection['document'].size} pairs have one")
    return collection


def judged_files(qrels: str, runs: list[str], judged: Judged) -> list[Path]:
    """Files that a command reads for a collection with judgments."""
    return input_files([qrels], runs, [judged.design, *label_files(judged.labels).values()])


def judged_collection(qrels: str, runs: list[str], judged: Judged, rankings: Rankings) -> DataTree:
    """Runs with their judgments, those of a design joined to it, and with labels."""
    options: dict[str, Any] = asdict(rankings)
    negative_grades = judged.negative_grades
    if judged.design is not None and judged.qrels_format != "qrels":
        raise ValueError("--design goes with plain qrels; the other formats bring their own design")
    with ordered_files():
        if judged.design is None:
            options |= {"qrels_format": judged.qrels_format, "negative_grades": negative_grades}
            collection = be.read_collection(qrels, runs, **options)
        else:
            collection = be.read_collection(None, runs, **options)
            design = be.read_design(judged.design)
            collection = be.attach_judgments(
                collection, design, qrels, negative_grades=negative_grades
            )
    return labelled(collection, judged.labels)


def judgments_of(qrels: str, common_qrels: str | None, negative_grades: str) -> tuple:
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

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        judgments = be.qrels_frame(be.read_collection(path, negative_grades=negative_grades))
    for warning in said:
        message = warning.message
        if isinstance(message, FieldsIgnored):
            message = UserWarning(f"{message.found} ({ORDER})")
        warnings.warn(message, stacklevel=2)
    return judgments


def pooled_collection(
    judgments: DataFrame,
    runs: list[str],
    unpooled: list[str],
    teams: Path | None,
    rankings: Rankings,
    negative_grades: str,
) -> DataTree:
    """Runs that made the pool, and beside them those that did not, with all judgments."""
    table = None if teams is None else _columns(teams, "run", "team")
    options = asdict(rankings)
    collection = be.read_collection(
        judgments, runs, run_table=table, negative_grades=negative_grades, **options
    )
    duplicates = rankings.on_duplicate
    return be.add_runs(collection, unpooled, contributed=False, on_duplicate=duplicates)


def groups_of_topics(path: Path | None) -> dict[str, str] | None:
    """Group of every topic that a file names; None without a file."""
    if path is None:
        return None
    table = _columns(path, "topic", "group")
    twice = table.loc[table["topic"].duplicated(), "topic"]
    if len(twice):
        raise ValueError(f"{path} names the topic '{twice.iloc[0]}' twice")
    return dict(zip(table["topic"], table["group"], strict=True))


def _columns(path: Path, first: str, second: str) -> DataFrame:
    """A CSV file as text, refused where it lacks one of two columns."""
    import pandas as pd

    table = pd.read_csv(path, dtype=str)
    if not {first, second} <= set(table.columns):
        raise ValueError(
            f"{path} has the columns {', '.join(table.columns)}; it needs {first} and {second}"
        )
    return table
