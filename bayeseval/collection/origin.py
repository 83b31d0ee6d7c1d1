"""Where a result comes from: what its runs are, and of which collection and sample it is."""

import json
import zlib
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.messages import Message, Option

RUN_COORDS = ("contributed", "team")
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio


def run_coords(collection: xr.DataTree, runs: Any = None) -> dict[str, xr.Variable]:
    """Coords of results along run: whether a run contributed, and its team.

    ``runs`` are the labels of the runs of the result; by default all.
    """
    root = collection.to_dataset()
    labels = root["run"].to_numpy() if runs is None else np.asarray(runs)
    return {name: root[name].sel(run=labels).variable for name in RUN_COORDS if name in root}


def origin(collection: xr.DataTree) -> dict[str, str]:
    """Attrs of results: ``fingerprint`` of the collection, ``sample`` (checksum of judgments).

    The checksum does not depend on the order of the pairs, so that it stays the same where runs are
    added.
    """
    root = collection.to_dataset()
    grade = collection["judgments/grade"]
    grade = grade.transpose("pair", ...).to_numpy().reshape(root.sizes["pair"], -1)
    judged = np.flatnonzero(~np.isnan(grade).all(axis=1))
    topic = _words(root["topic"].to_numpy())[root["pair_topic"].to_numpy()[judged]]
    word = _mixed(_words(root["document"][judged].to_numpy()) * np.uint64(31) + topic)
    column = np.arange(1, 2 * grade.shape[1], 2, dtype=np.uint64)
    level = np.where(np.isnan(grade[judged]), -1.0, grade[judged]).astype(np.float64)
    value = _mixed(level.view(np.uint64)) @ column
    total = (word * value).sum(dtype=np.uint64)
    return {"fingerprint": str(root.attrs.get("fingerprint", "")), "sample": f"{int(total):016x}"}


def _words(labels: NDArray[np.str_]) -> NDArray[np.uint64]:
    """A number for each label, whatever the width in which numpy holds it."""
    shape = labels.size, labels.itemsize // 4
    letters = np.ascontiguousarray(labels).view(np.uint32).reshape(shape)
    power = np.cumprod(np.full(letters.shape[1], _ODD), dtype=np.uint64)
    return _mixed(letters.astype(np.uint64) @ power)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers whose bits all depend on all bits of those given."""
    for _ in range(2):
        numbers = (numbers ^ (numbers >> np.uint64(32))) * _ODD
    return numbers ^ (numbers >> np.uint64(29))


def topics_word(labels: Any) -> str:
    """Attr ``topics`` of means: how many topics they are of, and a checksum of their labels.

    Examples
    --------
    >>> topics_word(["1", "2"]), topics_word(["2", "1"])
    ('2-e8d0efbf', '2-e8d0efbf')
    """
    labels = sorted(map(str, labels))
    return f"{len(labels)}-{zlib.crc32(chr(10).join(labels).encode()):08x}"


def averaged_topics(estimate: xr.DataArray) -> str:
    """Attr ``topics`` of the mean of scores over topics; empty where the topics have no labels.

    Topics without any score are not among them.

    Examples
    --------
    >>> scores = xr.DataArray([0.5, np.nan], dims="topic", coords={"topic": ["1", "2"]})
    >>> averaged_topics(scores) == topics_word(["1"])
    True
    """
    if "topic" not in estimate.coords:
        return ""
    scored = estimate.notnull().any([dim for dim in estimate.dims if dim != "topic"])
    return topics_word(estimate["topic"].to_numpy()[scored.to_numpy()])


def drawn_as_lists(scores: xr.Dataset) -> bool:
    """Whether the list of each run was drawn by itself, as ``urn_model`` draws it."""
    return scores.attrs.get("draws_of") == "lists"


def check_drawn_together(scores: xr.Dataset) -> None:
    """Refuse to compare runs whose lists were drawn each by itself, as ``urn_model`` draws them.

    A document that two runs show is then relevant in one list and not in the other under the same
    draw, so that a difference of their scores has no posterior.
    """
    if drawn_as_lists(scores):
        raise ValueError(
            f"{scores.attrs.get('estimator', 'this model')} draws the list of each run by itself: "
            "a document that two runs show may be relevant in one and not in the other under the "
            "same draw, so its scores say nothing about differences and ranks of runs; fit "
            "relevance_model to a sample of judgments, or use estimator='dyn'"
        )


def check_several_draws(estimate: xr.DataArray) -> None:
    """Refuse one posterior draw, which would pass for certainty."""
    if estimate.sizes["chain"] * estimate.sizes["draw"] < 2:
        raise ValueError("one posterior draw says nothing of errors; give two draws or more")


def check_alike(first, second, names: tuple[str, str]) -> None:
    """Refuse to join results, called by ``names``, that are of different things.

    Where both have ``fingerprint``, ``sample``, ``ci_prob``, ``population``, ``outside`` or
    ``missing_topics``, and they differ, or different gains of a measure; where they are of other
    topics of the collection, as after a cut of the scores that one of them averages. Measures are
    told apart by their labels, which hold the relevance level.
    """
    nouns = {"fingerprint": "collection", "sample": "sample of judgments"}
    for name in ("fingerprint", "sample", "ci_prob", "population", "outside", "missing_topics"):
        here, there = (result.attrs.get(name, "") for result in (first, second))
        if here in ("", None, 0) or there in ("", None, 0) or here == there:
            continue
        noun = nouns.get(name, name)
        values = "" if name in nouns else f" ({here!r} and {there!r})"
        raise ValueError(f"{names[0]} and {names[1]} must be of the same {noun}{values}")
    here, there = (_topics(result) for result in (first, second))
    if here and there and here != there:
        numbers = " and ".join(text.split("-")[0] for text in (here, there))
        raise ValueError(
            f"{names[0]} and {names[1]} must be of the same topics (of {numbers}); cut the "
            "collection with be.select, or both in the same way"
        )
    if "gain" in first.attrs and "gain" in second.attrs:
        here, there = (json.loads(result.attrs["gain"] or "{}") for result in (first, second))
        shared = set(_measures(first)) & set(_measures(second))
        other = sorted(label for label in shared if here.get(label) != there.get(label))
        if other:
            raise ValueError(f"{names[0]} and {names[1]} must have the same gains of {other[0]}")


def _topics(result) -> str:
    """What :func:`averaged_topics` says of a mean, or of scores that are still to be averaged."""
    if "topic" not in result.dims:
        return str(result.attrs.get("topics", ""))
    return averaged_topics(result["estimate"] if isinstance(result, xr.Dataset) else result)


def _measures(result) -> list[str]:
    """Labels of the measures of a result."""
    if "measure" not in result.coords:
        return []
    return np.atleast_1d(result["measure"].to_numpy()).tolist()


def check_covariance(scores: xr.Dataset, covariance: xr.DataArray) -> None:
    """Refuse the covariance of other estimates, or of other sums of topics and documents."""
    if not isinstance(covariance, xr.DataArray):
        raise ValueError(
            f"covariance must be a DataArray, as be.covariance returns it, not a "
            f"{type(covariance).__name__}; a saved one is read by xr.open_dataarray"
        )
    check_alike(scores, covariance, ("the estimates", "the covariance"))
    for attribute in ("estimator", "predictor", "denominator"):
        named = [result.attrs.get(attribute, "") for result in (scores, covariance)]
        if all(named) and named[0] != named[1]:
            raise ValueError(
                f"the covariance is of {attribute} '{named[1]}' and the estimates are of "
                f"'{named[0]}'"
            )
    for option, usual in (("missing_topics", "zero"), ("outside", "nonrelevant")):
        value = scores.attrs.get(option, usual)
        if value != usual:
            raise ValueError(
                Message(
                    Option(option),
                    f" is '{value}', and the design's covariance is of estimates with '{usual}'",
                )
            )
