"""Collections to files: runs and judgments, each written whole or not at all."""

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import check_collection
from bayeseval.collection.labels import pair_names
from bayeseval.collection.schema import describe_pair
from bayeseval.trec.sources import write_whole


def write_run(collection: xr.DataTree, run: str, path) -> None:
    """Write a run: ``topic Q0 document rank score tag``.

    A collection holds rankings, not scores: the score written is the number of documents that are
    left, n, n - 1, ... 1, so that reading the file gives the same ranking.

    Parameters
    ----------
    collection : DataTree
        The collection.
    run : str
        Label of the run; becomes the tag.
    path : str or Path
        Where to; compressed as its ending says (.gz, .xz, .bz2, .zst).

    Raises
    ------
    ValueError
        Where there is no such run, or a label has blanks and so cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib, pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "r", "topic": "1", "document": ["a", "b"], "score": [0.5, 0.9]})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "file"
    >>> be.trec.write_run(be.read_collection(None, run), "r", path)
    >>> print(path.read_text().strip())
    1 Q0 b 1 2 r
    1 Q0 a 2 1 r
    """
    check_collection(collection)
    runs = collection["run"].to_numpy().tolist()
    if run not in runs or "rankings" not in collection:
        raise ValueError(f"run '{run}' is not in the collection; it has {', '.join(runs)}.")
    ranking = collection["rankings/ranking"].to_numpy()[runs.index(run)]
    topic, rank = np.nonzero(ranking >= 0)
    length = (ranking >= 0).sum(axis=1)[topic]
    document = collection["document"].to_numpy()[ranking[topic, rank]]
    label = collection["topic"].to_numpy()[topic]
    _write(path, label, "Q0", document, rank + 1, length - rank, run)


def write_qrels(collection: xr.DataTree, path, *, replicate: int | None = None) -> None:
    """Write judgments: ``topic 0 document grade``, -1 where pooled but not judged.

    Parameters
    ----------
    collection : DataTree
        The collection.
    path : str or Path
        Where to; compressed as its ending says.
    replicate : int, optional
        Which one, where judgments have replicates.

    Raises
    ------
    ValueError
        Where there are no judgments, a grade is not a whole number, or some judged documents have
        negative grades and others were pooled but not judged.

    Examples
    --------
    >>> import tempfile, pathlib, pandas as pd, bayeseval as be
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a", "b"], "grade": [1, -1]})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "file"
    >>> be.trec.write_qrels(be.read_collection(qrels), path)
    >>> print(path.read_text().strip())
    1 0 a 1
    1 0 b -1
    """
    check_collection(collection)
    grade, listed, judged = _grades(collection, replicate)
    if (listed & ~judged).any():
        _refuse_below(collection, judged & (grade < 0), grade, "of pooled ones that nobody judged")
    pairs = np.flatnonzero(listed)
    topic, document = pair_names(collection, pairs)
    _write(path, topic, 0, document, grade[pairs])


def write_sampleval(collection: xr.DataTree, path, *, replicate: int | None = None) -> None:
    """Write strata and judgments: ``topic 0 document stratum grade``, -1 where not sampled.

    Parameters
    ----------
    collection : DataTree
        A collection with a stratified design.
    path : str or Path
        Where to; compressed as its ending says.
    replicate : int, optional
        Which one, where judgments have replicates.

    Raises
    ------
    ValueError
        Where the design has no strata, a pooled or judged pair is in none, or a judged one has
        grade -1.

    Examples
    --------
    >>> import tempfile, pathlib, pandas as pd, bayeseval as be
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a", "b"], "grade": [1, -1]})
    >>> qrels = qrels.assign(stratum=3)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "file"
    >>> be.trec.write_sampleval(be.read_collection(qrels, qrels_format="sampleval"), path)
    >>> print(path.read_text().strip())
    1 0 a 3 1
    1 0 b 3 -1
    """
    check_collection(collection)
    design = _design(collection, "sampleval")
    grade, listed, judged = _grades(collection, replicate)
    stratum = design["stratum"].to_numpy() if "stratum" in design else np.full(grade.size, -1)
    if (stratum < 0).all():
        raise ValueError("the design has no strata, which sampleval needs; use write_prels.")
    stray = listed & (stratum < 0)
    if stray.any():
        where = describe_pair(collection, int(np.argmax(stray)))
        raise ValueError(
            f"{where} is pooled but in no stratum, so sampleval would lose it; write_prels writes "
            "the sampled documents alone, and write_qrels beside save_design keeps everything."
        )
    _refuse_below(collection, judged & (grade == -1), grade, "of documents that were not drawn")
    pairs = np.flatnonzero(stratum >= 0)
    topic, document = pair_names(collection, pairs)
    if "stratum_label" in design:
        labels = design["stratum_label"].to_numpy()
    else:  # 1, 2, ... within each topic
        of_stratum = pd.Series(design["stratum_topic"].to_numpy())
        labels = 1 + of_stratum.groupby(of_stratum).cumcount().to_numpy()
    _write(path, topic, 0, document, labels[stratum[pairs]], grade[pairs])


def write_prels(collection: xr.DataTree, path, *, replicate: int | None = None) -> None:
    """Write sampled judgments: ``topic document grade method probability``.

    The method is the one that was read, or 1.

    Parameters
    ----------
    collection : DataTree
        A collection with a design.
    path : str or Path
        Where to; compressed as its ending says.
    replicate : int, optional
        Which one, where judgments have replicates.

    Raises
    ------
    ValueError
        Where there is no design, a judged pair has no known inclusion probability, or a judged or
        listed one has no grade of 0 or more.

    Examples
    --------
    >>> import tempfile, pathlib, pandas as pd, bayeseval as be
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a", "b"], "grade": [1, 0]})
    >>> qrels = qrels.assign(probability=[0.5, 1.0])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "file"
    >>> be.trec.write_prels(be.read_collection(qrels, qrels_format="prels"), path)
    >>> print(path.read_text().strip())
    1 a 1 1 0.5
    1 b 0 1 1.0
    """
    check_collection(collection)
    pairs, grade, probability = _sampled(collection, replicate, "prels")
    topic, document = pair_names(collection, pairs)
    method = "1"
    if "method" in collection["design"]:
        method = collection["design/method"].to_numpy()[pairs]
        method = np.where(method == "", "1", method)
    _write(path, topic, document, grade, method, probability)


def write_probs(collection: xr.DataTree, path, *, replicate: int | None = None) -> None:
    """Write sampled judgments: ``topic 0 document grade probability``.

    Parameters
    ----------
    collection, path, replicate
        As for :func:`trec.write_prels`.

    Raises
    ------
    ValueError
        As for :func:`trec.write_prels`.

    Examples
    --------
    >>> import tempfile, pathlib, pandas as pd, bayeseval as be
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a", "b"], "grade": [1, 0]})
    >>> qrels = qrels.assign(probability=[0.5, 1.0])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "file"
    >>> be.trec.write_probs(be.read_collection(qrels, qrels_format="probs"), path)
    >>> print(path.read_text().strip())
    1 0 a 1 0.5
    1 0 b 0 1.0
    """
    check_collection(collection)
    pairs, grade, probability = _sampled(collection, replicate, "probs")
    topic, document = pair_names(collection, pairs)
    _write(path, topic, 0, document, grade, probability)


def _grades(collection, replicate: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole grades, -1 where not judged, which pairs a file lists, and which are judged."""
    if "judgments" not in collection:
        raise ValueError("the collection has no judgments to write.")
    grade = collection["judgments/grade"].to_numpy()
    if grade.ndim > 1:
        if replicate is None or not 0 <= replicate < len(grade):
            raise ValueError(
                f"the judgments have {len(grade)} replicates; name one of them, from 0, "
                f"as replicate, not {replicate!r}."
            )
        grade = grade[replicate]
    judged = ~np.isnan(grade)
    broken = judged & (grade != np.round(grade))
    if broken.any():
        first = int(np.argmax(broken))
        raise ValueError(
            f"{describe_pair(collection, first)} has grade {grade[first]}; files hold whole grades."
        )
    listed = judged | collection["judgments/pooled"].to_numpy()
    return np.where(judged, grade, -1).astype(np.int64), listed, judged


def _refuse_below(collection, below: np.ndarray, grade: np.ndarray, others: str) -> None:
    """Refuse judged pairs with grades that could be taken for the -1 of others."""
    if below.any():
        first = int(np.argmax(below))
        raise ValueError(
            f"{describe_pair(collection, first)} is judged with grade {grade[first]}, and a file "
            f"would not tell it from the -1 {others}; give such documents grade 0, or keep both by "
            "save_collection."
        )


def _sampled(collection, replicate: int | None, name: str) -> tuple[np.ndarray, ...]:
    design = _design(collection, name)
    grade, listed, judged = _grades(collection, replicate)
    if design.attrs.get("unlisted") != "unknown":
        listed = judged
    unjudged = listed & (grade < 0)
    if unjudged.any():
        raise ValueError(
            f"{describe_pair(collection, int(np.argmax(unjudged)))} was sampled but has no grade "
            f"of 0 or more, which {name} needs."
        )
    probability = design["inclusion_probability"].to_numpy()
    wrong = listed & ~(probability > 0)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"{describe_pair(collection, first)} has inclusion probability {probability[first]}; "
            f"{name} needs one in (0, 1]."
        )
    pairs = np.flatnonzero(listed)
    return pairs, grade[pairs], probability[pairs]


def _design(collection, name: str):
    if "design" not in collection:
        raise ValueError(f"the collection has no design, which {name} needs; use write_qrels.")
    return collection["design"]


def _write(path, *columns: np.ndarray | str | int) -> None:
    """Write lines of columns, each an array (line,) or what all lines have there."""
    texts = [[str(value) for value in column.tolist()] for column in np.broadcast_arrays(*columns)]
    for column in texts:
        for name in set(column):
            if name.split() != [name] or "\0" in name:
                line = " ".join(fields[column.index(name)] for fields in texts)
                raise ValueError(
                    f"{name!r} cannot be written, in the line {line!r}: names of topics, documents "
                    "and runs must have no blanks."
                )
    comment = next((label for label in texts[0] if label.startswith("#")), None)
    if comment:
        raise ValueError(f"topic '{comment}' cannot be written; a line with # first is a comment.")
    write_whole(path, "".join(" ".join(fields) + "\n" for fields in zip(*texts, strict=True)))
