"""Predictors of one topic at a time, and the pairs that are held out together."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.processors import each_on_a_core, usable_processors
from bayeseval.rounding import ratio

RIDGE = 1e-3  # penalty RIDGE * b^2 / 2


def constant(
    sample: Sample, relevance: NDArray[np.float64], *, value: float | None = None
) -> NDArray[np.float64]:
    r"""M(d) = value, or the prevalence of the topic estimated without the stratum of d.

    .. math:: M(d) = \frac{\sum_{d'} rel(d') / \pi(d')}{\sum_{d'} 1 / \pi(d')}

    over the selected documents d' of the topic outside the stratum of d (0 where there are none).
    With value 0 the difference estimator is the Horvitz-Thompson estimator.

    Parameters
    ----------
    sample : Sample
        Frame, design and samples.
    relevance : float array (replicate, frame_pair)
        Relevance in [0, 1] of the selected pairs, 0 elsewhere.
    value : float, optional
        In [0, 1].

    Returns
    -------
    ndarray (replicate, frame_pair)
        M in [0, 1].

    Raises
    ------
    ValueError
        A value outside [0, 1].

    Examples
    --------
    >>> from bayeseval.frame.sample import Sample
    >>> import numpy as np, bayeseval as be
    >>> sample = Sample(
    ...     np.arange(6), np.zeros(6, int), np.array([0, 6]), np.full(6, 0.5),
    ...     np.array([0, 0, 1, 1, 2, 2]), np.array([[1, 0, 1, 0, 0, 1]], bool),
    ...     np.arange(1, 7), np.arange(1, 7)[:, None])
    >>> be.predictors.constant(sample, np.array([[1.0, 0, 0, 0, 0, 0]]))
    array([[0. , 0. , 0.5, 0.5, 0.5, 0.5]])
    >>> be.predictors.constant(sample, np.array([[1.0, 0, 0, 0, 0, 0]]), value=0.25)
    array([[0.25, 0.25, 0.25, 0.25, 0.25, 0.25]])
    """
    if value is None:
        return held_out_prevalence(sample, relevance)
    if not 0 <= value <= 1:
        raise ValueError(f"the constant predictor is {value}; allowed: 0 to 1.")
    return np.full(sample.selected.shape, float(value))


def rank_logistic(sample: Sample, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""M(d) from the fused rank alone, each stratum of each topic held out in turn.

    .. math:: M(d) = \frac{1}{1 + \exp(-(p + a + b \log rank(d)))}

    where a and b maximise the likelihood, every document counting once, of the judged documents of
    the topic outside the stratum of d, and the offset p solves

    .. math:: \sum_{d' \notin S} M(d') = \sum_{d' \in J \setminus S} \frac{rel(d')}{\pi(d')}

    over the frame documents outside the held-out stratum S. A ridge on b keeps it finite where rank
    separates the relevant from the others. Where the right-hand side is 0 (nothing relevant was
    seen outside S) M is 0, where it reaches the number of documents M is 1, and where all training
    documents are relevant M is flat. M of a document never depends on the sample of its own
    stratum. A Poisson design has no strata; every twentieth pair is held out together.

    Parameters
    ----------
    sample, relevance
        As for :func:`bayeseval.predictors.constant`.

    Returns
    -------
    ndarray (replicate, frame_pair)
        M in [0, 1].

    References
    ----------
    G. V. Cormack and M. R. Grossman, "Unbiased low-variance estimators for precision and related
    information retrieval effectiveness measures", SIGIR 2019, section 3,
    doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> from bayeseval.frame.sample import Sample
    >>> import numpy as np, bayeseval as be
    >>> sample = Sample(
    ...     np.arange(6), np.zeros(6, int), np.array([0, 6]), np.full(6, 0.5),
    ...     np.array([0, 0, 1, 1, 2, 2]), np.array([[1, 0, 1, 0, 0, 1]], bool),
    ...     np.arange(1, 7), np.arange(1, 7)[:, None])
    >>> be.predictors.rank_logistic(sample, np.array([[1.0, 0, 0, 0, 0, 0]])).round(2)
    array([[0.  , 0.  , 0.55, 0.16, 0.  , 0.  ]])
    """
    from bayeseval.predictors.rank_logistic_kernel import held_out_predictions

    group = held_out_groups(sample)
    order = np.argsort(group, kind="stable")
    n_groups = int(group.max(initial=-1)) + 1
    group_start = np.searchsorted(group[order], np.arange(n_groups + 1))
    first_group = np.searchsorted(group_start, sample.start)
    x = np.log(sample.fused_rank[order].astype(float))
    probability = sample.inclusion_probability[order]
    predicted = np.zeros(sample.selected.shape)

    def fill(rows: slice) -> None:
        selected = np.ascontiguousarray(sample.selected[rows][:, order])
        block = np.zeros(selected.shape)
        held_out_predictions(
            x,
            sample.start,
            group_start,
            first_group,
            selected,
            np.ascontiguousarray(relevance[rows][:, order], dtype=float),
            probability,
            RIDGE,
            block,
        )
        predicted[rows, order] = block

    n_replicates = len(predicted)
    size = max(1, min(10, n_replicates // (4 * usable_processors())))
    blocks = [slice(first, first + size) for first in range(0, n_replicates, size)]
    each_on_a_core(fill, blocks, "M from fused ranks")
    return predicted


def held_out_groups(sample: Sample) -> NDArray[np.int64]:
    """Group of every frame pair: its stratum, or every twentieth pair where there are none.

    Pairs of one stratum are drawn together and so held out together. A Poisson design draws every
    pair by itself, and any partition would do: the pairs of a topic are dealt into 20 groups by
    fused rank, as cards are dealt to 20 players. Groups are numbered 0, 1, ... without a gap, in
    the order of topics, and no two topics share one.
    """
    topic = sample.topic.astype(np.int64)
    n_groups = 20
    dealt = topic * n_groups + sample.fused_rank % n_groups
    has_stratum = sample.stratum >= 0
    within = np.where(has_stratum, sample.stratum, dealt)
    kind = np.where(has_stratum, 0, 1)
    span = int(within.max(initial=0)) + 1
    return np.unique((topic * 2 + kind) * span + within, return_inverse=True)[1]


def folds(sample: Sample, n_folds: int) -> NDArray[np.int8]:
    """Fold of every frame pair: its groups dealt into ``n_folds``, one player on at each topic.

    Topics stand in the order of their labels, so that other labels give another deal, and slightly
    other predictions, as good as these. All pairs of a group are in one fold.
    """
    group = held_out_groups(sample)
    first_group = np.full(sample.n_topics, np.iinfo(np.int64).max)
    np.minimum.at(first_group, sample.topic, group)
    return ((group - first_group[sample.topic] + sample.topic) % n_folds).astype(np.int8)


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
