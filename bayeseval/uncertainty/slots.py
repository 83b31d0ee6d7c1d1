"""The sampled documents of a topic, in the order and with the factors that variances need."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.rounding import ratio


@dataclass(frozen=True, eq=False)
class Slots:
    """Sampled documents of one topic, one row per replicate, sorted by stratum."""

    # (replicate, slot): row of the document among the topic's frame pairs, -1 where a replicate has
    # fewer documents
    row: NDArray[np.int64]
    probability: NDArray[np.float64]  # (replicate, slot): inclusion probability; 1 at empty slots
    # (replicate, slot): stratum of the document, -1 under Poisson sampling and at empty slots
    stratum: NDArray[np.int64]
    # (replicate, slot): stratum after collapsing, for the variance; -1 where selections are
    # independent
    group: NDArray[np.int64]
    # (replicate, slot): pi_i pi_j / pi_ij - 1 for two documents of that stratum; 0 where selections
    # are independent
    joint_excess: NDArray[np.float64]


def topic_slots(sample: Sample, topic: int) -> Slots:
    """Slots of the topic at a position."""
    inside = sample.of_topic(topic)
    stratum = sample.stratum[inside].astype(np.int64)
    probability = sample.inclusion_probability[inside]
    # strata judged in full first, so that open strata that are joined lie side by side
    order = np.lexsort((stratum, (stratum >= 0) & (probability < 1.0)))
    replicate, place = np.nonzero(sample.selected[:, inside][:, order])
    drawn = np.bincount(replicate, minlength=sample.n_replicates)
    slot = np.arange(replicate.size) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    row = np.full((sample.n_replicates, drawn.max(initial=0)), -1, dtype=np.int64)
    row[replicate, slot] = order[place]
    empty = row < 0
    slot_stratum = np.where(empty, -1, stratum[row])
    slot_probability = np.where(empty, 1.0, probability[row])
    return Slots(
        row=row,
        probability=slot_probability,
        stratum=slot_stratum,
        group=_grouped(slot_stratum, slot_probability),
        joint_excess=_joint_excess(slot_stratum, stratum),
    )


def _joint_excess(slot_stratum: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """(N - n) / (N (n - 1)) in strata with two or more sampled documents, else 0."""
    low = stratum.min(initial=0)
    size = np.bincount(stratum - low, minlength=1).astype(float)
    excess = np.zeros(slot_stratum.shape)
    for column, strata in enumerate(slot_stratum):
        drawn = np.bincount(strata[strata >= 0] - low, minlength=size.size).astype(float)
        factor = ratio(size - drawn, size * (drawn - 1.0))
        excess[column] = np.where(strata >= 0, factor[strata - low], 0.0)
    return excess


def _grouped(slot_stratum: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Variance groups of every replicate; computed once where all replicates agree."""
    same = (slot_stratum == slot_stratum[:1]).all() and (probability == probability[:1]).all()
    different = slice(1) if same else slice(None)
    pairs = zip(slot_stratum[different], probability[different], strict=True)
    groups = np.array([collapsed_strata(*pair) for pair in pairs])
    return np.broadcast_to(groups, slot_stratum.shape).copy()


def collapsed_strata(stratum: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Group strata so that each group has two or more sampled documents.

    A stratum from which a single document was sampled says nothing about its own variance. It is
    joined with the next stratum of the topic (the last one with the one before); strata judged in
    full have no variance and are left alone. The variance over a joined group is on average too
    large where the strata's totals differ, and right where the documents of the group are alike but
    for chance; for one set of documents it can be too small. Cochran, Sampling Techniques, 1977,
    section 5A.12. Strata (slot,) ascend among those that are not judged in full; -1 is none.
    """
    group = stratum.copy()
    open_strata = np.unique(stratum[(stratum >= 0) & (probability < 1.0)])
    members: list[int] = []  # of the group that is growing
    previous = -1
    for current in open_strata:
        members.append(current)
        group[np.isin(stratum, members)] = current
        if np.count_nonzero(group == current) >= 2:
            members, previous = [], current
    if members and previous >= 0:
        group[np.isin(stratum, members)] = previous
    return group
