"""Drawing a sample from a design."""

import numpy as np
import xarray as xr

DRAW_STREAM = 1
SCHEMES = ("deterministic", "poisson", "stratified")


def draw(
    design: xr.Dataset, *, n_replicates: int | None = None, random_seed: int | None
) -> xr.DataArray:
    """Pairs to judge: one sample of a design, or many.

    Stratified designs draw exactly ``stratum_sample_size`` pairs of each stratum without
    replacement, all subsets equally likely; Poisson designs select each pair on its own;
    deterministic designs always give the same pairs.

    Parameters
    ----------
    design : Dataset
        A design of :mod:`bayeseval.designs`.
    n_replicates : int, optional
        Draw that many independent samples, along a dim ``replicate``.
    random_seed : int or None
        Seed; kept in attrs.

    Returns
    -------
    DataArray
        bool (pair,), or (replicate, pair).

    Raises
    ------
    ValueError
        ``n_replicates`` below 1; a design that cannot be drawn from because only its sampled pairs
        are listed (prels, probs).

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdef")})
    >>> collection = be.read_collection(None, run.assign(score=range(6)))
    >>> design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    >>> be.draw(design, n_replicates=3, random_seed=1).sum("pair").values
    array([4, 4, 4])
    """
    if n_replicates is not None and n_replicates < 1:
        raise ValueError(f"n_replicates must be 1 or more, not {n_replicates}")
    probability = design["inclusion_probability"].to_numpy()
    if np.isnan(probability).any():
        raise ValueError(
            "this design lists only the pairs that were sampled (prels or probs), so it cannot be "
            "drawn from again"
        )
    if design.attrs["scheme"] not in SCHEMES:
        raise ValueError(
            f"a design of scheme '{design.attrs['scheme']}' cannot be drawn from; schemes that "
            "can: "
            f"{', '.join(SCHEMES)}"
        )
    # a stream of its own: the strata of a design may have been made with the same seed
    random = np.random.default_rng(None if random_seed is None else [random_seed, DRAW_STREAM])
    selected = np.zeros((n_replicates or 1, probability.size), dtype=bool)
    if design.attrs["scheme"] == "stratified":
        _draw_stratified(selected, design, random)
    else:
        frame = np.flatnonzero(probability > 0)
        selected[:, frame] = random.random((len(selected), frame.size)) < probability[frame]
    attrs = {} if random_seed is None else {"seed": int(random_seed)}
    if n_replicates is None:
        return xr.DataArray(selected[0], dims="pair", name="selected", attrs=attrs)
    return xr.DataArray(selected, dims=("replicate", "pair"), name="selected", attrs=attrs)


def _draw_stratified(selected: np.ndarray, design: xr.Dataset, random: np.random.Generator) -> None:
    """Mark in place, in each stratum, the pairs with the smallest random keys."""
    stratum = design["stratum"].to_numpy()
    frame = np.flatnonzero(stratum >= 0)
    by_stratum = frame[np.argsort(stratum[frame], kind="stable")]
    sizes = np.bincount(stratum[frame], minlength=design.sizes["stratum_id"])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    number = np.repeat(np.arange(sizes.size), sizes)
    place = np.arange(by_stratum.size) - np.repeat(first, sizes)
    chosen = place < design["stratum_sample_size"].to_numpy()[number]
    for row in selected:
        # a uniform key in [0, 1) added to the stratum number sorts within strata in one pass
        shuffled = np.argsort(number + random.random(by_stratum.size))
        row[by_stratum[shuffled[chosen]]] = True
