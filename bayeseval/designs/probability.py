"""Joint inclusion probabilities as a function of the design."""

import numpy as np
import xarray as xr


def joint_inclusion_probability(design: xr.Dataset, first, second) -> np.ndarray:
    r"""Probability that two pairs are both selected, exact for stratified and Poisson designs.

    .. math:: \pi_{ij} = \frac{n_h (n_h - 1)}{N_h (N_h - 1)}

    for two different pairs of stratum h with :math:`n_h` drawn of :math:`N_h`;
    :math:`\pi_{ij} = \pi_i \pi_j` for pairs of different strata and for all different pairs of a
    Poisson or deterministic design; :math:`\pi_{ii} = \pi_i`.

    Parameters
    ----------
    design : Dataset
        A design of :mod:`bayeseval.designs`.
    first, second : int array
        Positions of pairs; they broadcast against each other.

    Returns
    -------
    ndarray
        Joint probabilities, of the broadcast shape.

    Raises
    ------
    ValueError
        The scheme has no closed form.

    References
    ----------
    Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992, sections 3.5 and 3.7.

    Examples
    --------
    >>> import xarray as xr
    >>> design = xr.Dataset(
    ...     {
    ...         "inclusion_probability": ("pair", [0.5] * 4),
    ...         "stratum": ("pair", [0] * 4),
    ...         "stratum_size": ("stratum_id", [4]),
    ...         "stratum_sample_size": ("stratum_id", [2]),
    ...     },
    ...     attrs={"scheme": "stratified"},
    ... )
    >>> joint_inclusion_probability(design, [0, 0], [0, 1]).round(4)
    array([0.5   , 0.1667])
    """
    scheme = design.attrs["scheme"]
    if scheme not in ("stratified", "poisson", "deterministic"):
        raise ValueError(
            f"joint inclusion probabilities have no closed form under scheme '{scheme}'; "
            "they exist for: deterministic, poisson, stratified"
        )
    one, two = np.broadcast_arrays(np.asarray(first), np.asarray(second))
    probability = design["inclusion_probability"].to_numpy()
    joint = probability[one] * probability[two]
    if scheme == "stratified":
        stratum = design["stratum"].to_numpy()
        size = design["stratum_size"].to_numpy().astype(float)
        drawn = design["stratum_sample_size"].to_numpy().astype(float)
        within = drawn * (drawn - 1.0) / np.maximum(size * (size - 1.0), 1.0)
        same = (stratum[one] == stratum[two]) & (stratum[one] >= 0)
        joint = np.where(same, within[stratum[one]], joint)
    return np.where(one == two, probability[one], joint)
