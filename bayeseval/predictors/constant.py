"""The plainest predictor: one number, or the topic's share of relevant documents."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.predictors.cross_fitting import held_out_prevalence


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
