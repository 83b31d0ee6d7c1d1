"""Stratified designs: equal numbers of judgments from uniform or exponentially growing strata."""

import json
import warnings
from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_whole_numbers, generator
from bayeseval.collection.schema import strata
from bayeseval.designs.prepared import Budget, prepared_frame
from bayeseval.designs.strata import allocated, equal_sizes, exponential_sizes, without_lone_draw
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
        Labels of :func:`bayeseval.add_predictions` by which the order goes beside the ranks, each
        place halved for the best labelled and doubled for the worst: what an LLM takes for relevant
        is likelier to be judged. A model that is fitted to the sample needs them too
        (``external=``).

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
    G. V. Cormack and M. R. Grossman, "Unbiased low-variance estimators for precision and related
    information retrieval effectiveness measures", SIGIR 2019, section 4,
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

    def strata_of(documents, left, number):
        return documents, exponential_sizes(documents.size, number, max(1, -(-left // number)))

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

    def strata_of(documents, left, number):
        return random.permutation(np.sort(documents)), equal_sizes(documents.size, number)

    design = _stratified(collection, start, strata_of, "uniform_strata", n_strata)
    return design if random_seed is None else design.assign_attrs(seed=int(random_seed))


def _stratified(collection, start, strata_of, name, n_strata) -> xr.Dataset:
    """Assemble the design: certain pairs first, then the strata of each topic."""
    left_over = start["budgets"] - np.array([pairs.size for pairs in start["certain"]])
    n_used = np.clip(left_over, 1, n_strata)
    warn_of_fewer(n_used, n_strata)
    stratum = np.full(collection.sizes["pair"], -1, dtype=np.int32)
    sizes, drawn, topics = [], [], []
    for topic, (certain, rest) in enumerate(zip(start["certain"], start["rest"], strict=True)):
        left = int(left_over[topic])
        documents, topic_sizes = strata_of(rest, left, int(n_used[topic]))
        topic_sizes, topic_drawn = without_lone_draw(topic_sizes, allocated(topic_sizes, left))
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
    """Strata are fewer than was asked for, or than the default."""


def warn_of_fewer(n_used: np.ndarray, n_strata: int) -> None:
    """Say that strata are fewer than asked for, for every stratum needs a judgment."""
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


def labelled_design(collection, variables, scheme: str, name: str, parameters) -> xr.Dataset:
    """Dataset of a design with the labels of the collection's pairs."""
    coords = {
        "topic": ("topic", collection["topic"].to_numpy()),
        "document": ("pair", collection["document"].to_numpy()),
        "pair_topic": ("pair", collection["pair_topic"].to_numpy()),
    }
    attrs = {"scheme": scheme, "name": name, "parameters": json.dumps(parameters)}
    return xr.Dataset(variables, coords=coords, attrs=attrs)
