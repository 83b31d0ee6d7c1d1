"""Pools that follow the judgments: hedge, move-to-front, and the next documents of either."""

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.designs.pooling import (
    followed_frame,
    grades_so_far,
    ordered_design,
    simulated_relevance,
)
from bayeseval.designs.prepared import Budget


def hedge(
    collection: xr.DataTree,
    budget: Budget,
    *,
    learning_rate: float = 0.1,
    list_length: int | None = None,
    frame: str | xr.DataArray | None = None,
    pool_depth: int | None = None,
    relevance_level: int = 1,
    runs: list[str] | None = None,
) -> xr.Dataset:
    r"""Pool that the online Hedge algorithm would judge, simulated on the grades of a collection.

    Each run s has the weight :math:`w_s = \beta^{L_s}`, where :math:`L_s` sums its losses over the
    documents judged so far,

    .. math:: \ell_s(d) = \tfrac{1}{2} (-1)^{rel(d)} \ln \frac{Z}{rank_s(d)}

    with Z the length of the list. Next is judged the document with the largest weighted loss if it
    were not relevant, :math:`\sum_s w_s \ln (Z / rank_s(d))`; ties by document id descending.

    The loss follows average precision: the sum of the precisions at all ranks is nearly
    :math:`\sum_d rel(d) \ln (Z / rank(d))`.

    Parameters
    ----------
    collection : DataTree
        Rankings and the judgments taken as the truth; a pair of the frame without a grade counts
        as non-relevant, with a warning where the judgments are a random sample.
    budget : int, or mapping, Series or DataArray (topic,)
        Judgments per topic; fewer are made where the runs have fewer documents in the frame.
    learning_rate : float
        The paper's :math:`\beta`, in (0, 1): the smaller, the faster the best runs take over.
    list_length : int, optional
        Z, one for all topics; a document that a run does not rank above Z then costs it nothing.
        Default: the number of documents that some run retrieves for the topic. A document that a
        run does not retrieve costs it the mean of :math:`\ln (Z / rank)` over the ranks from the
        end of its list to Z.
    relevance_level : int
        Least grade that counts as relevant.
    frame, pool_depth, runs
        As for :func:`pps_strata`.

    Returns
    -------
    Dataset
        ``inclusion_probability`` 1 in the pool and 0 outside, scheme "deterministic", and
        ``judging_order(pair)``: 1, 2, ... within each topic, 0 outside the pool.

    Raises
    ------
    ValueError
        No judgments, a rate outside (0, 1), a budget or length below 1, an empty frame, no
        contributing run.

    Notes
    -----
    Estimand, with estimator "assumed": the score under complete judgments. Nothing is random, so
    there is no design variance and neither ``stat`` nor ``dyn``. Unbiased only where every relevant
    document that counts was judged. What breaks it: runs that did not form the pool, and runs whose
    relevant documents the leading runs do not rank high. Cost: runs x depth per judgment.

    The value of documents that a run does not retrieve is our reading of the papers;
    ``list_length`` is the way to another.

    References
    ----------
    J. A. Aslam, V. Pavlu and R. Savell, "A unified model for metasearch, pooling, and system
    evaluation", CIKM 2003, doi:10.1145/956863.956953; the same, "A unified model for metasearch and
    the efficient evaluation of retrieval systems via the Hedge algorithm", SIGIR 2003,
    doi:10.1145/860435.860517.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> runs = pd.DataFrame({"run": list("aaabbb"), "topic": "1", "document": list("uvwxyz")})
    >>> qrels = runs[["topic", "document"]].assign(grade=[0, 0, 0, 1, 1, 0])
    >>> collection = be.read_collection(qrels, runs.assign(score=[3, 2, 1, 3, 2, 1]))
    >>> be.designs.hedge(collection, 3).judging_order.values
    array([0, 0, 0, 1, 2, 3], dtype=int32)
    """
    check_rate(learning_rate, list_length)
    start = followed_frame(collection, budget, frame, pool_depth, runs)
    relevant = simulated_relevance(collection, relevance_level, "hedge", start["frame"])
    known = np.zeros(relevant.size, dtype=bool)
    order = chosen_by_hedge(start, relevant, known, learning_rate, list_length, learn=True)
    parameters = start["parameters"] | {
        "learning_rate": float(learning_rate),
        "list_length": list_length if list_length is None else int(list_length),
        "relevance_level": float(relevance_level),
    }
    return ordered_design(collection, order, "hedge", parameters)


def move_to_front(
    collection: xr.DataTree,
    budget: Budget,
    *,
    variant: str = "local",
    frame: str | xr.DataArray | None = None,
    pool_depth: int | None = None,
    relevance_level: int = 1,
    runs: list[str] | None = None,
) -> xr.Dataset:
    r"""Pool that move-to-front would judge, simulated on the grades of a collection.

    Every run is a queue of its documents in the order of rank, with a priority that starts at the
    maximum. Again and again the next document of the queue with the highest priority is examined:
    if it is relevant, judged now or seen before in another run, the queue gets the maximum and
    goes on; if not, its priority falls by one. Documents seen before cost nothing.

    Where several queues have the highest priority: the one examined least so far, then the first
    in the collection's order of runs. The paper leaves the step of the fall and the ties open.

    ``variant="local"`` gives every topic its own queues and `budget` judgments; ``"global"`` lets
    all topics' queues compete for the sum of the budgets, so that topics with many relevant
    documents get more.

    Parameters
    ----------
    collection, budget, frame, pool_depth, relevance_level, runs
        As for :func:`bayeseval.designs.hedge`; pairs outside the frame are passed over.
    variant : {"local", "global"}
        Whether topics are pooled each by itself.

    Returns
    -------
    Dataset
        As for :func:`bayeseval.designs.hedge`.

    Raises
    ------
    ValueError
        No judgments, an unknown variant, a budget below 1, an empty frame, no contributing run.

    Notes
    -----
    Estimand, with estimator "assumed": the score under complete judgments. Nothing is random, so
    there is no design variance and neither ``stat`` nor ``dyn``. Unbiased only where every relevant
    document that counts was judged. What breaks it: runs that did not form the pool, and runs whose
    relevant documents others do not rank high. Cost: every choice looks at all queues, runs (or
    runs x topics) times documents examined.

    References
    ----------
    G. V. Cormack, C. R. Palmer and C. L. A. Clarke, "Efficient construction of large test
    collections", SIGIR 1998, section 6, doi:10.1145/290941.291009.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> runs = pd.DataFrame({"run": list("aaabbb"), "topic": "1", "document": list("uvwxyz")})
    >>> qrels = runs[["topic", "document"]].assign(grade=[0, 0, 0, 1, 1, 0])
    >>> collection = be.read_collection(qrels, runs.assign(score=[3, 2, 1, 3, 2, 1]))
    >>> be.designs.move_to_front(collection, 4).judging_order.values
    array([1, 0, 0, 2, 3, 4], dtype=int32)
    """
    check_choice("variant", variant, ("local", "global"))
    start = followed_frame(collection, budget, frame, pool_depth, runs)
    relevant = simulated_relevance(collection, relevance_level, "move_to_front", start["frame"])
    order = walked(start, relevant, np.zeros(relevant.size, dtype=bool), variant)
    parameters = start["parameters"] | {
        "variant": variant,
        "relevance_level": float(relevance_level),
    }
    return ordered_design(collection, order, "move_to_front", parameters)


def next_documents(
    collection: xr.DataTree,
    n_documents: Budget,
    *,
    method: str = "hedge",
    learning_rate: float = 0.1,
    list_length: int | None = None,
    frame: str | xr.DataArray = "retrieved",
    pool_depth: int | None = None,
    relevance_level: int = 1,
    runs: list[str] | None = None,
) -> xr.Dataset:
    """Documents to judge next, given the judgments so far.

    A pool that follows the judgments is built by asking, judging and asking again. Asked for one
    document per topic at a time, this gives the pools of :func:`bayeseval.designs.hedge` and
    :func:`bayeseval.designs.move_to_front`; larger batches learn less often. Within a batch the
    weights of hedge stay as they are, and to move-to-front a document of the batch counts as
    non-relevant.

    Parameters
    ----------
    collection : DataTree
        Rankings, and the judgments so far; none to begin with.
    n_documents : int, or mapping or DataArray (topic,)
        Size of the batch for each topic; a topic that runs out of documents gets fewer.
    method : {"hedge", "move_to_front"}
        The second is local: every topic has its own queues.
    learning_rate, list_length
        As for :func:`bayeseval.designs.hedge`; move-to-front has neither.
    frame : {"retrieved", "judged"} or bool DataArray (pair,)
        Pairs that can be judged.
    pool_depth, relevance_level, runs
        As for :func:`bayeseval.designs.hedge`.

    Returns
    -------
    Dataset
        The batch as a design: ``inclusion_probability`` 1 in the batch and 0 outside, scheme
        "deterministic", ``judging_order(pair)`` 1, 2, ... within each topic, 0 outside the batch.

    Raises
    ------
    ValueError
        An unknown method, a batch below 1, a rate outside (0, 1), replicates of judgments.

    Notes
    -----
    :func:`bayeseval.designs.to_judge` gives the list for the assessors, in this order. For scores
    with intervals use the stages of a random sample, :func:`bayeseval.designs.dynamic_stage`.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> runs = pd.DataFrame({"run": list("aaabbb"), "topic": "1", "document": list("uvwxyz")})
    >>> known = pd.DataFrame({"topic": ["1", "1"], "document": ["u", "x"], "grade": [0, 1]})
    >>> collection = be.read_collection(known, runs.assign(score=[3, 2, 1, 3, 2, 1]))
    >>> batch = be.designs.next_documents(collection, 2)
    >>> batch.document.values[batch.judging_order.values.argsort()[-2:]]
    array(['y', 'z'], dtype='<U1')
    """
    check_choice("method", method, ("hedge", "move_to_front"))
    check_rate(learning_rate, list_length)
    start = followed_frame(collection, n_documents, frame, pool_depth, runs)
    grade = grades_so_far(collection, "next_documents")
    check_whole_numbers(1, relevance_level=relevance_level)
    relevant, known = grade >= relevance_level, ~np.isnan(grade)
    if method == "hedge":
        order = chosen_by_hedge(start, relevant, known, learning_rate, list_length, learn=False)
    else:
        order = walked(start | {"frame": start["frame"] | known}, relevant, known)
    parameters = start["parameters"] | {"method": method, "n_known": int(known.sum())}
    return ordered_design(collection, order, "next_documents", parameters)


def check_rate(learning_rate: float, list_length: int | None) -> None:
    """Refuse a rate or a length out of range."""
    if not 0.0 < learning_rate < 1.0:
        raise ValueError(f"learning_rate must lie between 0 and 1, both excluded: {learning_rate}")
    if list_length is not None:
        check_whole_numbers(1, list_length=list_length)


def chosen_by_hedge(start, relevant, known, learning_rate, list_length, *, learn) -> np.ndarray:
    """Positions of the pairs to judge, in order, given what is known already."""
    from bayeseval.designs.pooling_kernel import hedge_walk

    rankings = start["rankings"]
    order = []
    for topic, first, last in rankings.topics():
        ranking = rankings.local(topic)
        value, missed = loss_sizes(ranking, list_length)
        chosen = hedge_walk(
            ranking,
            value,
            missed,
            start["frame"][first:last],
            relevant[first:last],
            known[first:last],
            np.log(learning_rate),
            int(start["budgets"][topic]),
            learn,
        )
        order.append(first + chosen)
    return np.concatenate(order)


def loss_sizes(ranking: np.ndarray, list_length: int | None) -> tuple[np.ndarray, np.ndarray]:
    """ln(Z / rank) at each rank (rank,), and the value of unretrieved documents (run,).

    Z is the length of the list; where it is None, the number of different documents. Values are
    never negative, and no rank has a lower value than an unretrieved document of the run.
    """
    from scipy.special import gammaln

    rank = np.arange(1, ranking.shape[1] + 1)
    if list_length is not None:
        return np.log(list_length / np.minimum(rank, list_length)), np.zeros(len(ranking))
    length = max(np.unique(ranking[ranking >= 0]).size, 1)
    end = np.where(ranking >= 0, rank, 0).max(axis=1)
    below = np.maximum(length - end, 0)
    total = gammaln(length + 1.0) - gammaln(end + 1.0)  # of ln rank over the ranks below the end
    missed = np.log(length) - total / np.maximum(below, 1)
    return np.log(length / np.minimum(rank, length)), np.where(below > 0, missed, 0.0)


def walked(
    start: dict, relevant: np.ndarray, known: np.ndarray, variant: str = "local"
) -> np.ndarray:
    """Positions of the pairs to judge, in order: those that the walk meets and are not known."""
    from bayeseval.designs.pooling_kernel import move_to_front_walk

    ranking, frame, budgets = start["rankings"].pair, start["frame"], start["budgets"]
    if variant == "global":
        queues = ranking.reshape(-1, ranking.shape[-1])
        return move_to_front_walk(queues, frame, relevant, known, int(budgets.sum()))
    return np.concatenate(
        [
            move_to_front_walk(ranking[:, topic], frame, relevant, known, int(n_documents))
            for topic, n_documents in enumerate(budgets)
        ]
    )
