"""Move-to-front pooling: judge the next document of the run that did best of late."""

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_choice
from bayeseval.designs.pooling import followed_frame, ordered_design, simulated_relevance
from bayeseval.designs.prepared import Budget


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
    relevant documents others do not rank high; see ``benchmarks/pooling_round5.py``. Cost: every
    choice looks at all queues, runs (or runs x topics) times documents examined.

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
