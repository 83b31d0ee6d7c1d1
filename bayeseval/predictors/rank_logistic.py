"""The papers' predictor: per topic, logistic regression on log fused rank, calibrated."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.predictors.cross_fitting import held_out_groups
from bayeseval.processors import each_on_a_core, usable_processors

RIDGE = 1e-3  # penalty RIDGE * b^2 / 2


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

    each_on_a_core(fill, _blocks(len(predicted)), "M from fused ranks")
    return predicted


def _blocks(n_replicates: int) -> list[slice]:
    """Replicates in blocks, several to a core and none large."""
    size = max(1, min(10, n_replicates // (4 * usable_processors())))
    return [slice(first, first + size) for first in range(0, n_replicates, size)]
