"""The frame of every topic cut into cells, whose documents count as alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample

N_CELLS = 20
EVEN = 2.5  # largest ratio of the inclusion probabilities of a topic that counts as equal


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of all topics, those of a topic in a row."""

    of_pair: NDArray[np.int64]  # (frame_pair,): cell of each frame pair
    start: NDArray[np.int64]  # (topic + 1,): the cells of topic t are ``start[t]:start[t + 1]``
    size: NDArray[np.float64]  # (cell,): number of documents
    # (cell, column): what the curve of all topics is made of: 1, the standardised cube root of the
    # rank, the standardised log of the rank and its square less 1, and the share of documents that
    # no contributing run retrieved, where that differs
    curve: NDArray[np.float64]
    # (cell,): what a topic may deviate along: the standardised sixth root of the rank
    slope: NDArray[np.float64]
    # (cell,): whether the judged documents of a cell are like the others of their place. Those that
    # a design was given to judge for certain are not: an old pool was chosen by other runs.
    informative: NDArray[np.bool_]

    def sums(self, value: NDArray) -> NDArray[np.float64]:
        """Sum of values (frame_pair,) over the documents of each cell."""
        return np.bincount(self.of_pair, weights=value, minlength=self.size.size)


@dataclass(frozen=True, eq=False)
class Counts:
    """Sampled and relevant documents of the cells of all topics, in one sample."""

    start: NDArray[np.int64]  # (topic + 1,): the cells of topic t are ``start[t]:start[t + 1]``
    relevant: NDArray[np.float64]  # (cell,)
    sampled: NDArray[np.float64]  # (cell,)
    curve: NDArray[np.float64]  # (cell, column)
    slope: NDArray[np.float64]  # (cell,)


def cells(sample: Sample, labelled: bool = False, made_certain: bool = False) -> Cells:
    """Cells of the frame: the strata, or blocks of the fused rank.

    Within a cell every document must be as likely to be sampled as any other, whatever its
    relevance. Strata are cells where the inclusion probability falls from one to the next; a
    document's rank is then its place by the size of its stratum, then by fused rank. Where the
    probabilities of a topic are all alike, or there are no strata (Poisson sampling by rank), the
    cells are blocks of documents by fused rank, whose cube roots are equally far apart; what is
    judged for certain is kept apart. Where labels had a say in the probabilities, documents of one
    fused rank differ in them, and with them in their relevance: then strata are always cells, and
    without strata the blocks are of the place by falling probability.

    The sample has the ranks of its pairs. ``labelled`` says whether labels had a say in the
    probabilities, ``made_certain`` whether the design was given pairs to judge for certain: cells
    in which nothing is left to chance are then no evidence of the others.
    """
    of_pair = np.zeros(sample.n_pairs, dtype=np.int64)
    rank = np.zeros(sample.n_pairs)
    start = np.zeros(sample.n_topics + 1, dtype=np.int64)
    for topic in range(sample.n_topics):
        inside = sample.of_topic(topic)
        label, rank[inside] = _topic_cells(
            sample.stratum[inside],
            sample.inclusion_probability[inside],
            sample.fused_rank[inside],
            labelled,
        )
        of_pair[inside] = start[topic] + label
        start[topic + 1] = start[topic] + label.max(initial=-1) + 1
    size = np.bincount(of_pair, minlength=start[-1]).astype(float)

    def mean(value):
        return np.bincount(of_pair, weights=value, minlength=size.size) / size

    cube_root, log_rank = _standard(mean(np.cbrt(rank))), _standard(mean(np.log(rank)))
    columns = [np.ones(size.size), cube_root, log_rank, log_rank**2 - 1.0]
    alone = [(sample.run_rank[rows] == 0).all(axis=1) for rows in sample.blocks()]
    unretrieved = mean(np.concatenate(alone or [[]]).astype(float))
    if np.ptp(unretrieved) > 0.01:
        columns.append(unretrieved - unretrieved.mean())
    slope = _standard(mean(rank ** (1.0 / 6.0)))
    is_open = mean((sample.inclusion_probability < 1.0).astype(float)) > 0.0
    informative = is_open | (not made_certain)
    return Cells(of_pair, start, size, np.column_stack(columns), slope, informative)


def _topic_cells(stratum, probability, fused_rank, labelled: bool) -> tuple[NDArray, NDArray]:
    """Cell (from 0) and rank (from 1) of the pairs of one topic."""
    if not stratum.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    open_to_chance = probability[probability < 1.0]
    even = open_to_chance.size and open_to_chance.max() <= EVEN * open_to_chance.min()
    if (stratum < 0).any() or (even and not labelled):
        place = _ranks((fused_rank, -probability) if labelled else (fused_rank,))
        label = 2 * blocks(place) + (probability < 1.0)
    else:
        size = np.bincount(stratum - stratum.min())[stratum - stratum.min()]
        place = _ranks((fused_rank, stratum, size, probability < 1.0))
        first = np.full(stratum.max() + 1, np.inf)
        np.minimum.at(first, stratum, place)
        label = first[stratum]
    return np.unique(label, return_inverse=True)[1], place.astype(float)


def _ranks(keys: tuple[NDArray, ...]) -> NDArray[np.int64]:
    """Rank from 1 of every element of an order by keys, the last of which goes first."""
    return 1 + np.argsort(np.lexsort(keys))


def blocks(rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Block from 0 of every rank of a topic; cube roots of their edges are equally far apart."""
    edge = (np.cbrt(rank.size) * np.arange(1, N_CELLS) / N_CELLS) ** 3
    return np.searchsorted(edge, rank, side="left")


def _standard(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values less their mean, by their standard deviation where there is one."""
    centred = value - value.mean() if value.size else value
    spread = centred.std() if value.size else 0.0
    return centred / spread if spread > 1e-9 else np.zeros_like(centred)
