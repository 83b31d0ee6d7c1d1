"""True scores as a model's scores and a discrepancy, seen through a design's estimates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.models.identity import name_model
from bayeseval.models.priors import checked_priors
from bayeseval.models.score.constants import constants_by_group
from bayeseval.models.score.sources import Sources

PRIORS: dict[str, tuple[float, ...]] = {
    "log_near_ratio": (0.0, 0.5),
    "logit_far_weight": (0.0, 1.0),
    "common": (0.0, 1.0),
}
JITTER = 1e-6  # of the mean variance: runs that are one and the same have a singular covariance


def score_model(
    mean: xr.Dataset,
    post: xr.Dataset,
    *,
    covariance: xr.DataArray | None = None,
    groups: str | Mapping[str, str] | None = None,
    priors: Mapping[str, Any] | None = None,
    constants: Mapping[str, Any] | None = None,
):
    r"""Model of the true scores of runs, from a design's estimates and another model's posterior.

    .. math:: \eta \sim N(m^*, C^*), \quad
              \delta_r \sim (1 - w_g) N(0, \tau_{gr}^2) + w_g N(0, \tau_{1r}^2),
              \quad \theta_r = \eta_r + \lambda_r + \delta_r, \quad d \sim N(\theta, V)

    d and V are the estimates of the design and their covariance, m* and C* what the posterior draws
    say beyond them (:class:`bayeseval.models.score.independent.Independent`, whose gain multiplies
    all errors of the model), g the group of the run, :math:`\tau_{gr}` a multiple :math:`\tau_g` of
    what the constants say of the run, and :math:`\lambda_r` a multiple of its posterior standard
    deviation, the same for all runs (it comes on top here, where ``combine`` counts it as a part).
    It is the model behind :func:`bayeseval.combine`, which takes each run by itself and the
    constants as given; here :math:`\tau_g` and :math:`w_g` are learned from all runs, around the
    constants, and the design's covariance is used in full, as if m* of one run had nothing to do
    with d of another. Discrepancies are independent, so that two runs that are nearly alike have a
    difference with an error here, and next to none in ``combine``. It is for those who want to
    extend it: what the design got wrong for all runs
    it may take for an error of the model, for both look alike. With 44 runs 500 draws a chain were
    too few for its verdict: take more.

    ================  ==================  ==========================================================
    name in priors    default             why
    ================  ==================  ==========================================================
    log_near_ratio    Normal(0, 0.5)      log of :math:`\tau_g`; ``near_ratio`` and ``design_ratio``
                                          hold where it is 0
    logit_far_weight  Normal(0, 1)        log odds of :math:`w_g` less those of ``far_weight``
    common            Normal(0, 1)        :math:`\lambda` over the constant ``common_ratio``
    ================  ==================  ==========================================================

    Parameters
    ----------
    mean, post, covariance, groups, constants
        As for :func:`bayeseval.combine`, with one measure and ``population="sample"``; without a
        covariance V is diagonal.
    priors : dict, optional
        Other (mean, sd) for the table's.

    Returns
    -------
    pymc.Model
        Dims run and group; ``score`` (run) is the true score, ``estimate`` (run) what the design
        saw of it. :func:`bayeseval.fit` observes it with the data ``judged_estimate``.

    Raises
    ------
    ValueError
        More than one measure; the population of topics; a run whose score is known without error;
        what :func:`bayeseval.combine` refuses.

    References
    ----------
    Kennedy and O'Hagan, "Bayesian calibration of computer models", JRSS B 63 (2001), on
    discrepancies. Schmidli et al. (2014), doi:10.1111/biom.12242.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> coords = {"measure": ["P@10"], "run": ["a", "b"], "contributed": ("run", [True, True])}
    >>> dims = ("measure", "run")
    >>> mean = xr.Dataset(
    ...     {
    ...         "estimate": (dims, [[0.5, 0.4]]),
    ...         "standard_error": (dims, [[0.03, 0.03]]),
    ...         "degrees_of_freedom": (dims, [[np.inf, np.inf]]),
    ...         "interval": ((*dims, "ci_bound"), [[[0.45, 0.55], [0.35, 0.45]]]),
    ...     },
    ...     coords=coords,
    ...     attrs={"population": "sample", "ci_prob": 0.9},
    ... )
    >>> draws = np.random.default_rng(1).normal(0.45, 0.01, (1, 100, 1, 2))
    >>> post = xr.Dataset({"estimate": (("chain", "draw", *dims), draws)}, coords=coords)
    >>> [variable.name for variable in be.models.score_model(mean, post).free_RVs]
    ['log_near_ratio', 'logit_far_weight', 'common', 'model_deviation', 'discrepancy', 'estimate']
    """
    import pymc as pm
    import pytensor.tensor as pt

    numbers = checked_priors(PRIORS, priors)
    sources = Sources.of(mean, post, covariance)
    if mean.sizes.get("measure", 1) != 1:
        raise ValueError(
            f"a score model is of one measure, not {mean.sizes['measure']}; pick one with "
            "sel(measure=[...])"
        )
    if mean.attrs.get("population") == "topics":
        raise ValueError("a score model is of these topics; take means of population 'sample'")
    known, group = constants_by_group(mean, groups, constants, post.coords.get("learned"))
    names, of_run = np.unique(group, return_inverse=True)
    near, beside, common, far, weight = (
        np.array([getattr(known[sources.kinds[0], name], field) for name in names])
        for field in ("near_ratio", "design_ratio", "common_ratio", "far_sd", "far_weight")
    )
    scale = float(sources.scale[0, 0])
    design = _design_covariance(sources)
    with pm.Model(coords={"run": sources.labels["run"], "group": names}) as model:
        name_model("score_model")
        tensor: Any = pt
        log_near: Any = pm.Normal("log_near_ratio", *numbers["log_near_ratio"], dims="group")
        multiple: Any = pm.Deterministic("near_multiple", tensor.exp(log_near), dims="group")
        odds: Any = pm.Normal("logit_far_weight", *numbers["logit_far_weight"], dims="group")
        start = np.log(weight) - np.log1p(-weight)
        far_weight: Any = pm.Deterministic("far_weight", pt.sigmoid(start + odds), dims="group")
        shared: Any = pm.Normal("common", *numbers["common"])
        unit: Any = pm.Normal("model_deviation", 0.0, 1.0, dims="run")
        says, posterior_sd = sources.independent, np.sqrt(sources.model_variance[0])
        gain = says.gain[0]
        own = np.sqrt(gain)
        root = _root(sources.model_covariance[0] * np.outer(own, own))
        model_score = says.mean[0] + pt.dot(root, unit)
        share = pt.stack([1.0 - far_weight[of_run], far_weight[of_run]], axis=1)
        far_sd = scale * far[of_run]
        beside_sd = sources.beside_design(beside[of_run][None], far_sd[None])[0]
        own_sd = np.hypot(near[of_run] * posterior_sd, beside_sd)
        near_sd = gain * own_sd * multiple[of_run]
        spread = pt.stack([near_sd, np.asarray(gain * far_sd)], axis=1)
        off: Any = pm.NormalMixture("discrepancy", w=share, mu=np.zeros((of_run.size, 2)),
                                    sigma=spread, dims="run")  # fmt: skip
        common_error = gain * posterior_sd * common[of_run] * shared
        score = pm.Deterministic("score", model_score + common_error + off, dims="run")
        pm.Data("judged_estimate", sources.design[0], dims="run")
        pm.MvNormal("estimate", score, cov=design, dims="run")
    return model


def _design_covariance(sources: Sources) -> NDArray[np.float64]:
    """Covariance of the design's estimates, with the variances widened as in the combination."""
    variance = sources.design_variance[0]
    sure = sources.labels["run"][variance == 0]
    if sure.size:
        raise ValueError(
            f"the score of run '{sure[0]}' is known without error; leave such runs out, there is "
            "nothing to model"
        )
    if sources.design_covariance is None:
        matrix = np.diag(variance)
    else:
        matrix = sources.design_covariance[0].copy()
        ratio = np.sqrt(variance / np.maximum(np.diagonal(matrix), 1e-300))
        matrix *= np.outer(ratio, ratio)
    np.fill_diagonal(matrix, variance * (1.0 + JITTER))
    return matrix


def _root(matrix: NDArray) -> NDArray[np.float64]:
    """Symmetric root, of a matrix that may be singular."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
