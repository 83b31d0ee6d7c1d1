"""One random order of each topic: strata by size, shuffled, the next document of each in turn."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_seed
from bayeseval.collection.labels import label_positions
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
from bayeseval.designs.prepared import Budget, fused_documents, labelled_design, prepared_frame
from bayeseval.designs.sizes import Floats, sizes, variance_shares
from bayeseval.frame.rankings import Rankings, contributing_runs, frame_mask

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
        What the sample is for: the measures named share .6 of the variances, AP has .25. By
        default the sample is good for all.
    budget : int, or dict, Series or DataArray by topic, optional
        Judgments per topic, certain pairs included, to begin with: so many of the list count as
        sampled until judgments say how far it was judged. Below 40 there are budget // 2 strata.
        By default the whole list.
    random_seed : int or None
        Seed of the order. The same document has the same place whatever else is in the list of
        its stratum.

    Returns
    -------
    Dataset
        As for :func:`pps_strata`, and ``place(pair)``, the place of a document in its stratum from
        1, and ``judging_order(pair)``, that in the topic's list; 0 outside the list.

    Raises
    ------
    ValueError
        As for :func:`pps_strata`; measures that nobody knows.

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
    sure = np.zeros(stratum.size, dtype=bool)
    sure[np.concatenate(start["certain"])] = True
    variables = strata(stratum, size, size, topics)
    parameters = start["parameters"] | {
        "budget": None if budget is None else start["parameters"]["budget"],
        "measures": None if measures is None else [measure.label for measure, _ in shares[:-2]],
        "n_strata": n_used,
    }
    design = labelled_design(collection, variables, "stratified", "order", parameters)
    design = shuffled(design.assign_attrs(seed=seed), (stratum >= 0) & ~sure, seed)
    return design if budget is None else judged_to(design, beginning(design, start["budgets"]))


def extend(
    order: xr.Dataset, collection: xr.DataTree, *, runs: list[str] | None = None
) -> xr.Dataset:
    r"""Order with the documents of later runs, in strata of their own.

    The documents of the frame that are new are cut by size into strata whose total size is about
    that of a topic's strata so far, at least one, and shuffled. Nothing that was in the list
    changes its place in its stratum. Until a new stratum has a judgment its documents are outside
    the frame; it should be judged to as many rounds as the topic has.

    Parameters
    ----------
    order : Dataset
        A design of :func:`order`, as it was made or extended before.
    collection : DataTree
        All runs, those that made the order and later ones.
    runs : list of str, optional
        Runs whose documents are added; by default those that contributed.

    Returns
    -------
    Dataset
        As for :func:`order`, over the pairs of the collection, and
        ``stratum_extension(stratum_id)``: 0 of the strata that were there, 1 of those of the first
        extension.

    Raises
    ------
    ValueError
        A design that is no order, a collection without its topics or documents.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": [f"d{i}" for i in range(9)]})
    >>> first = be.read_collection(None, run.assign(score=range(9)))
    >>> design = be.designs.order(first, budget=4, random_seed=1)
    >>> later = pd.DataFrame({"run": "b", "topic": "1", "document": ["d8", "e1", "e2"]})
    >>> both = be.add_runs(first, later.assign(score=[3, 2, 1]))
    >>> extended = be.designs.extend(design, both)
    >>> extended.stratum_size.values, extended.stratum_sample_size.values
    (array([4, 5, 2]), array([2, 2, 0]))
    """
    check_collection(collection)
    check_order(order)
    parameters = design_parameters(order)
    known = np.isin(collection["run"].to_numpy(), parameters["runs"])
    later = np.union1d(np.flatnonzero(known), contributing_runs(collection, runs))
    rule = parameters["frame"] if parameters["frame"] == "judged" else "retrieved"
    mask, _ = frame_mask(collection, rule, parameters["pool_depth"], later)
    row = design_rows(collection, order)
    before = np.where(row >= 0, order["stratum"].to_numpy()[row], -1)
    missing = int((order["stratum"] >= 0).sum()) - np.count_nonzero(before >= 0)
    if missing:
        raise ValueError(
            f"{missing} documents of the order are not in the collection; give it the runs that "
            "made the order and the later ones"
        )
    listed = (before >= 0) & in_list(order)[row]
    here = np.isin(collection["topic"].to_numpy(), order["topic"].to_numpy())
    new = mask & (before < 0) & here[collection["pair_topic"].to_numpy()]
    documents = fused_documents(collection, listed | new, later, parameters.get("labels", []))
    shares = variance_shares(parameters["measures"])
    by_topic = sizes(Rankings.of(collection, later), documents, shares)
    topic_of = label_positions(collection["topic"], order["topic"])[order["stratum_topic"]]
    columns = {"size": order["stratum_size"], "drawn": order["stratum_sample_size"]}
    columns |= {"extension": stratum_extension(order), "topic": topic_of}
    table = pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})
    added = []
    for topic, (pairs, size) in enumerate(zip(documents, by_topic, strict=True)):
        if not new[pairs].any():
            continue
        n_strata = np.unique(before[pairs[listed[pairs]]]).size
        share = size[new[pairs]].sum() / size[listed[pairs]].sum() if n_strata else 1.0
        fresh = pairs[new[pairs]][np.argsort(-size[new[pairs]], kind="stable")]
        parts = equal_parts(np.sort(size[new[pairs]])[::-1], max(round(share * n_strata), 1))
        before[fresh] = len(table) + len(added) + np.repeat(np.arange(parts.size), parts)
        added += [(part, 0, table["extension"].max() + 1, topic) for part in parts]
    table = pd.concat([table, pd.DataFrame(added, columns=table.columns)], ignore_index=True)
    by_topics = np.argsort(table["topic"], kind="stable")  # strata of a topic stand in a row
    stratum = np.append(np.argsort(by_topics), -1)[before]
    table = table.iloc[by_topics]
    variables = strata(stratum, table["size"], table["drawn"], table["topic"])
    variables["stratum_extension"] = ("stratum_id", table["extension"].to_numpy())
    parameters = parameters | {"runs": collection["run"].to_numpy()[later].tolist()}
    design = labelled_design(collection, variables, "stratified", "order", parameters)
    seed = order.attrs["seed"]
    return shuffled(design.assign_attrs(seed=seed), listed | new, seed)


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
    edges = [0]
    for remaining in range(n_parts, 1, -1):
        first, last = edges[-1] + 1, size.size - remaining + 1  # a document for each of the others
        goal = cumulative[edges[-1]] + (cumulative[-1] - cumulative[edges[-1]]) / remaining
        nearest = np.searchsorted(0.5 * (cumulative[1:] + cumulative[:-1]), goal)
        edges.append(int(np.clip(nearest, first, last)))
    return np.diff([*edges, size.size]) if size.size else np.zeros(0, dtype=np.int64)
