"""One random order of each topic: strata by size, shuffled, the next document of each in turn."""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_seed
from bayeseval.collection.labels import floating_topics, label_positions
from bayeseval.collection.schema import design_parameters, strata
from bayeseval.designs.judging_list import (
    beginning,
    check_order,
    in_list,
    judged_to,
    shuffled,
    stratum_extension,
)
from bayeseval.designs.placing import design_rows
from bayeseval.designs.prepared import (
    Budget,
    fused_documents,
    kept_budget,
    labelled_design,
    prepared_frame,
    topic_budgets,
)
from bayeseval.designs.sizes import Floats, sizes, variance_shares
from bayeseval.frame.rankings import Rankings, contributing_runs, frame_mask
from bayeseval.processors import working_on

N_STRATA = 20


def order(
    collection: xr.DataTree,
    *,
    measures=None,
    frame: str | xr.DataArray | None = None,
    pool_depth: int | None = None,
    certain: xr.DataArray | None = None,
    runs: list[str] | None = None,
    labels: str | Sequence[str] = (),
    budget: Budget | None = None,
    random_seed: int | None,
    executor=None,
) -> xr.Dataset:
    r"""One random order of each topic's documents, which may be judged to any length.

    The documents of a topic are cut by falling size into 20 strata of about equal total size, and
    each stratum is shuffled. A round takes the next document of every stratum, in random order.
    Whoever has judged a topic's list to any length has judged the first :math:`n_h` of the
    :math:`N_h` documents of every stratum: a stratified sample, with inclusion probability
    :math:`n_h / N_h`. With

    .. math:: size(d)^2 = p (1 - p) \sum_k share_k f_k(d) / S_k^2, \qquad
              S_k = \sum_{d'} \sqrt{f_k(d')\, p' (1 - p')}

    f is the mean over the contributing runs of the squared weight that measure k gives to the rank
    of d, and p the probability of relevance by the fused rank r alone,
    :math:`\mathrm{logit}\, p = 0.3 - 0.8 \ln(r / 10)`. Shares are of variances: by default AP .65,
    P@10 .1, nDCG@10 .1, and .15 for a weight that is the same for all documents.

    Parameters
    ----------
    collection, frame, pool_depth, certain, runs, labels
        As for :func:`pps_strata`; certain pairs are a stratum of their own outside the list.
    measures : str or list, optional
        Measures that the sample is for. They share .6 of the variances, AP has .25. By default
        the sample is good for all measures.
    budget : int, or dict, Series or DataArray by topic, optional
        Judgments per topic to begin with, certain pairs included. So many documents of the list
        count as sampled until judgments say how far it was judged. A topic has half as many
        strata as documents to draw, where these are below 40. By default the whole list.
    random_seed : int or None
        Seed of the order. It decides which of two documents of a stratum comes first, whatever
        other documents the stratum has.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        It finds the sizes of blocks of 500 topics; the order does not change. Default: this
        process.

    Returns
    -------
    Dataset
        As for :func:`pps_strata`, and ``place(pair)``, the place of a document in its stratum from
        1, and ``judging_order(pair)``, that in the topic's list; 0 outside the list.

    Raises
    ------
    ValueError
        As for :func:`pps_strata`; an unknown measure.

    Notes
    -----
    How far a topic is judged may depend on time, money and other topics, not on its own grades.
    Within a stratum no document may be skipped.

    References
    ----------
    Neyman, "On the two different aspects of the representative method", Journal of the Royal
    Statistical Society 97 (1934), doi:10.2307/2342192.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": [f"d{i}" for i in range(9)]})
    >>> collection = be.read_collection(None, run.assign(score=range(9)))
    >>> design = be.designs.order(collection, measures="P@5", budget=4, random_seed=1)
    >>> design.stratum_size.values, design.stratum_sample_size.values
    (array([3, 6]), array([2, 2]))
    >>> be.draw(design, budget=3).sum().item()
    3
    """
    check_seed(random_seed)
    shares = variance_shares(measures)
    check_collection(collection)
    limit = collection.sizes["pair"] if budget is None else budget
    start = prepared_frame(collection, limit, frame, pool_depth, certain, runs, labels)
    seed = int(np.random.default_rng().integers(2**31)) if random_seed is None else random_seed
    with working_on(executor):
        by_topic = sizes(Rankings.of(collection, start["runs"]), start["rest"], shares)
    stratum = np.full(collection.sizes["pair"], -1, dtype=np.int32)
    size, topics, n_used = [], [], 1
    for topic, (certain_pairs, documents) in enumerate(
        zip(start["certain"], start["rest"], strict=True)
    ):
        n_strata = min(max((start["budgets"][topic] - certain_pairs.size) // 2, 1), N_STRATA)
        by_size = np.argsort(-by_topic[topic], kind="stable")
        parts = equal_parts(by_topic[topic][by_size], n_strata)
        n_used = max(n_used, parts.size)
        if certain_pairs.size:
            parts = np.concatenate([[certain_pairs.size], parts])
        pairs = np.concatenate([certain_pairs, documents[by_size]])
        stratum[pairs] = len(size) + np.repeat(np.arange(parts.size), parts)
        size.extend(parts)
        topics.extend([topic] * parts.size)
    listed = np.zeros(stratum.size, dtype=bool)
    listed[np.concatenate(start["rest"])] = True
    variables = strata(stratum, size, size, topics)
    parameters = start["parameters"] | {
        "budget": None if budget is None else start["parameters"]["budget"],
        "measures": None if measures is None else [each.label for each, _ in shares[:-2] if each],
        "n_strata": n_used,
    }
    design = labelled_design(collection, variables, "stratified", "order", parameters)
    design = shuffled(design.assign_attrs(seed=seed), listed, seed)
    return design if budget is None else judged_to(design, beginning(design, start["budgets"]))


def extend(
    order: xr.Dataset,
    collection: xr.DataTree | None = None,
    *,
    runs: list[str] | None = None,
    budget: Budget | None = None,
) -> xr.Dataset:
    r"""Order with the documents of later runs in strata of their own, or with another budget.

    The documents that later runs add are cut by size into strata, and shuffled. The number of new
    strata is that of the topic times the share that these documents have of the total size by the
    later runs; it is at least one. Every document of the list keeps its place in its stratum. The
    documents of a new stratum are outside the frame until one of them is judged; the stratum
    should be judged to as many rounds as the topic has.

    Parameters
    ----------
    order : Dataset
        A design of :func:`order`, as it was made or extended before.
    collection : DataTree, optional
        The later runs, with or without those of the order.
    runs : list of str, optional
        Runs whose documents are added; by default those that contributed. Runs that are in the
        order already add nothing.
    budget : int, or dict, Series or DataArray by topic, optional
        Judgments per topic, certain pairs included. By default that of the order.

    Returns
    -------
    Dataset
        As for :func:`order`, over the pairs of its frame, and ``stratum_extension(stratum_id)``: 0
        for the strata that the order was made with, 1 for those of the first extension.

    Raises
    ------
    ValueError
        A design that is no order, a collection without a later run or without its topics.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": [f"d{i}" for i in range(9)]})
    >>> first = be.read_collection(None, run.assign(score=range(9)))
    >>> design = be.designs.order(first, budget=4, random_seed=1)
    >>> later = pd.DataFrame({"run": "b", "topic": "1", "document": ["d8", "e1", "e2"]})
    >>> later = be.read_collection(None, later.assign(score=[3, 2, 1]))
    >>> extended = be.designs.extend(design, later)
    >>> extended.stratum_size.values, extended.stratum_sample_size.values
    (array([4, 5, 2]), array([2, 2, 0]))
    """
    check_order(order)
    if collection is not None:
        order = _with_later_runs(order, collection, runs)
    if budget is None:
        return order
    budgets = topic_budgets(order, budget)
    parameters = design_parameters(order) | {"budget": kept_budget(budgets)}
    order = order.assign_attrs(parameters=json.dumps(parameters))
    return judged_to(order, beginning(order, budgets))


def _with_later_runs(order: xr.Dataset, collection: xr.DataTree, runs) -> xr.Dataset:
    """Order with strata for the documents that later runs of the collection add."""
    check_collection(collection)
    parameters, names = design_parameters(order), collection["run"].to_numpy()
    later = contributing_runs(collection, runs)
    later = later[~np.isin(names[later], parameters["runs"])]
    if not later.size:
        raise ValueError("all of these runs are in the order already; give it later ones")
    order = order.isel(pair=np.flatnonzero(order["stratum"] >= 0))
    columns = {"size": order["stratum_size"], "drawn": order["stratum_sample_size"]}
    columns |= {"extension": stratum_extension(order), "topic": order["stratum_topic"]}
    table = pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})
    pairs, stratum, added = _later_strata(order, table, collection, later)
    table = pd.concat([table, added], ignore_index=True)
    topic = label_positions(order["topic"], collection["topic"])
    topic = topic[collection["pair_topic"].to_numpy()[pairs]]
    topic = np.concatenate([order["pair_topic"].to_numpy(), topic])
    document = [order["document"].to_numpy(), collection["document"].to_numpy()[pairs]]
    document = np.concatenate(document)
    by_label = np.lexsort((document, topic))
    # strata of a topic stand in a row
    by_topic = np.argsort(table["topic"].to_numpy(), kind="stable")
    stratum = np.argsort(by_topic)[np.concatenate([order["stratum"].to_numpy(), stratum])]
    table = table.iloc[by_topic]
    variables = strata(stratum[by_label], table["size"], table["drawn"], table["topic"])
    variables["stratum_extension"] = ("stratum_id", table["extension"].to_numpy())
    labels = {"pair_topic": ("pair", topic[by_label]), "document": ("pair", document[by_label])}
    labelled = xr.Dataset(coords=labels | {"topic": order["topic"].to_numpy()})
    parameters["runs"] += names[later].tolist()
    design = labelled_design(labelled, variables, "stratified", "order", parameters)
    listed = np.concatenate([in_list(order), np.ones(pairs.size, dtype=bool)])[by_label]
    return shuffled(design.assign_attrs(order.attrs | design.attrs), listed, order.attrs["seed"])


def _later_strata(
    order: xr.Dataset, table: pd.DataFrame, collection: xr.DataTree, later: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], pd.DataFrame]:
    """Pairs of the collection that later runs add, their strata, and the table of these strata."""
    parameters, row = design_parameters(order), design_rows(collection, order)
    topic_of = label_positions(order["topic"], collection["topic"])
    if (topic_of < 0).all():
        first = [dataset["topic"].to_numpy()[0] for dataset in (collection, order)]
        raise ValueError(
            f"the later runs have no topic of the order; they have '{first[0]}' and so on, the "
            f"order has '{first[1]}' and so on{floating_topics(*first)}"
        )
    rule = "judged" if parameters["frame"] == "judged" else "retrieved"
    mask, _ = frame_mask(collection, rule, parameters["pool_depth"], later)
    mask &= (topic_of >= 0)[collection["pair_topic"].to_numpy()]
    mask &= (row < 0) | in_list(order)[row]  # certain pairs need no judgment
    labels = [name for name in parameters.get("labels", []) if f"predictors/{name}" in collection]
    documents = fused_documents(collection, mask, later, labels)
    rankings, shares = Rankings.of(collection, later), variance_shares(parameters["measures"])
    listed = np.isin(table.index, order["stratum"].to_numpy()[in_list(order)])
    first = table["topic"][listed & (table["extension"] == 0)]
    n_strata = np.bincount(first, minlength=order.sizes["topic"])
    has_strata = np.isin(np.arange(order.sizes["topic"]), table["topic"])
    n_extensions = int(stratum_extension(order).max())
    pairs, stratum, added = [], [], []
    for topic, of_topic, size in zip(
        topic_of, documents, sizes(rankings, documents, shares), strict=True
    ):
        new = np.flatnonzero(row[of_topic] < 0)
        if not new.size:
            continue
        by_size = new[np.argsort(-size[new], kind="stable")]
        share = float(size[new].sum() / size.sum())
        number = round(share * int(n_strata[topic] or parameters["n_strata"]))
        parts = equal_parts(size[by_size], max(number, 1))
        extension = n_extensions + 1 if has_strata[topic] else 0  # a topic that begins now
        stratum += (len(table) + len(added) + np.repeat(np.arange(parts.size), parts)).tolist()
        pairs += of_topic[by_size].tolist()
        added += [(part, 0, extension, topic) for part in parts]
    added = pd.DataFrame(added, columns=table.columns, dtype=np.int64)
    return np.array(pairs, dtype=np.int64), np.array(stratum, dtype=np.int64), added


def equal_parts(size: Floats, n_parts: int) -> NDArray[np.int64]:
    """Numbers of documents, by falling size, that have about the same total size.

    A document as large as a part is one by itself; the rest is shared out again.

    Examples
    --------
    >>> equal_parts(np.array([5.0, 1.0, 1.0, 1.0, 1.0]), 3)
    array([1, 2, 2])
    """
    n_parts = min(n_parts, size.size)
    cumulative = np.concatenate([[0.0], np.cumsum(size)])
    middle = 0.5 * (cumulative[1:] + cumulative[:-1])
    edges = [0]
    for remaining in range(n_parts, 1, -1):
        first, last = edges[-1] + 1, size.size - remaining + 1  # a document for each of the others
        goal = cumulative[edges[-1]] + (cumulative[-1] - cumulative[edges[-1]]) / remaining
        edges.append(int(np.clip(np.searchsorted(middle, goal), first, last)))
    return np.diff([*edges, size.size]) if size.size else np.zeros(0, dtype=np.int64)
