"""What to judge next, with an assessor at the other end."""

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.designs.hedge import check_rate, chosen_by_hedge
from bayeseval.designs.move_to_front import walked
from bayeseval.designs.pooling import followed_frame, grades_so_far, ordered_design
from bayeseval.designs.prepared import Budget


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
    What the pool as a whole is good for: see the two functions named above. The list for the
    assessors, in this order: :func:`bayeseval.designs.to_judge`. For scores with intervals ask for
    the stages of a random sample instead: :func:`bayeseval.designs.dynamic_stage`.

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
