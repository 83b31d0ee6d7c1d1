"""The list of an order: places in shuffled strata, and how far each topic's list is judged."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pandas.core.util.hashing import hash_array

from bayeseval.designs.placing import check_design
from bayeseval.messages import Message, Option

PAIRS = 1_000_000  # documents whose labels are looked at at once


def is_order(design: xr.Dataset) -> bool:
    """Whether the documents of a design are judged in an order, to any length."""
    return design.attrs.get("name") == "order"


def check_order(design: xr.Dataset) -> None:
    """Refuse a design that has no order."""
    check_design(design)
    if not is_order(design):
        raise ValueError(
            Message(
                f"a sample by {design.attrs.get('name')} cannot be continued; ",
                Option("scheme", "order", "be.designs.order"),
                " makes a list that can",
            )
        )


def shuffled(design: xr.Dataset, listed: NDArray[np.bool_], seed: int) -> xr.Dataset:
    """Design with the places of listed pairs (pair,) in their strata and in the topics' lists.

    Both come from random numbers that the seed, the topic and the document give, so that they stay
    where strata are added. A round has the documents of one place; their order in it has random
    numbers of its own.
    """
    pairs = np.flatnonzero(listed)
    topic, stratum = (design[name].to_numpy()[pairs] for name in ("pair_topic", "stratum"))
    hash_key = f"{int(seed) % 2**64:016x}"

    def hashed(labels: xr.DataArray) -> NDArray[np.uint64]:
        texts = labels.to_numpy().astype(object)
        return hash_array(texts, hash_key=hash_key, categorize=False)

    parts = np.split(pairs, range(PAIRS, pairs.size, PAIRS))
    document = np.concatenate([hashed(design["document"][part]) for part in parts])
    key = _mixed(document ^ _mixed(hashed(design["topic"]))[topic])
    place = np.zeros((2, design.sizes["pair"]), dtype=np.int32)
    place[0, pairs] = _places((key, stratum))
    place[1, pairs] = _places((_mixed(key), place[0, pairs], topic))
    return design.assign(place=("pair", place[0]), judging_order=("pair", place[1]))


def _mixed(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Random numbers mixed again, each by itself, by the finalizer of SplitMix64.

    References
    ----------
    Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
    doi:10.1145/2660193.2660195.
    """
    number = number + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ (number >> np.uint64(shift))) * np.uint64(factor)
    return number ^ (number >> np.uint64(31))


def _places(keys: tuple[NDArray, ...]) -> NDArray[np.int64]:
    """Place from 1 among the elements with the same last key, in the order of all keys."""
    by_keys = np.lexsort(keys)
    group = keys[-1][by_keys]
    places = np.empty(group.size, dtype=np.int64)
    places[by_keys] = 1 + np.arange(group.size) - np.searchsorted(group, group)
    return places


def in_list(design: xr.Dataset) -> NDArray[np.bool_]:
    """Pairs (pair,) of the list; certain pairs are outside it."""
    return design["place"].to_numpy() > 0


def certain_pairs(design: xr.Dataset) -> NDArray[np.bool_]:
    """Pairs (pair,) in a stratum that is judged whole, outside the list."""
    return (design["stratum"].to_numpy() >= 0) & ~in_list(design)


def beginning(design: xr.Dataset, budgets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Pairs (pair,) that are judged where every topic has its budget (topic,) of judgments."""
    certain, topic = certain_pairs(design), design["pair_topic"].to_numpy()
    reach = budgets - np.bincount(topic[certain], minlength=budgets.size)
    return certain | (in_list(design) & (design["judging_order"].to_numpy() <= reach[topic]))


def judged_to(
    design: xr.Dataset, judged: NDArray[np.bool_], unchanged: NDArray[np.bool_] | None = None
) -> xr.Dataset:
    """Design whose strata are judged as far as these pairs (pair,) say.

    The documents of a stratum without a judgment are outside the frame. ``unchanged`` topics
    (topic,) keep the numbers that the design has.
    """
    stratum, size = design["stratum"].to_numpy(), design["stratum_size"].to_numpy()
    number = np.bincount(stratum[(stratum >= 0) & judged], minlength=size.size)
    if unchanged is not None:
        kept = unchanged[design["stratum_topic"].to_numpy()]
        number = np.where(kept, design["stratum_sample_size"].to_numpy(), number)
    return design.assign(
        inclusion_probability=("pair", np.append(number / size, 0.0)[stratum]),
        stratum_sample_size=("stratum_id", number.astype(np.int64)),
    )


def drawn_to(design: xr.Dataset, selected: NDArray[np.bool_]) -> xr.Dataset:
    """Order judged as far as a sample of it (pair,), or samples (replicate, pair), go."""
    drawn = [judged_to(design, sample) for sample in np.atleast_2d(selected)]
    numbers = np.array([sample["stratum_sample_size"].to_numpy() for sample in drawn])
    if (numbers != numbers[0]).any():
        raise ValueError(
            "the replicates have unlike numbers of documents in the strata; draw them together, "
            "with be.draw(order, budget=..., n_replicates=..., random_seed=...)"
        )
    if without_first_round(drawn[0]).any():
        raise ValueError(
            "the sample has no document in some strata; the first round of an order must be whole: "
            "raise the budget"
        )
    return drawn[0]


def rounds(design: xr.Dataset, judged: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of rounds (topic,) judged whole, by the strata that the order was made with."""
    stratum, listed = design["stratum"].to_numpy(), in_list(design)
    n_strata = design.sizes["stratum_id"]
    size, number = (
        np.bincount(stratum[pairs], minlength=n_strata)
        for pairs in (listed, listed & before_gaps(design, judged))
    )
    open_strata = (number < size) & (stratum_extension(design) == 0)
    whole = np.full(design.sizes["topic"], design.sizes["pair"])  # where no stratum is open
    np.minimum.at(whole, design["stratum_topic"].to_numpy()[open_strata], number[open_strata])
    return whole


def before_gaps(design: xr.Dataset, judged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Judged pairs (pair,) that no unjudged pair of their stratum precedes."""
    stratum, place = design["stratum"].to_numpy(), design["place"].to_numpy()
    listed = in_list(design)
    first_gap = np.full(design.sizes["stratum_id"], np.iinfo(np.int32).max, dtype=np.int64)
    gaps = listed & ~judged
    np.minimum.at(first_gap, stratum[gaps], place[gaps])
    return judged & (~listed | (place < first_gap[stratum]))


def without_first_round(design: xr.Dataset) -> NDArray[np.bool_]:
    """Topics (topic,) with a stratum, not of a later run, of which no document is judged."""
    empty = design["stratum_sample_size"].to_numpy() == 0
    waiting = design["stratum_topic"].to_numpy()[empty & (stratum_extension(design) == 0)]
    return np.isin(np.arange(design.sizes["topic"]), waiting)


def information(design: xr.Dataset) -> float:
    r"""Information of an order's judgments so far, over that of the first round.

    .. math:: \frac{\sum_h 1 - 1 / N_h}{\sum_h 1 / n_h - 1 / N_h}

    over the strata of the list that are begun: the inverse ratio of the variances where all strata
    vary alike, :math:`N_h S_h` the same, which their sizes are made for. It depends on no grade,
    and is the same for all runs and measures; infinite where all is judged.
    """
    size, number = (design[name] for name in ("stratum_size", "stratum_sample_size"))
    of_list = np.isin(np.arange(size.size), design["stratum"].to_numpy()[in_list(design)])
    begun = (number > 0) & of_list
    first, now = ((1.0 / drawn - 1.0 / size).where(begun).sum() for drawn in (1.0, number))
    return float(first / now) if now > 0 else np.inf


def stratum_extension(design: xr.Dataset) -> NDArray[np.int64]:
    """Extension that brought each stratum (stratum_id,), 0 for the order as it was made."""
    if "stratum_extension" in design:
        return design["stratum_extension"].to_numpy()
    return np.zeros(design.sizes["stratum_id"], dtype=np.int64)
