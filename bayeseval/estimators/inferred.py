"""Inferred measures: expected values under random sampling within strata of a pool."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.inferred_strata import SampledStrata, sampled_strata
from bayeseval.estimators.lists import ListScore, TopicLists
from bayeseval.measures.names import Measure

RELEVANT_SMOOTHING = 1e-5
SAMPLED_SMOOTHING = 3e-5
LONGEST_LIST = 1000


def inferred_average_precision(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
    r"""Inferred average precision (infAP, xinfAP)."""
    from bayeseval.estimators.inferred_kernels import expected_precision_sum

    constants = _constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    total = expected_precision_sum(
        topic.top(measure.cutoff), strata.stratum, strata.expansion, strata.seen, constants
    )
    return _score(strata, _ratio(total, strata.expanded_count(strata.gain > 0)))


def inferred_ndcg(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
    r"""Inferred normalised discounted cumulative gain (infNDCG)."""
    from bayeseval.estimators.inferred_kernels import expanded_gain, ideal_gain

    _constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    position = topic.top(measure.cutoff)
    weight = 1.0 / np.log2(np.arange(2.0, position.shape[1] + 2.0))
    gain = expanded_gain(position, weight, strata.stratum, strata.n_strata, strata.gain)
    level = np.unique(strata.gain[strata.gain > 0])[::-1]
    count = np.array([strata.expanded_count(strata.gain == value) for value in level])
    count = count.reshape(level.size, topic.n_replicates)
    ideal = ideal_gain(count, level, measure.cutoff or LONGEST_LIST)
    return _score(strata, _ratio(gain, ideal))


def inferred_precision(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
    r"""Inferred precision at a cutoff (inferred P@k)."""
    found = inferred_number_retrieved(
        measure,
        topic,
        relevant_smoothing=relevant_smoothing,
        sampled_smoothing=sampled_smoothing,
    )
    return ListScore(found.estimate / measure.cutoff)


def inferred_number_retrieved(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
    r"""Inferred number of relevant documents that a run retrieves."""
    from bayeseval.estimators.inferred_kernels import expected_relevant

    constants = _constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    found = expected_relevant(
        topic.top(measure.cutoff), strata.stratum, strata.n_strata, strata.seen, constants
    )
    return _score(strata, found)


def inferred_number_relevant(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
    r"""Estimated number of relevant documents of a topic, the same for every run."""
    _constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    count = strata.expanded_count(strata.gain > 0)
    return _score(strata, np.repeat(count[None], topic.position.shape[0], axis=0))


INFERRED = {
    "AP": inferred_average_precision,
    "nDCG": inferred_ndcg,
    "P": inferred_precision,
    "NumRel": inferred_number_relevant,
    "NumRelRet": inferred_number_retrieved,
}


def _constants(relevant_smoothing: float, sampled_smoothing: float) -> NDArray[np.float64]:
    """Smoothing constants, checked."""
    if not 0 <= relevant_smoothing <= sampled_smoothing or not 0 < sampled_smoothing < np.inf:
        raise ValueError(
            "smoothing constants must satisfy 0 <= relevant_smoothing <= sampled_smoothing and "
            f"sampled_smoothing > 0, not {relevant_smoothing!r} and {sampled_smoothing!r}"
        )
    return np.array([relevant_smoothing, sampled_smoothing])


def _ratio(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray:
    """Numerator (run, replicate) by denominator (replicate,); 0 where nothing relevant was seen."""
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0)


def _score(strata: SampledStrata, estimate: NDArray[np.float64]) -> ListScore:
    """Score with NaN in the replicates that judged nothing of the topic."""
    return ListScore(np.where(strata.judged, estimate, np.nan))
