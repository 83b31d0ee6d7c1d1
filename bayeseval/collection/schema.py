"""The shape of a collection: how its tree is put together, and what must hold in it."""

import json
import warnings
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import pair_names, same_strings, topic_starts

SCHEMA = "bayeseval collection 1"
ROLE, LABEL = "role", "label"
_LACKING = {"rankings": "no runs to evaluate", "judgments": "no judgments to evaluate with"}


def assemble(
    *,
    topics,
    runs,
    document,
    pair_topic,
    ranking=None,
    grade=None,
    pooled=None,
    contributed=None,
    team=None,
    design: xr.Dataset | None = None,
    predictors: xr.Dataset | None = None,
    attrs: dict | None = None,
) -> xr.DataTree:
    """Put arrays in canonical order together as a collection.

    Canonical order is: topics in natural order, pairs by topic and then by document label
    ascending, runs in any order.

    Parameters
    ----------
    topics, runs : sequence of str (topic,), (run,)
        Labels.
    document : sequence of str (pair,)
        Document label of each pair.
    pair_topic : array of int (pair,)
        Position of each pair's topic.
    ranking : array of int (run, topic, rank), optional
        Position along ``pair`` of the document at each rank, -1 after the last one.
    grade : array of float (pair,) or (replicate, pair), optional
        The assessor's label, NaN where not judged.
    pooled : array of bool (pair,), optional
        In the pool, judged or not. By default: judged in any replicate.
    contributed : array of bool (run,), optional
        Whether a run's documents shape frames, fusion and features. By default: True.
    team : sequence of str (run,), optional
        Who made the run.
    design : Dataset, optional
        ``inclusion_probability(pair)`` and what else the design says.
    predictors : Dataset, optional
        Columns over ``pair``.
    attrs : dict of str, int or float, optional
        Facts to keep, such as ``score_type``, or all of a collection that this one is made from.

    Returns
    -------
    DataTree
        The collection, checked.

    Raises
    ------
    ValueError
        Where the arrays disagree with each other or are out of order.

    Examples
    --------
    >>> collection = assemble(
    ...     topics=["1"], runs=["r"], document=["a", "b"], pair_topic=[0, 0],
    ...     ranking=[[[1, 0]]], grade=[1, float("nan")],
    ... )
    >>> collection["judgments/pooled"].to_numpy().tolist()
    [True, False]
    """
    root = labelled_root(topics, runs, document, pair_topic, contributed, team, attrs or {})
    nodes = {"/": root}
    if grade is not None or pooled is not None:
        grade = np.full(root.sizes["pair"], np.nan) if grade is None else grade
        grade = np.asarray(grade, dtype=np.float32)
        if pooled is None:
            pooled = ~np.isnan(grade).all(axis=tuple(range(grade.ndim - 1)))
        graded = (("replicate", "pair")[-grade.ndim :], grade)
        in_pool = ("pair", np.asarray(pooled, dtype=bool))
        nodes["/judgments"] = xr.Dataset({"grade": graded, "pooled": in_pool})
    if design is not None:
        nodes["/design"] = _unlabelled(design)
    if ranking is not None and root.sizes["run"]:
        positions = np.asarray(ranking, dtype=np.int32)
        nodes["/rankings"] = xr.Dataset({"ranking": (("run", "topic", "rank"), positions)})
    if predictors is not None:
        nodes["/predictors"] = predictors
    collection = xr.DataTree.from_dict(nodes)
    _check_order(collection)
    _check_rankings(collection)
    _check_design(collection)
    return collection


def rebuilt(collection: xr.DataTree, **given) -> xr.DataTree:
    """Collection assembled anew, with what is given in the place of its own.

    It takes what :func:`assemble` does; and ``judgments`` (Dataset), whole, with draw counts and
    the scale of the grades.

    Examples
    --------
    >>> collection = assemble(topics=["1"], runs=[], document=["a"], pair_topic=[0], grade=[1])
    >>> rebuilt(collection, document=["b"])["judgments/grade"].to_numpy().tolist()
    [1.0]
    """
    names = ("document", "pair_topic", "contributed", "team")
    own: dict = {name: collection[name].to_numpy() for name in names}
    own |= {"topics": collection["topic"].to_numpy(), "runs": collection["run"].to_numpy()}
    own["attrs"] = collection.attrs
    if "rankings" in collection and "ranking" not in given:
        own["ranking"] = collection["rankings/ranking"].to_numpy()
    for name in ("judgments", "design", "predictors"):
        if name in collection.children:
            own[name] = collection.children[name].to_dataset(inherit=False)
    parts = own | given
    judgments = parts.pop("judgments", None)
    if judgments is None:
        return assemble(**parts)
    parts |= {"grade": judgments["grade"].transpose(..., "pair").to_numpy()}
    parts |= {"pooled": judgments["pooled"].to_numpy()}
    return with_node(assemble(**parts), "judgments", judgments)


def check_one_sample(collection: xr.DataTree, what: str) -> None:
    """Refuse judgments of several samples side by side, where one is needed.

    ``what`` is of one sample: the beginning of the message.
    """
    if collection["judgments/grade"].sizes.get("replicate", 1) > 1:
        raise ValueError(
            f"{what} and this collection holds replicates; pick one with reveal(collection, "
            "design, selected.isel(replicate=0))"
        )


def with_node(collection: xr.DataTree, name: str, dataset: xr.Dataset | None) -> xr.DataTree:
    """Copy of a collection with one node replaced, or left out when ``dataset`` is None."""
    nodes = datasets(collection)
    nodes.pop(f"/{name}", None)
    if dataset is not None:
        nodes[f"/{name}"] = _unlabelled(dataset)
    return xr.DataTree.from_dict(nodes)


def datasets(collection: xr.DataTree) -> dict[str, xr.Dataset]:
    """Dataset of every node, by its path."""
    return {node.path: node.to_dataset(inherit=False) for node in collection.subtree}


def check_collection(collection: xr.DataTree, *needed: str) -> None:
    """Refuse anything that is not a whole collection, such as a tree cut with plain ``isel``.

    So is a collection without topics, or without the ``needed`` of its rankings and judgments.
    """
    if not isinstance(collection, xr.DataTree) or collection.attrs.get("schema") != SCHEMA:
        schema = collection.attrs.get("schema") if isinstance(collection, xr.DataTree) else None
        raise ValueError(
            f"a collection is a DataTree with schema '{SCHEMA}', not a {type(collection).__name__} "
            f"with schema {schema!r}; make one with be.read_collection or be.open_collection."
        )
    if collection.attrs.get("fingerprint") != fingerprint(collection):
        raise ValueError(
            "the topics, runs or pairs of the collection are not those it was made with, so its "
            "rankings point to the wrong pairs; cut a collection with be.select, not isel or sel"
            + ("." if collection["document"].chunks is None else ", and leave its store as it is.")
        )
    check_parts(collection, *needed)


def check_parts(collection: xr.DataTree, *needed: str) -> None:
    """Refuse a collection without topics, or without the ``needed`` parts."""
    lacking = [_LACKING[name] for name in needed if name not in collection.children]
    if not collection["topic"].size:
        lacking.append("no topics to evaluate")
    if lacking:
        raise ValueError(f"the collection has {lacking[0]}")


def fingerprint(collection) -> str:
    """Sizes and checksum of the labels that positions in a collection refer to."""
    pair_topic = np.ascontiguousarray(collection["pair_topic"].to_numpy(), dtype=np.int32)
    document = collection["document"]
    sampled = document[:: max(1, document.size // 1000)].to_numpy()
    labels = [*collection["topic"].to_numpy(), "", *collection["run"].to_numpy(), "", *sampled]
    checksum = zlib.crc32("\n".join(map(str, labels)).encode(), zlib.crc32(pair_topic.tobytes()))
    sizes = "-".join(str(collection[name].size) for name in ("topic", "run", "document"))
    return f"{sizes}-{checksum:08x}"


def strata(stratum, size, drawn, topic) -> dict[str, tuple[str, NDArray]]:
    """Variables of a design by strata: that of each pair (-1: none), and what these are."""
    rate = np.append(np.asarray(drawn) / np.asarray(size), 0.0)  # of no stratum 0
    return {
        "inclusion_probability": ("pair", rate[stratum]),
        "stratum": ("pair", np.asarray(stratum, dtype=np.int32)),
        "stratum_size": ("stratum_id", np.asarray(size, dtype=np.int64)),
        "stratum_sample_size": ("stratum_id", np.asarray(drawn, dtype=np.int64)),
        "stratum_topic": ("stratum_id", np.asarray(topic, dtype=np.int32)),
    }


def no_strata(n_pairs: int) -> dict[str, tuple[str, NDArray]]:
    """Variables of a design that has no strata, less the probabilities."""
    variables = strata(np.full(n_pairs, -1), [], [], [])
    del variables["inclusion_probability"]
    return variables


def design_parameters(design: xr.Dataset | xr.DataTree | None) -> dict[str, Any]:
    """What a design was made with; nothing where there is none, or it does not say."""
    return {} if design is None else json.loads(design.attrs.get("parameters", "{}"))


def _unlabelled(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.drop_vars(["topic", "run", "document", "pair_topic"], errors="ignore")


def labelled_root(topics, runs, document, pair_topic, contributed, team, attrs: dict) -> xr.Dataset:
    """Root of a collection, its labels as text; those of documents may be a dask array of text."""
    n_runs, is_on_disk = len(runs), hasattr(document, "chunks")
    contributed = np.ones(n_runs, dtype=bool) if contributed is None else contributed
    team = [""] * n_runs if team is None else team
    root = xr.Dataset(
        {
            "contributed": ("run", np.asarray(contributed, dtype=bool)),
            "team": ("run", same_strings(team)),
        },
        coords={
            "topic": same_strings(topics),
            "run": same_strings(runs),
            "document": ("pair", document if is_on_disk else same_strings(document)),
            "pair_topic": ("pair", np.asarray(pair_topic, dtype=np.int32)),
        },
        attrs={**attrs, "schema": SCHEMA},
    )
    return root.assign_attrs(fingerprint=fingerprint(root))


def _check_order(collection) -> None:
    for name in ("topic", "run"):
        labels, count = np.unique(collection[name].to_numpy(), return_counts=True)
        if (count > 1).any():
            raise ValueError(
                f"two {name}s are labelled '{labels[count > 1][0]}'; labels must be unique."
            )
    document = collection["document"].to_numpy()
    pair_topic = collection["pair_topic"].to_numpy()
    n_topics = collection["topic"].size
    if pair_topic.size and (pair_topic.min() < 0 or pair_topic.max() >= n_topics):
        raise ValueError(f"pair_topic must be a position among the {n_topics} topics.")
    step = np.diff(pair_topic)
    wrong = (step < 0) | ((step == 0) & (document[1:] <= document[:-1]))
    if wrong.any():
        where = describe_pair(collection, int(np.argmax(wrong)) + 1)
        raise ValueError(
            "pairs must be distinct and sorted by topic, then by document; "
            f"{where} is out of order."
        )


def _check_rankings(collection) -> None:
    if "rankings" not in collection:
        return
    ranking = collection["rankings/ranking"].to_numpy()
    starts = topic_starts(collection)
    retrieved = ranking >= 0
    inside = (ranking >= starts[:-1, None]) & (ranking < starts[1:, None])
    if (~inside & (ranking != -1)).any() or (retrieved[..., 1:] > retrieved[..., :-1]).any():
        raise ValueError(
            "ranking must hold positions of pairs of its own topic, and -1 after the last one only."
        )
    for run, row, present in zip(collection["run"].to_numpy(), ranking, retrieved, strict=True):
        seen, ranked = np.zeros(starts[-1], dtype=bool), row[present]
        seen[ranked] = True
        if np.count_nonzero(seen) < ranked.size:
            where = describe_pair(collection, int(np.bincount(ranked).argmax()))
            raise ValueError(f"run '{run}' ranks {where} more than once; once is allowed.")


def _check_design(collection) -> None:
    if "design" not in collection:
        return
    probability = collection["design/inclusion_probability"].to_numpy()
    wrong = (probability < 0) | (probability > 1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"{describe_pair(collection, first)} has inclusion probability {probability[first]}; "
            "it must lie in (0, 1], or be 0 outside the frame."
        )
    if "judgments" in collection:
        judged = collection["judgments/grade"].notnull()
        if "replicate" in judged.dims:
            judged = judged.any("replicate")
        wrong = judged.values & (probability == 0)
        if wrong.any():
            raise ValueError(
                f"{describe_pair(collection, int(np.argmax(wrong)))} is judged but has inclusion "
                "probability 0; a judged pair must have one in (0, 1]."
            )
    check_strata(collection["design"], collection["topic"].to_numpy())


def check_strata(design, topics: NDArray) -> None:
    """Refuse strata whose sizes or samples disagree with their rows."""
    if "stratum" not in design or "stratum_size" not in design:
        return
    size = design["stratum_size"].to_numpy()
    stratum = design["stratum"].to_numpy()
    if stratum.size and (stratum.min() < -1 or stratum.max() >= size.size):
        raise ValueError(f"stratum must be -1 or a position among the {size.size} strata.")
    rows = np.bincount(stratum[stratum >= 0], minlength=size.size)
    sampled = design["stratum_sample_size"].to_numpy()
    wrong = (rows != size) | (sampled < 0) | (sampled > size)
    if wrong.any():
        first = int(np.argmax(wrong))
        topic = topics[design["stratum_topic"].to_numpy()[first]]
        raise ValueError(
            f"stratum {first} of topic '{topic}' is said to have {size[first]} documents, "
            f"{sampled[first]} of them sampled, but has {rows[first]} rows; its size must equal "
            "its rows and its sample cannot be larger."
        )


def describe_pair(collection, position: int) -> str:
    """Text that names a pair in a message: ``topic '401' document 'FT911-3'``."""
    topic, document = pair_names(collection, position)
    return f"topic '{topic}' document '{document}'"


def with_labels(collection: xr.DataTree, columns: dict[str, NDArray[np.float64]]) -> xr.DataTree:
    """Collection that has these labels (pair,) among its predictors, marked as labels."""
    added = {name: ("pair", values, {ROLE: LABEL}) for name, values in columns.items()}
    return with_predictors(collection, added)


def with_predictors(collection: xr.DataTree, columns: dict[str, tuple]) -> xr.DataTree:
    """Collection that has these variables too among its predictors."""
    known = xr.Dataset()
    if "predictors" in collection.children:
        known = collection.children["predictors"].to_dataset(inherit=False)
    return with_node(collection, "predictors", known.assign(columns))


def label_values(collection: xr.DataTree, names: str | Sequence[str]) -> NDArray[np.float64]:
    """Labels (pair, judge) of some judges, NaN where there is none."""
    known = label_names(collection)
    asked = [names] if isinstance(names, str) else list(names)
    for name in asked:
        if name not in known:
            raise ValueError(
                f"there are no labels named '{name}'; added by be.add_predictions: "
                f"{', '.join(known) or 'none'}"
            )
    columns = predictor_columns(collection)
    return np.column_stack(
        [np.zeros((collection.sizes["pair"], 0)), *(columns[name] for name in asked)]
    )


def predictor_columns(collection: xr.DataTree) -> dict[str, NDArray[np.float64]]:
    """External predictions (pair,) by name, those of a dim predictor by their labels."""
    columns = {}
    if "predictors" in collection.children:
        known = collection.children["predictors"].to_dataset(inherit=False)
        for name, values in known.data_vars.items():
            if values.dims == ("pair",):
                columns[str(name)] = values.to_numpy().astype(float)
            elif set(values.dims) == {"pair", "predictor"}:
                for label in values["predictor"].to_numpy():
                    columns[str(label)] = values.sel(predictor=label).to_numpy().astype(float)
    return columns


def label_names(collection: xr.DataTree) -> list[str]:
    """Names of the columns of /predictors that are labels, in the order they were added."""
    node = collection.children.get("predictors")
    if node is None:
        return []
    return [str(name) for name, values in node.data_vars.items() if values.attrs.get(ROLE) == LABEL]


def warn_of_copies(name: str, values: NDArray[np.float64], grade: NDArray[np.float64]) -> None:
    """Warn of labels that agree with every judgment: judgments may have been written over them.

    No judge is right about 50 documents, 10 or more of them relevant and 10 or more not relevant.
    Labels and grades (pair,) are NaN where there is none.
    """
    known = ~np.isnan(values) & ~np.isnan(grade)
    relevant = grade[known] > 0
    if known.sum() < 50 or min(relevant.sum(), (~relevant).sum()) < 10:
        return
    if ((values[known] > 0) == relevant).all():
        warnings.warn(
            f"the labels '{name}' agree with all {known.sum()} judgments: if judgments were "
            "written over the labels of a judge, these tell nothing of how often the judge is "
            "wrong elsewhere, and scores will be wrong and too sure; give the labels as they came",
            stacklevel=3,
        )
