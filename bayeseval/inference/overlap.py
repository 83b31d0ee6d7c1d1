"""How much of a posterior is the prior: what data did not decide."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

N_BINS = 30
FEW_ENTRIES = 8


def prior_overlap(drawn: xr.DataTree) -> xr.Dataset:
    r"""Overlap of the prior and the posterior of the parameters of a model, and how far they lie.

    .. math:: overlap = \int \min(p(\theta), p(\theta \mid y)) \, d\theta, \quad
              contraction = 1 - \frac{Var(\theta \mid y)}{Var(\theta)}, \quad
              shift = \frac{E(\theta \mid y) - E(\theta)}{\sqrt{Var(\theta)}}

    An overlap near 1 with a contraction near 0 is a parameter of which the data say nothing: what
    is reported is the prior. Of the urn, logit q and log w are often like that and their contrast
    is not. The densities are histograms of 30 bins with as many of all draws in each: equal
    distributions have an overlap of some .9 with 500 draws of each, not of 1.

    A shift beyond 2 or so says that the data put the parameter where its prior expects next to
    nothing: over data drawn from the prior the mean of the squared shift is that of the
    contraction, 1 at most. Overlap and contraction do not tell this from a parameter that is known
    well. The prior then still pulls at what the data say: fit with a wider one (``priors=``) and
    see what the scores do.

    Parameters are the variables without dims, and the entries of those with 8 at most, but for
    entries of runs and topics.

    What is random: the draws. Cost: none to speak of.

    Parameters
    ----------
    drawn : DataTree
        With the groups prior and posterior, as :func:`bayeseval.inference.predictive_draws` gives
        it.

    Returns
    -------
    Dataset
        ``overlap``, ``contraction``, ``shift``, and mean and standard deviation under the prior
        and the posterior, over ``variable`` (an entry is ``name[label]``).

    Raises
    ------
    ValueError
        A group that is not there.

    References
    ----------
    Garrett and Zeger, "Latent class model diagnosis", Biometrics 56 (2000), on the overlap as a
    sign of weak identification. Gelfand and Sahu, JASA 94 (1999). Evans and Moshonov, "Checking for
    prior-data conflict", Bayesian Analysis 1 (2006).

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> random = np.random.default_rng(1)
    >>> draws = {name: random.normal(0, sd, (1, 500)) for name, sd in (("a", 1), ("b", 0.1))}
    >>> wide = {name: (("chain", "draw"), random.normal(size=(1, 500))) for name in draws}
    >>> narrow = {name: (("chain", "draw"), values) for name, values in draws.items()}
    >>> groups = {"prior": xr.Dataset(wide), "posterior": xr.Dataset(narrow)}
    >>> be.inference.prior_overlap(xr.DataTree.from_dict(groups)).overlap.values.round(1)
    array([0.9, 0.2])
    """
    for group in ("prior", "posterior"):
        if group not in drawn.children:
            raise ValueError(f"there is no group '{group}'; give the draws of predictive_draws")
    prior, posterior = (drawn[group].to_dataset() for group in ("prior", "posterior"))
    before, after = _entries(prior), _entries(posterior)
    names = [name for name in after if name in before]
    pairs = [(before[name], after[name]) for name in names]
    variance = [(float(np.var(a, ddof=1)), float(np.var(b, ddof=1))) for a, b in pairs]
    columns = {
        "overlap": [_overlap(a, b) for a, b in pairs],
        "contraction": [1.0 - b / a if a > 0 else np.nan for a, b in variance],
        "shift": [_shift(a, b) for a, b in pairs],
        "prior_mean": [a.mean() for a, _ in pairs],
        "prior_sd": [a**0.5 for a, _ in variance],
        "posterior_mean": [b.mean() for _, b in pairs],
        "posterior_sd": [b**0.5 for _, b in variance],
    }
    variables = {name: ("variable", np.array(values)) for name, values in columns.items()}
    return xr.Dataset(variables, coords={"variable": names})


def _entries(draws: xr.Dataset) -> dict[str, NDArray[np.float64]]:
    """Draws of each parameter, and of each entry of those that have few, by name."""
    found = {}
    for name, values in draws.data_vars.items():
        own = [str(dim) for dim in values.dims if dim not in ("chain", "draw")]
        shape = tuple(values.sizes[dim] for dim in own)
        if np.prod(shape) > FEW_ENTRIES or not {"run", "topic"}.isdisjoint(own):
            continue
        entries = values.transpose(*own, "chain", "draw").to_numpy()
        for at in np.ndindex(shape):
            labels = [str(values[dim].to_numpy()[i]) for dim, i in zip(own, at, strict=True)]
            found[f"{name}[{', '.join(labels)}]" if own else str(name)] = entries[at].ravel()
    return found


def _shift(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Distance of the means in standard deviations of the first."""
    spread = float(before.std(ddof=1))
    return float(after.mean() - before.mean()) / spread if spread > 0 else np.nan


def _overlap(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Sum over bins of the smaller of the two shares."""
    share = np.concatenate([np.full(x.size, 0.5 / x.size) for x in (before, after)])
    values = np.concatenate([before, after])
    order = np.argsort(values)
    reached = np.searchsorted(np.cumsum(share[order]), np.arange(1, N_BINS) / N_BINS)
    edges = values[order][reached]
    counts = [
        np.bincount(np.searchsorted(edges, x), minlength=N_BINS) / x.size for x in (before, after)
    ]
    return float(np.minimum(*counts).sum())
