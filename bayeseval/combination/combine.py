"""One estimate from design and model: short where the model is right, wide where it is not."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.origin import RUN_COORDS
from bayeseval.combination.constants import checked_constants, constants_of, groups_of_runs
from bayeseval.combination.mixture import Floats, Posterior, Prior, robust_posterior
from bayeseval.combination.population import for_population
from bayeseval.combination.sources import Independent, Sources
from bayeseval.evaluation.problem import check_option
from bayeseval.evaluation.topic_groups import Groups, check_groups
from bayeseval.rounding import settled


def combine(
    mean: xr.Dataset,
    post: xr.Dataset,
    *,
    covariance: xr.DataArray | None = None,
    population: str = "sample",
    topic_groups: Groups | None = None,
    constants: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    r"""Design-based estimates and a model's posterior of the same runs, combined.

    A design-based estimate d (of ``dyn``, say) is unbiased for every run and has a wide interval. A
    model's posterior, with mean m and variance c, is narrow, and wrong for runs unlike those that
    the model was fitted to. Both have seen the same judgments. The model's information beyond d,
    :math:`m^*` with the variance :math:`c / (1 - \kappa)` (see the page *methods*), is the centre
    of the prior of the true score of each run,

    .. math:: \theta \sim (1 - w)\, N\left(m^*, \frac{c}{1 - \kappa}
              + \frac{\tau^2}{(1 - \kappa)^2}\right)
              + w\, N\left(m^*, \frac{c}{1 - \kappa} + \frac{\tau_1^2}{(1 - \kappa)^2}\right),
              \qquad d \mid \theta \sim N(\theta, v)

    restricted to [0, 1] where the measure is. v is the variance on which the design's 90 % interval
    rests, widened for its degrees of freedom (c where it is 0), and
    :math:`\kappa = \min(c / v, .95)`. The estimate is the posterior mean: near m where d agrees
    with it, near d where it does not. The variance of the model's own errors is
    :math:`\tau^2 = a^2 c + \min(b^2 v, \tau_1^2)`. The four constants a (``near_ratio``), b
    (``design_ratio``), :math:`\tau_1` (``far_sd``) and w (``far_weight``) were learned on other
    collections, for runs that the model was fitted to and for new runs.

    What is random: the sample, and the true scores of runs like those that the constants were
    learned from; 90 % of the intervals cover the true score on average over such runs, fewer for a
    single one. What breaks it: a model that errs more than on those collections.

    Parameters
    ----------
    mean : Dataset
        Of :func:`mean_over_topics` for these topics, with ``estimator`` "stat" or "dyn".
    post : Dataset
        Of :func:`posterior_scores` for the same collection, sample, measures and runs.
    covariance : DataArray (measure, run, run_other), optional
        Of :func:`covariance` by the same estimator: then the result has one too, and can be
        compared and ranked.
    population : {"sample", "topics"}
        These topics, or the population that they represent, which adds the variance over topics
        that the model's posterior expects: ``post`` has scores per topic then (``over=None``).
    topic_groups, constants : mapping, optional
        Group of every topic, for the population; other ``near_ratio``, ``design_ratio``, ``far_sd``
        and ``far_weight`` of the runs "contributed" (the model was fitted to them) and "new".

    Returns
    -------
    Dataset (measure, run)
        ``estimate``, ``standard_error`` (posterior standard deviation), ``interval``;
        ``model_weight``, the share of the model in the estimate; ``unlike_model``, the posterior
        probability that the run is not as modelled, by the posterior without departures;
        ``covariance`` (measure, run, run_other) where one is given. Coord ``group``.

    References
    ----------
    Schmidli et al. (2014), doi:10.1111/biom.12242.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> coords = {"measure": ["P@10"], "run": ["a"], "contributed": ("run", [True])}
    >>> dims = ("measure", "run")
    >>> mean = xr.Dataset(
    ...     {"estimate": (dims, [[0.5]]), "standard_error": (dims, [[0.03]])},
    ...     coords=coords,
    ...     attrs={"population": "sample", "ci_prob": 0.9},
    ... )
    >>> draws = np.random.default_rng(1).normal(0.48, 0.01, (1, 1000, 1, 1))
    >>> post = xr.Dataset({"estimate": (("chain", "draw", *dims), draws)}, coords=coords)
    >>> errors = {"near_ratio": 1.0, "design_ratio": 0.3, "far_sd": 0.15, "far_weight": 0.05}
    >>> combined = be.combine(mean, post, constants={"contributed": errors})
    >>> combined.estimate.values.round(3), combined.unlike_model.values.round(2)
    (array([[0.483]]), array([[0.01]]))
    """
    check_option(population=population)
    sources = Sources.of(mean, post, covariance)
    if population == "topics" and "topic" not in post["estimate"].dims:
        raise ValueError(
            "for the population of topics post has scores of every topic: give "
            "posterior_scores(..., over=None)"
        )
    check_groups(topic_groups, population, post.get("topic", xr.DataArray([])).to_numpy())
    known, group = checked_constants(constants), groups_of_runs(mean, post.coords.get("learned"))
    fields = {
        name: constants_of(known, sources.kinds, group, name)
        for name in ("near_ratio", "design_ratio", "far_sd", "far_weight")
    }
    independent = sources.independent
    prior = _prior(sources, fields, independent, sources.model_variance)
    posterior = robust_posterior(prior, sources.design, sources.design_variance)
    as_modelled = _prior(sources, fields, sources.as_modelled, sources.modelled_variance)
    unlike = robust_posterior(as_modelled, sources.design, sources.design_variance).unlike_model
    dims, ci_prob = ("measure", "run"), float(mean.attrs.get("ci_prob", 0.9))
    result = xr.Dataset(
        {
            "estimate": (dims, posterior.estimate),
            "standard_error": (dims, settled(np.sqrt(posterior.variance), posterior.estimate)),
            "interval": ((*dims, "ci_bound"), _interval(sources, prior, posterior, ci_prob)),
            "model_weight": (dims, independent.gain * posterior.model_weight),
            "unlike_model": (dims, unlike),
        },
        coords=sources.labels
        | {"ci_bound": ["lower", "upper"], "group": ("run", group)}
        | {name: mean[name] for name in RUN_COORDS if name in mean.coords},
        attrs=mean.attrs | {"estimator": "combined"},
    )
    if sources.design_covariance is not None:
        matrix = _covariance(sources, prior, posterior)
        result = result.assign(covariance=((*dims, "run_other"), matrix))
        result = result.assign_coords(run_other=sources.labels["run"])
    return for_population(result, post, topic_groups) if population == "topics" else result


def _prior(
    sources: Sources, fields: Mapping[str, Floats], independent: Independent, variance: Floats
) -> Prior:
    """Prior (measure, run) around a model's scores, by the constants of every measure and run.

    ``variance`` is that of the model's posterior.
    """
    far = sources.scale * fields["far_sd"]
    least = fields["design_ratio"] * np.sqrt(sources.design_variance)
    least = np.where(far > 0.0, np.minimum(least, far), least)
    own = fields["near_ratio"] ** 2 * variance + least**2
    # where everything is judged there is nothing to add: no run can be other than it is
    uncertain = (sources.design_variance > 0) | (variance > 0)
    far = np.where(uncertain, independent.gain * far, 0.0)
    near = independent.gain**2 * own
    return Prior(
        independent.mean,
        independent.variance + near,
        independent.variance + np.maximum(far**2, near),  # unlike the model is never nearer
        fields["far_weight"],
        np.where(sources.bounded, 0.0, -np.inf),
        np.where(sources.bounded, 1.0, np.inf),
    )


def _interval(sources: Sources, prior: Prior, posterior: Posterior, ci_prob: float) -> Floats:
    """Interval (measure, run, bound) that holds its estimate.

    It ends at 0 or 1 where it would go beyond if scores had no bounds: a quantile within the bounds
    would exclude a score that neither design nor model speaks against.
    """
    tail, estimate = 0.5 * (1.0 - ci_prob), posterior.estimate
    # next to a model that is nearly sure the mean may lie beyond a quantile
    bounds = np.stack(
        [
            np.minimum(posterior.quantile(tail), estimate),
            np.maximum(posterior.quantile(1.0 - tail), estimate),
        ],
        axis=-1,
    )
    unbounded = robust_posterior(
        prior._replace(lower=-np.inf, upper=np.inf), sources.design, sources.design_variance
    )
    low, high = unbounded.quantile(tail) <= 0.0, unbounded.quantile(1.0 - tail) >= 1.0
    clipped = np.clip(bounds, 0.0, 1.0)
    clipped[..., 0][low], clipped[..., 1][high] = 0.0, 1.0
    return np.where(sources.bounded[..., None], clipped, bounds)


def _covariance(sources: Sources, prior: Prior, posterior: Posterior) -> Floats:
    """Covariance (measure, run, run_other) of the errors of the combined estimates.

    With a the share of the model's mean in the estimate of a run, the error is a times that of the
    model plus 1 - a times that of the design. Both have the correlations that the model's posterior
    has; so have the model's own errors. The variances are set to those of the mixture.
    """
    design, independent = sources.design_covariance, sources.independent
    assert design is not None
    result = np.empty(design.shape)
    for index in range(len(result)):
        gain, variance = independent.gain[index], sources.model_variance[index]
        share = gain * posterior.model_weight[index]
        own = np.maximum((prior.near[index] - independent.variance[index]) / gain**2, 0.0)
        unit = np.where(variance > 0, variance, 1.0)
        own_ratio = np.sqrt(own / unit)
        correlated = sources.model_covariance[index]
        model = correlated * (1.0 + np.outer(own_ratio, own_ratio))
        np.fill_diagonal(model, variance + own)
        common = np.sqrt(np.minimum(1.0, sources.design_variance[index] / unit))
        crossed = np.outer(share, 1.0 - share) * correlated * np.outer(common, common)
        matrix = np.outer(share, share) * model + crossed + crossed.T
        matrix += np.outer(1.0 - share, 1.0 - share) * design[index]
        # design and model are estimated separately: the nearest matrix without negative eigenvalues
        values, vectors = np.linalg.eigh(matrix)
        matrix = (vectors * np.maximum(values, 0.0)) @ vectors.T
        size = np.sqrt(posterior.variance[index] / np.maximum(np.diagonal(matrix), 1e-300))
        result[index] = matrix * np.outer(size, size)
        np.fill_diagonal(result[index], posterior.variance[index])
    return result
