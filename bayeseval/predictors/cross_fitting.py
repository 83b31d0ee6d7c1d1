"""Which pairs are held out together, so that M of a document never sees its own stratum.

Both groupings depend on the frame and the design alone, never on the sample: they are fixed before
the draw, and the difference estimator is unbiased given any of them.
"""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.rounding import ratio

N_POISSON_GROUPS = 20


def held_out_groups(sample: Sample) -> NDArray[np.int64]:
    """Group of every frame pair: its stratum, or every twentieth pair where there are none.

    Pairs of one stratum are drawn together and so held out together. A Poisson design draws every
    pair by itself, and any partition would do: the pairs of a topic are dealt into 20 groups by
    fused rank, as cards are dealt to 20 players. Groups are numbered 0, 1, ... without a gap, in
    the order of topics, and no two topics share one.
    """
    topic = sample.topic.astype(np.int64)
    dealt = topic * N_POISSON_GROUPS + sample.fused_rank % N_POISSON_GROUPS
    has_stratum = sample.stratum >= 0
    within = np.where(has_stratum, sample.stratum, dealt)
    kind = np.where(has_stratum, 0, 1)
    span = int(within.max(initial=0)) + 1
    return np.unique((topic * 2 + kind) * span + within, return_inverse=True)[1]


def folds(sample: Sample, n_folds: int) -> NDArray[np.int64]:
    """Fold of every frame pair: its groups dealt into ``n_folds``, one player on at each topic.

    Topics stand in the order of their labels, so that other labels give another deal, and slightly
    other predictions, as good as these. All pairs of a group are in one fold.
    """
    group = held_out_groups(sample)
    first_group = np.full(sample.n_topics, np.iinfo(np.int64).max)
    np.minimum.at(first_group, sample.topic, group)
    return (group - first_group[sample.topic] + sample.topic) % n_folds


def held_out_prevalence(sample: Sample, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Share of relevant documents of the topic, from the sample outside the document's group.

    .. math:: \frac{\sum_{d'} rel(d') / \pi(d')}{\sum_{d'} 1 / \pi(d')}

    over the selected d' of the same topic outside the group of d; 0 where nothing was selected
    there; (replicate, frame_pair).
    """
    group = held_out_groups(sample)
    n_groups = int(group.max(initial=-1)) + 1
    topic_of_group = np.zeros(n_groups, np.int64)
    topic_of_group[group] = sample.topic
    prevalence = np.zeros(sample.selected.shape)
    for replicate, (selected, observed) in enumerate(zip(sample.selected, relevance, strict=True)):
        weight = selected / sample.inclusion_probability
        relevant, whole = (
            _outside(np.bincount(group, values, n_groups).astype(np.float64), topic_of_group)
            for values in (weight * observed, weight)
        )
        prevalence[replicate] = np.minimum(ratio(relevant, whole), 1.0)[group]
    return prevalence


def _outside(total: NDArray[np.float64], topic_of_group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum over the other groups of the topic, none of it from the group itself."""
    outside = np.zeros(total.size)
    bounds = np.flatnonzero(np.diff(topic_of_group, prepend=-1, append=-1))
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        before = np.concatenate([[0.0], np.cumsum(total[first : last - 1])])
        after = np.concatenate([np.cumsum(total[first + 1 : last][::-1])[::-1], [0.0]])
        outside[first:last] = before + after
    return outside
