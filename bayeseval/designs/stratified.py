"""Stratified designs: equal numbers of judgments from uniform or exponentially growing strata."""

import warnings
from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_whole_numbers, generator
from bayeseval.collection.schema import strata
from bayeseval.designs.prepared import Budget, labelled_design, prepared_frame
from bayeseval.messages import Message, Option


def pps_strata(
    collection: xr.DataTree,
    *,
    budget: Budget,
    n_strata: int = 20,
    frame: str | xr.DataArray | None = None,
    pool_depth: int | None = None,
    certain: xr.DataArray | None = None,
    runs: list[str] | None = None,
    labels: str | Sequence[str] = (),
) -> xr.Dataset:
    r"""Design that samples about proportionally to size: exponential strata in fused-rank order.

    Per topic, the documents of the frame are ordered by reciprocal-rank fusion of the contributing
    runs and cut into strata of sizes :math:`|S_i| = \lfloor s (1 + \alpha)^i \rfloor`, the last one
    taking the rest; :math:`\alpha` is the smallest rate that covers the frame and s the number
    drawn per stratum. Equal numbers are drawn from every stratum without replacement, so the
    inclusion probability n / \|S_i\| falls from 1 at the top to its least at the bottom.

    Parameters
    ----------
    collection : DataTree
        Rankings, and judgments when the frame is the judged pairs.
    budget : int, or dict, Series or DataArray by topic
        Judgments per topic, certain pairs included. A budget that does not divide by the number of
        strata spreads its remainder from the top stratum down; a topic with fewer documents than
        the budget is judged in full.
    n_strata : int
        Strata per topic; fewer, with a warning, where the budget has no judgment for each.
    frame : {"judged", "retrieved"} or bool DataArray (pair,), optional
        Pairs that can be judged. Default: the judged pairs where the collection has judgments and
        no design, else everything that a contributing run retrieved.
    pool_depth : int, optional
        Keep in the frame only what a contributing run ranks at this depth or above.
    certain : bool DataArray (pair,), optional
        Pairs judged with probability 1, inside the frame or not; each topic's form a stratum of
        their own. They may be the judgments of an old pool or of an earlier sample: given these,
        estimates are as unbiased as ever.
    runs : list of str, optional
        Runs that shape the design instead of the contributing ones.
    labels : str or list of str, optional
        Labels of :func:`bayeseval.add_predictions` that move documents in the order. A model that
        is fitted to the sample needs them too (``external=``).

    Returns
    -------
    Dataset
        ``inclusion_probability`` and ``stratum`` over pair; ``stratum_size``,
        ``stratum_sample_size`` and ``stratum_topic`` over stratum_id.

    Raises
    ------
    ValueError
        Empty frame, no contributing run, as many certain pairs as the budget or more while others
        could be judged, nothing but certain pairs in a frame of judged ones.

    References
    ----------
    Cormack and Grossman, "Unbiased low-variance estimators for precision", SIGIR 2019, section 4,
    doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": [f"d{i}" for i in range(9)]})
    >>> collection = be.read_collection(None, run.assign(score=range(9)))
    >>> design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    >>> design.stratum_size.values, design.stratum_sample_size.values
    (array([2, 7]), array([2, 2]))

    Four documents on top of what is judged:

    >>> qrels = pd.DataFrame({"topic": "1", "document": ["d5", "d8"], "grade": [0, 1]})
    >>> collection = be.read_collection(qrels, run.assign(score=range(9)))
    >>> judged = collection["judgments/grade"].notnull()
    >>> design = be.designs.pps_strata(
    ...     collection, budget={"1": 2 + 4}, n_strata=2, frame="retrieved", certain=judged
    ... )
    >>> design.stratum_size.values, design.stratum_sample_size.values
    (array([2, 2, 5]), array([2, 2, 2]))
    """
    check_whole_numbers(1, n_strata=n_strata)
    start = prepared_frame(collection, budget, frame, pool_depth, certain, runs, labels)

    def strata_of(documents, budget, number):
        return documents, exponential_sizes(documents.size, number, max(1, -(-budget // number)))

    return _stratified(collection, start, strata_of, "pps_strata", n_strata)


def uniform_strata(
    collection: xr.DataTree,
    *,
    budget: Budget,
    n_strata: int = 20,
    frame: str | xr.DataArray | None = None,
    pool_depth: int | None = None,
    certain: xr.DataArray | None = None,
    runs: list[str] | None = None,
    random_seed: int | None,
) -> xr.Dataset:
    r"""Design with equal probabilities: a random permutation of the frame cut into equal strata.

    Every document of a topic has inclusion probability close to budget / \|frame\| (equal where the
    numbers divide). The strata serve cross-fitting: each is held out in turn.

    Parameters
    ----------
    collection, budget, n_strata, frame, pool_depth, certain, runs
        As for :func:`pps_strata`.
    random_seed : int or None
        Seed of the permutation; the design is random, the sample is drawn later by ``draw``.

    Returns
    -------
    Dataset
        As for :func:`pps_strata`.

    Raises
    ------
    ValueError
        As for :func:`pps_strata`.

    References
    ----------
    Cormack and Grossman (2019), section 3, doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": [f"d{i}" for i in range(9)]})
    >>> collection = be.read_collection(None, run.assign(score=range(9)))
    >>> design = be.designs.uniform_strata(collection, budget=6, n_strata=3, random_seed=1)
    >>> design.inclusion_probability.values.round(2)
    array([0.67, 0.67, 0.67, 0.67, 0.67, 0.67, 0.67, 0.67, 0.67])
    """
    check_whole_numbers(1, n_strata=n_strata)
    start = prepared_frame(collection, budget, frame, pool_depth, certain, runs)
    random = generator(random_seed)

    def strata_of(documents, budget, number):
        return random.permutation(np.sort(documents)), equal_sizes(documents.size, number)

    design = _stratified(collection, start, strata_of, "uniform_strata", n_strata)
    return design if random_seed is None else design.assign_attrs(seed=int(random_seed))


def _stratified(collection, start, strata_of, name, n_strata) -> xr.Dataset:
    """Assemble the design: certain pairs first, then the strata of each topic."""
    budgets = start["budgets"] - np.array([pairs.size for pairs in start["certain"]])
    n_used = np.clip(budgets, 1, n_strata)
    warn_of_fewer(n_used, n_strata)
    stratum = np.full(collection.sizes["pair"], -1, dtype=np.int32)
    sizes, drawn, topics = [], [], []
    for topic, (certain, rest) in enumerate(zip(start["certain"], start["rest"], strict=True)):
        budget = int(budgets[topic])
        documents, topic_sizes = strata_of(rest, budget, int(n_used[topic]))
        topic_sizes, topic_drawn = without_lone_draw(topic_sizes, allocated(topic_sizes, budget))
        if certain.size:
            documents = np.concatenate([certain, documents])
            topic_sizes = np.concatenate([[certain.size], topic_sizes])
            topic_drawn = np.concatenate([[certain.size], topic_drawn])
        stratum[documents] = len(sizes) + np.repeat(np.arange(topic_sizes.size), topic_sizes)
        sizes.extend(topic_sizes)
        drawn.extend(topic_drawn)
        topics.extend([topic] * topic_sizes.size)
    variables = strata(stratum, sizes, drawn, topics)
    parameters = start["parameters"] | {"n_strata": int(n_used.max())}
    return labelled_design(collection, variables, "stratified", name, parameters)


class FewerStrata(UserWarning):
    """There are fewer strata than ``n_strata``."""


def warn_of_fewer(n_used: np.ndarray, n_strata: int) -> None:
    """Warn that there are fewer strata than ``n_strata``: each needs a judgment."""
    fewer = n_used < n_strata
    if fewer.any():
        where = "" if fewer.all() else f" in {int(fewer.sum())} of {fewer.size} topics"
        warnings.warn(
            Message(
                Option("n_strata"),
                f" is {n_strata}, and shrinks to {n_used.min()}{where}: the budget has no judgment "
                "for each of more strata",
            ),
            FewerStrata,
            stacklevel=4,
        )


def exponential_sizes(n_documents: int, n_strata: int, smallest: int) -> np.ndarray:
    """Sizes of strata that grow exponentially and cover ``n_documents``.

    |S_i| = floor(s (1 + a)^i) for all strata but the last, which takes the rest; s = ``smallest``
    and a is the smallest growth rate with sum_i floor(s (1 + a)^i) >= n_documents. Where strata of
    size s already cover the documents there is no growth: strata of size s until the documents are
    used up.

    References
    ----------
    Cormack and Grossman (2019), Unbiased low-variance estimators, section 4, without the stray
    factor s in the sum and with the last size read as |S_(N-1)|.
    """
    if n_documents <= n_strata * smallest:
        full, rest = divmod(n_documents, smallest)
        return np.array([smallest] * full + [rest] * (rest > 0), dtype=np.int64)
    if n_strata == 1:
        return np.array([n_documents], dtype=np.int64)
    power = np.arange(n_strata)

    def sizes(growth):
        return np.floor(smallest * (1.0 + growth) ** power)

    low, high = 0.0, 1.0
    while sizes(high).sum() < n_documents:
        high *= 2.0
    while high - low > 1e-13 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if sizes(middle).sum() >= n_documents else (middle, high)
    cumulative = np.minimum(np.cumsum(sizes(high)[:-1]), n_documents)
    return np.diff(np.concatenate([[0.0], cumulative, [n_documents]])).astype(np.int64)


def equal_sizes(n_documents: int, n_strata: int) -> np.ndarray:
    """Sizes of ``n_strata`` strata as equal as can be, larger ones first, none empty."""
    base, rest = divmod(n_documents, n_strata)
    sizes = np.full(n_strata, base, dtype=np.int64)
    sizes[:rest] += 1
    return sizes[sizes > 0]


def allocated(sizes: np.ndarray, budget: int) -> np.ndarray:
    """How many documents to draw from each stratum: equal numbers, the remainder from the top down.

    A stratum never gives more than it holds; what it cannot give goes to the others, top first, so
    that exactly min(budget, sum of sizes) documents are drawn.
    """
    drawn = np.zeros(sizes.size, dtype=np.int64)
    left = min(budget, int(sizes.sum()))
    while left > 0:
        room = np.flatnonzero(drawn < sizes)
        share = left // room.size
        if share == 0:
            drawn[room[:left]] += 1
            break
        step = np.minimum(share, sizes[room] - drawn[room])
        drawn[room] += step
        left -= int(step.sum())
    return drawn


def without_lone_draw(sizes: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strata joined where the only one that is not judged in full has a single draw.

    A single draw gives no estimate of the variance: the stratum is joined with the one before it
    (the first one with the one after it).
    """
    partly = np.flatnonzero(drawn < sizes)
    if sizes.size < 2 or partly.size != 1 or drawn[partly[0]] != 1:
        return sizes, drawn
    first = max(int(partly[0]) - 1, 0)
    starts = np.delete(np.arange(sizes.size), first + 1)
    return np.add.reduceat(sizes, starts), np.add.reduceat(drawn, starts)
