"""A drawn sample as plain arrays: what predictors and estimators work on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Sample:
    r"""The frame of a collection, its design and one or many samples drawn from it.

    Only the :math:`n` pairs of the frame appear (inclusion probability above 0), in the order of
    the collection, so pairs are contiguous by topic. :math:`C` samples (replicates) of the same
    design stand side by side; ``C = 1`` where there is one. Relevance is not a field: it depends
    on the relevance level and on the gain of a measure, and is handed over beside the sample as
    an array (replicate, frame_pair) that is 0 wherever `selected` is false.

    Examples
    --------
    >>> sample = Sample(
    ...     pair=np.arange(4),
    ...     topic=np.zeros(4, np.int32),
    ...     start=np.array([0, 4]),
    ...     inclusion_probability=np.full(4, 0.5),
    ...     stratum=np.array([0, 0, 1, 1], np.int32),
    ...     selected=np.array([[True, False, False, True]]),
    ...     fused_rank=np.array([1, 2, 3, 4], np.int32),
    ...     run_rank=np.array([[1], [2], [0], [3]], np.int32),
    ... )
    >>> sample.n_pairs, sample.n_topics, sample.n_replicates, sample.n_runs
    (4, 1, 1, 1)
    """

    pair: NDArray[np.integer]  # (frame_pair,): positions in the collection, ascending
    topic: NDArray[np.int32]  # (frame_pair,)
    # (topic + 1,): the frame pairs of topic t are start[t]:start[t + 1]; a topic may have none
    start: NDArray[np.int64]
    inclusion_probability: NDArray[np.float64]  # (frame_pair,), in (0, 1]
    # (frame_pair,): never shared by two topics; -1 where there are none (Poisson sampling)
    stratum: NDArray[np.int32]
    selected: NDArray[np.bool_]  # (replicate, frame_pair): selected and judged
    # (frame_pair,): from 1 among the frame pairs of the topic, by reciprocal-rank fusion of the
    # contributing runs, ties by document id descending
    fused_rank: NDArray[np.int32]
    run_rank: NDArray[np.int32]  # (frame_pair, contributing_run): from 1; 0 where not retrieved

    @property
    def n_pairs(self) -> int:
        """Number of frame pairs."""
        return len(self.topic)

    @property
    def n_topics(self) -> int:
        """Number of topics, those without a frame pair included."""
        return len(self.start) - 1

    @property
    def n_replicates(self) -> int:
        """Number of samples side by side."""
        return self.selected.shape[0]

    def of_topic(self, topic: int) -> slice:
        """Frame pairs of a topic."""
        return slice(self.start[topic], self.start[topic + 1])

    @property
    def n_runs(self) -> int:
        """Number of contributing runs."""
        return self.run_rank.shape[1]
