"""Drawing a sample from a design, and the list of its documents for the assessors."""

import itertools
import warnings
import zlib

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import check_collection, pair_positions, topic_starts
from bayeseval.collection.choices import check_seed, check_whole_numbers
from bayeseval.collection.labels import alike_document, pair_names
from bayeseval.collection.schema import design_parameters
from bayeseval.designs.judging_list import (
    before_gaps,
    beginning,
    certain_pairs,
    in_list,
    is_order,
    judged_to,
    rounds,
    stratum_extension,
)
from bayeseval.designs.placing import check_design, design_rows, own_sample
from bayeseval.designs.prepared import Budget, topic_budgets
from bayeseval.messages import counted


def draw(
    design: xr.Dataset,
    *,
    budget: Budget | None = None,
    n_replicates: int | None = None,
    n_draws: int | None = None,
    random_seed: int | None = None,
) -> xr.DataArray:
    """Pairs to judge: one sample of a design, or many.

    Stratified designs draw exactly ``stratum_sample_size`` pairs of each stratum without
    replacement, all subsets equally likely; Poisson designs select each pair on its own;
    deterministic designs always give the same pairs. Designs with replacement draw, in every topic,
    until they have as many distinct pairs as the budget (or all pairs that can be drawn); the
    result is how often each pair was drawn. The sample of an order is the beginning of every
    topic's list. With a seed or replicates its strata are shuffled again, independently in each
    replicate; with the same seed a larger budget goes on with the same lists.

    Parameters
    ----------
    design : Dataset
        A design of :mod:`bayeseval.designs`.
    budget : int, or dict, Series or DataArray by topic, optional
        Orders alone: judgments per topic, certain pairs included. Default: the order's own budget.
    n_replicates : int, optional
        Draw that many independent samples, along a dim ``replicate``.
    n_draws : int, optional
        Designs with replacement alone: draw exactly that many times in every topic, whatever number
        of distinct pairs that gives. Then the estimates of single draws are exactly unbiased.
    random_seed : int, optional
        Seed; kept in attrs. With ``certain`` pairs in the design it gives another sample for each
        set of them, so that one seed may serve for a sample and for its extension.

    Returns
    -------
    DataArray
        bool (pair,), or (replicate, pair), named ``selected``; for designs with replacement the
        int64 ``draw_count`` of each pair.

    Raises
    ------
    ValueError
        ``n_replicates`` or ``n_draws`` below 1, a negative seed, ``n_draws`` or ``budget`` for
        another scheme, an order without a budget;
        a design that cannot be drawn from because only its sampled pairs are listed (prels, probs).

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdef")})
    >>> collection = be.read_collection(None, run.assign(score=range(6)))
    >>> design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    >>> be.draw(design, n_replicates=3, random_seed=1).sum("pair").values
    array([4, 4, 4])
    """
    for name, number in (("n_replicates", n_replicates), ("n_draws", n_draws)):
        if number is not None:
            check_whole_numbers(1, **{name: number})
    check_seed(random_seed)
    check_design(design)
    _check_scheme(design, n_draws)
    _check_no_budget(design, budget)
    if is_order(design):
        begun = beginning(design, _budgets(design, budget))
        if n_replicates is None and random_seed is None:
            return xr.DataArray(begun, dims="pair", name="selected")
        design = judged_to(design, begun)
    random = np.random.default_rng(_entropy(design, random_seed))
    if design.attrs["scheme"] == "with_replacement":
        drawn, name = _counts(design, n_replicates or 1, n_draws, random), "draw_count"
    else:
        drawn, name = np.zeros((n_replicates or 1, design.sizes["pair"]), dtype=bool), "selected"
        SELECTIONS[design.attrs["scheme"]](drawn, design, random)
    attrs = {} if random_seed is None else {"seed": int(random_seed)}
    if n_replicates is None:
        return xr.DataArray(drawn[0], dims="pair", name=name, attrs=attrs)
    return xr.DataArray(drawn, dims=("replicate", "pair"), name=name, attrs=attrs)


def to_judge(
    design: xr.Dataset,
    judged: xr.DataTree | pd.DataFrame | None = None,
    *,
    budget: Budget | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Sampled documents to judge, in random order within each topic.

    The order is independent of relevance, as it should be for an assessor. A pool that has an order
    of its own (``judging_order``) keeps it. The documents of a :func:`order` are listed in rounds.

    Parameters
    ----------
    design : Dataset
        A design with its sample, ``design.assign(selected=bayeseval.draw(design, ...))`` (with
        replacement ``draw_count``), a deterministic one, or an order.
    judged : DataTree or DataFrame (topic, document), optional
        Leave out the pairs that have a grade in this collection, or a row in this table. If the
        table has a column ``grade``, a row without a grade is not judged.
    budget : int, or dict, Series or DataArray by topic, optional
        Orders alone: judgments per topic in all, those of ``judged`` included. The default is the
        order's own budget, else the whole list. If the order has later runs and some pairs are
        ``judged``, it is the rounds of each topic that are judged whole.
    random_seed : int, optional
        Seed of the random order; the list of a :func:`order` has its own.

    Returns
    -------
    DataFrame
        Columns topic and document, topics in the order of the design. The list of a :func:`order`
        also has a column ``round``, and goes topic by topic within each round.

    Raises
    ------
    ValueError
        No sample, or replicates of one; a collection without judgments.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdef")})
    >>> collection = be.read_collection(None, run.assign(score=range(6)))
    >>> design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    >>> sample = design.assign(selected=be.draw(design, random_seed=1))
    >>> print(be.designs.to_judge(sample, random_seed=1).to_string(index=False))
    topic document
        1        e
        1        b
        1        f
        1        d
    """
    check_design(design)
    check_seed(random_seed)
    known = _judged_pairs(design, judged)
    _check_no_budget(design, budget)
    if is_order(design):
        return _listed(design, known, budget)
    sample = own_sample(design, "draw one, design.assign(selected=draw(design, random_seed=...))")
    if sample.ndim > 1:
        raise ValueError("the design has replicates of a sample; select one of them")
    pair = np.flatnonzero((sample.to_numpy() > 0) & ~known)
    topic = design["pair_topic"].to_numpy()[pair]
    if "judging_order" in design:
        within = design["judging_order"].to_numpy()[pair].astype(float)
    else:
        within = np.random.default_rng(random_seed).random(pair.size)
    return _table(design, pair[np.lexsort((within, topic))])


def _check_no_budget(design: xr.Dataset, budget: Budget | None) -> None:
    if budget is not None and not is_order(design):
        raise ValueError("budget is for orders; this design has a budget of its own")


def _judged_pairs(design: xr.Dataset, judged: xr.DataTree | pd.DataFrame | None) -> np.ndarray:
    """Pairs (pair,) of the design that are judged already."""
    known = np.zeros(design.sizes["pair"], dtype=bool)
    if judged is None:
        return known
    if isinstance(judged, pd.DataFrame):
        judged = judged.dropna(subset=[name for name in ("grade",) if name in judged])
        row = pair_positions(design, judged["topic"].astype(str), judged["document"].astype(str))
        stray = np.flatnonzero(row < 0)
        if stray.size:
            first = judged.iloc[stray[0]]
            raise ValueError(
                f"judged holds {counted(stray.size, 'document')} that the design does not have, "
                f"the first is topic '{first.topic}' document '{first.document}'"
                f"{alike_document(design, str(first.topic), str(first.document))}; are these the "
                "judgments of another list?"
            )
    else:
        check_collection(judged)
        if "judgments" not in judged.children:
            raise ValueError("judged has no judgments, so it does not show what is left to judge")
        grade = judged["judgments/grade"]
        if "replicate" in grade.dims:
            raise ValueError("judged holds replicates of a sample; select one of them")
        row = design_rows(judged, design)[grade.notnull().to_numpy()]
    known[row[row >= 0]] = True
    return known


def _listed(design: xr.Dataset, known: np.ndarray, budget: Budget | None) -> pd.DataFrame:
    """Rounds of an order's list, without the pairs that are judged."""
    topic, place = design["pair_topic"].to_numpy(), design["place"].to_numpy()
    skipping = known & ~before_gaps(design, known)
    if skipping.any():
        warnings.warn(
            f"{counted(int(skipping.sum()), 'judgment')} cannot count yet, because documents that "
            "come before in the list were skipped; these come first now",
            stacklevel=3,
        )
    pair = np.flatnonzero(in_list(design) & ~known)
    if budget is None and known.any() and stratum_extension(design).any():
        pair = pair[place[pair] <= rounds(design, known)[topic[pair]]]
    elif budget is not None or design_parameters(design)["budget"] is not None:
        pair = pair[np.lexsort((design["judging_order"].to_numpy()[pair], topic[pair]))]
        counts = np.bincount(topic[known | certain_pairs(design)], minlength=design.sizes["topic"])
        number = np.arange(pair.size) - np.searchsorted(topic[pair], topic[pair])
        pair = pair[number < (_budgets(design, budget) - counts)[topic[pair]]]
    order = np.lexsort((design["judging_order"].to_numpy()[pair], topic[pair], place[pair]))
    return _table(design, pair[order]).assign(round=place[pair[order]])


def _table(design: xr.Dataset, pair: np.ndarray) -> pd.DataFrame:
    """Labels of pairs."""
    topic, document = pair_names(design, pair)
    return pd.DataFrame({"topic": topic, "document": document})


def _budgets(design: xr.Dataset, budget: Budget | None) -> np.ndarray:
    """Judgments (topic,) of a budget, or of the order's own."""
    if budget is not None:
        return topic_budgets(design, budget)
    own = design_parameters(design)["budget"]
    if own is None:
        raise ValueError("the order has no budget of its own: say how many judgments with budget=")
    return np.broadcast_to(own, design.sizes["topic"])


def _entropy(design: xr.Dataset, random_seed: int | None) -> list[int] | None:
    """Seeds of a draw: a stream of its own (1), and another one for each set of certain pairs.

    The strata of a design may have been made with the same seed, and its certain pairs may be the
    sample of another design with it: the new sample must be independent of both.
    """
    if random_seed is None:
        return None
    if not design_parameters(design).get("n_certain"):
        return [random_seed, 1]
    certain = np.packbits(design["inclusion_probability"].to_numpy() == 1.0)
    return [random_seed, 1, zlib.crc32(certain.tobytes())]


def _check_scheme(design: xr.Dataset, n_draws: int | None) -> None:
    scheme = design.attrs["scheme"]
    known = sorted([*SELECTIONS, "with_replacement"])
    if scheme not in known:
        raise ValueError(
            f"a design of scheme '{scheme}' cannot be drawn from; schemes that can: "
            f"{', '.join(known)}"
        )
    if "stratum_stage" in design:
        raise ValueError(
            "the strata of a design drawn in stages follow its own judgments, so it cannot be "
            "drawn from again; begin again with dynamic_stage and another random_seed"
        )
    if scheme == "with_replacement":
        return
    if n_draws is not None:
        raise ValueError(
            f"n_draws is for designs with replacement, and this design is {scheme}; leave it out"
        )
    if design["inclusion_probability"].isnull().any():
        raise ValueError(
            "this design lists only the pairs that were sampled (prels or probs), so it cannot be "
            "drawn from again"
        )


def _counts(design: xr.Dataset, n_replicates: int, n_draws: int | None, random) -> np.ndarray:
    """Number of times that each pair is drawn, int64 (replicate, pair)."""
    probability = design["draw_probability"].to_numpy()
    budget = design_parameters(design)["budget"]
    count = np.zeros((n_replicates, probability.size), dtype=np.int64)
    for first, last in itertools.pairwise(topic_starts(design)):
        pairs = first + np.flatnonzero(probability[first:last] > 0)
        if not pairs.size:
            continue
        each = probability[pairs] / probability[pairs].sum()
        if n_draws is None:
            count[:, pairs] = _until_distinct(each, n_replicates, min(budget, pairs.size), random)
        else:
            count[:, pairs] = random.multinomial(n_draws, each, size=n_replicates)
    return count


def _until_distinct(probability, n_replicates: int, n_distinct: int, random) -> np.ndarray:
    """Counts of draws with replacement, up to the draw that brings the last distinct pair.

    Draws come at the times of a Poisson process of rate 1, so each pair comes at those of its own
    process of rate M, independent of the others. The drawing stops at the ``n_distinct``-th of the
    first arrivals; after its first arrival a pair comes a Poisson number of times more.
    """
    first = random.exponential(size=(n_replicates, probability.size)) / probability
    stop = np.partition(first, n_distinct - 1, axis=1)[:, n_distinct - 1, None]
    again = random.poisson(probability * np.maximum(stop - first, 0.0))
    return np.where(first <= stop, 1 + again, 0)


def _draw_stratified(selected: np.ndarray, design: xr.Dataset, random: np.random.Generator) -> None:
    """Mark in place, in each stratum, the pairs with the smallest random keys."""
    stratum = design["stratum"].to_numpy()
    frame = np.flatnonzero(stratum >= 0)
    by_stratum = frame[np.argsort(stratum[frame], kind="stable")]
    number = stratum[by_stratum]
    place = np.arange(number.size) - np.searchsorted(number, number)
    drawn = place < design["stratum_sample_size"].to_numpy()[number]
    for row in selected:
        # a uniform key in [0, 1) added to the stratum number sorts within strata in one pass
        shuffled = np.argsort(number + random.random(by_stratum.size))
        row[by_stratum[shuffled[drawn]]] = True


def _draw_alone(selected: np.ndarray, design: xr.Dataset, random: np.random.Generator) -> None:
    """Mark in place each pair by itself, with its probability."""
    probability = design["inclusion_probability"].to_numpy()
    frame = np.flatnonzero(probability > 0)
    selected[:, frame] = random.random((len(selected), frame.size)) < probability[frame]


# how a scheme without replacement marks the pairs (replicate, pair) that it selects
SELECTIONS = {
    "deterministic": _draw_alone,
    "poisson": _draw_alone,
    "stratified": _draw_stratified,
}
