"""The strata of one topic and what was sampled of them, as the inferred measures read them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.labels import row_of_pair
from bayeseval.estimators.list_score import ListScore
from bayeseval.frame.lists import TopicLists
from bayeseval.measures.measure import Measure, relevance

RELEVANT_SMOOTHING = 1e-5
SAMPLED_SMOOTHING = 3e-5


@dataclass(frozen=True, eq=False)
class SampledStrata:
    """Strata of one topic, numbered from 0, and the sampled documents of every replicate.

    Parameters
    ----------
    position : int array (run, rank)
        Pool document at each rank, -1 for another or none.
    stratum : int64 array (document,)
        Stratum of each pool document.
    size : float array (stratum,)
        Pool documents of each stratum.
    first : int64 array (document + 1,)
        The cells of a document d are ``first[d]:first[d + 1]``.
    replicate : int64 array (cell,)
        Replicate in which a document was sampled.
    gain : float array (cell,)
        Its relevance or gain, as the measure sees it.
    n_replicates : int
        Number of samples side by side.
    """

    position: NDArray[np.integer]
    stratum: NDArray[np.int64]
    size: NDArray[np.float64]
    first: NDArray[np.int64]
    replicate: NDArray[np.int64]
    gain: NDArray[np.float64]
    n_replicates: int

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return self.size.size

    @property
    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Sampled documents as the kernels take them."""
        return self.first, self.replicate, self.gain

    @property
    def expansion(self) -> NDArray[np.float64]:
        """Pool documents by sampled documents, 0 where none is sampled; (stratum, replicate)."""
        sampled = self._counted(np.ones(self.gain.size))
        expanded = np.zeros(sampled.shape)
        return np.divide(self.size[:, None], sampled, out=expanded, where=sampled > 0)

    def expanded_count(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Estimated number of pool documents like the chosen cells, (replicate,)."""
        return (self.expansion * self._counted(chosen)).sum(axis=0)

    def score(self, estimate: NDArray[np.float64]) -> ListScore:
        """Score with NaN in the replicates that judged nothing of the topic."""
        judged = np.bincount(self.replicate, minlength=self.n_replicates) > 0
        return ListScore(np.where(judged, estimate, np.nan))

    def _counted(self, weight: NDArray) -> NDArray[np.float64]:
        """Sum over the cells of each stratum, (stratum, replicate)."""
        row = np.repeat(np.arange(self.stratum.size), np.diff(self.first))
        at = self.stratum[row] * self.n_replicates + self.replicate
        total = np.bincount(at, weights=weight, minlength=self.n_strata * self.n_replicates)
        return total.reshape(self.n_strata, self.n_replicates)


def sampled_strata(measure: Measure, topic: TopicLists) -> SampledStrata:
    """Strata of a topic, from its design or, where there is none, its pool as one stratum.

    The lists are cut at the measure's cutoff.

    Raises
    ------
    ValueError
        A design without strata whose probabilities differ or are not known; a sampled document
        outside the strata.
    """
    pool, stratum, size = _strata(topic)
    inside = np.flatnonzero(pool)
    stray = np.flatnonzero(~pool & ~np.isnan(topic.grade).all(axis=0))
    if stray.size:
        raise ValueError(
            f"{stray.size} judged documents are outside the strata of their topic, the first is "
            f"its pair {stray[0]}; an inferred measure needs the stratum of every judged document"
        )
    gain = relevance(measure, topic.grade[:, inside]).T
    row, replicate = np.nonzero(~np.isnan(gain))
    return SampledStrata(
        position=row_of_pair(inside, pool.size)[topic.top(measure.cutoff)],
        stratum=stratum,
        size=size.astype(np.float64),
        first=np.searchsorted(row, np.arange(inside.size + 1)),
        replicate=replicate,
        gain=gain[row, replicate],
        n_replicates=topic.n_replicates,
    )


def smoothing_constants(relevant: float, sampled: float) -> NDArray[np.float64]:
    """Smoothing constants, checked.

    Raises
    ------
    ValueError
        Unless 0 <= relevant <= sampled and 0 < sampled.
    """
    if not 0 <= relevant <= sampled or not 0 < sampled < np.inf:
        raise ValueError(
            "smoothing constants must satisfy 0 <= relevant_smoothing <= sampled_smoothing and "
            f"sampled_smoothing > 0, not {relevant!r} and {sampled!r}"
        )
    return np.array([relevant, sampled], dtype=np.float64)


def _strata(topic: TopicLists) -> tuple[NDArray, NDArray, NDArray]:
    """Pool (pair,), stratum of its documents and size of each stratum."""
    if not _has_strata(topic):
        pool = _single_stratum(topic)
        return pool, np.zeros(np.count_nonzero(pool), np.int64), np.array([pool.sum()])
    assert topic.stratum is not None
    pool = topic.stratum >= 0
    number, stratum = np.unique(topic.stratum[pool], return_inverse=True)
    if topic.stratum_size is not None:
        return pool, stratum, topic.stratum_size[number]
    return pool, stratum, np.bincount(stratum)


def _has_strata(topic: TopicLists) -> bool:
    """Whether the design has strata, in this topic or in another."""
    if topic.stratum is None:
        return False
    elsewhere = topic.stratum_size is not None and topic.stratum_size.size > 0
    return elsewhere or bool((topic.stratum >= 0).any())


def _single_stratum(topic: TopicLists) -> NDArray[np.bool_]:
    """Documents of the one stratum: the pool, or a frame whose probabilities are all the same."""
    probability = topic.inclusion_probability
    if probability is None:
        return topic.pooled | ~np.isnan(topic.grade).all(axis=0)
    frame = probability[probability != 0]
    if np.isnan(frame).any() or not np.allclose(frame, frame[:1]):
        raise ValueError(
            "inferred measures need strata, or one inclusion probability for the whole pool; this "
            "design has neither: use estimator 'stat' or 'stat_ap', which take a probability per "
            "document"
        )
    return probability > 0
