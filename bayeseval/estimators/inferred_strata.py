"""The strata of one topic and what was sampled of them, as the inferred measures read them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.lists import TopicLists
from bayeseval.measures.names import Measure, relevance


@dataclass(frozen=True, eq=False)
class SampledStrata:
    """Strata of one topic, numbered from 0, and the sampled relevances.

    Parameters
    ----------
    stratum : int64 array (pair,)
        Stratum of each pair, -1 outside the pool.
    size : float array (stratum,)
        Pool documents of each stratum.
    gain : float array (pair, replicate)
        Relevance or gain as the measure sees it, NaN where not sampled.
    """

    stratum: NDArray[np.int64]
    size: NDArray[np.float64]
    gain: NDArray[np.float64]

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return self.size.size

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Replicates in which the topic has a sampled document, (replicate,)."""
        return ~np.isnan(self.gain).all(axis=0)

    @property
    def seen(self) -> NDArray[np.int8]:
        """1 sampled and relevant, 0 sampled and not, -1 not sampled; (pair, replicate)."""
        return np.where(np.isnan(self.gain), -1, self.gain > 0).astype(np.int8)

    @property
    def expansion(self) -> NDArray[np.float64]:
        """Pool documents by sampled documents, 0 where none is sampled; (stratum, replicate)."""
        sampled = self.total(~np.isnan(self.gain))
        return np.divide(
            self.size[:, None], sampled, out=np.zeros(sampled.shape), where=sampled > 0
        )

    def total(self, value: NDArray) -> NDArray[np.float64]:
        """Sum over the documents of each stratum, (stratum, replicate), of (pair, replicate)."""
        out = np.zeros((self.n_strata, value.shape[1]))
        inside = self.stratum >= 0
        np.add.at(out, self.stratum[inside], value[inside])
        return out

    def expanded_count(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Estimated number of pool documents like the chosen sampled ones, (replicate,)."""
        return (self.expansion * self.total(chosen)).sum(axis=0)


def sampled_strata(measure: Measure, topic: TopicLists) -> SampledStrata:
    """Strata of a topic, from its design or, where there is none, its pool as one stratum.

    Raises
    ------
    ValueError
        A design without strata whose probabilities differ or are not known; a sampled document
        outside the strata.
    """
    gain = np.ascontiguousarray(relevance(measure, topic.grade).T)
    if _has_strata(topic):
        assert topic.stratum is not None
        number, compact = np.unique(topic.stratum, return_inverse=True)
        outside = int(np.count_nonzero(number < 0))
        stratum = compact.astype(np.int64) - outside
        size = np.bincount(stratum[stratum >= 0], minlength=number.size - outside)
        if topic.stratum_size is not None:
            size = topic.stratum_size[number[outside:]]
    else:
        stratum = np.where(_single_stratum(topic), 0, -1)
        size = np.array([np.count_nonzero(stratum == 0)])
    stray = np.flatnonzero((stratum < 0) & ~np.isnan(gain).all(axis=1))
    if stray.size:
        raise ValueError(
            f"{stray.size} judged documents are outside the strata of their topic, the first is "
            f"its pair {stray[0]}; an inferred measure needs the stratum of every judged document"
        )
    return SampledStrata(stratum, size.astype(np.float64), gain)


def _has_strata(topic: TopicLists) -> bool:
    """Whether the design has strata; a topic of a stratified design may be without."""
    if topic.stratum is None:
        return False
    return bool((topic.stratum >= 0).any()) or bool(np.size(topic.stratum_size))


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
