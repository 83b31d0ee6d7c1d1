"""One estimate from design and model: short where the model is right, wide where it is not."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice
from bayeseval.collection.origin import RUN_COORDS
from bayeseval.combination.each_run import intervals_for_each
from bayeseval.combination.mixture import Posterior, Prior, robust_posterior
from bayeseval.models.score.constants import constants_by_group
from bayeseval.models.score.independent import Independent
from bayeseval.models.score.sources import Sources
from bayeseval.rounding import settled

GUARANTEES = ("average", "each")

Floats = NDArray[np.floating]


def combine(
    mean: xr.Dataset,
    post: xr.Dataset,
    *,
    covariance: xr.DataArray | None = None,
    guarantee: str = "average",
    groups: str | Mapping[str, str] | None = None,
    constants: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    r"""Design-based estimates and a model's posterior of the same runs, combined.

    A design-based estimate d (of ``dyn``, say) is unbiased for every run and wide; a model's
    posterior, with mean m and variance c, is narrow and wrong for runs unlike those it learned
    from. Both have seen the same judgments. What the model says beyond d, :math:`m^*` with the
    variance :math:`c / (1 - \kappa)` (:class:`bayeseval.models.score.independent.Independent`), is
    the centre of the prior of each run's true score,

    .. math:: \theta \sim (1 - w)\, N\left(m^*, \frac{c}{1 - \kappa}
              + \frac{\tau^2}{(1 - \kappa)^2}\right)
              + w\, N\left(m^*, \frac{c}{1 - \kappa} + \frac{\tau_1^2}{(1 - \kappa)^2}\right),
              \qquad d \mid \theta \sim N(\theta, v)

    with v the variance on which the design's 90 % interval rests (raised by what the predictions
    lead one to expect, widened for its degrees of freedom), raised where it is far below that of
    the other runs (to 4 c at most) or 0 (to c at least), and :math:`\kappa = \min(c / v, .95)`.
    The estimate is the posterior mean: near m where d does not object, near d where it does. Where
    the model makes no errors at all, :math:`\tau = w = 0`, it is m with variance c: no judgment
    counts twice. The variance of the model's own errors,
    :math:`\tau^2 = a^2 c + \min(b^2 v, \tau_1^2)`, has the ratios a (``near_ratio``) and b
    (``design_ratio``); these, :math:`\tau_1` and w come from other collections
    (:mod:`bayeseval.models.score.constants`), one set for runs that the model learned from and one
    for new runs.

    What is promised: with ``guarantee="average"`` 90 % of the runs' intervals hold, on average over
    runs like those that the constants were learned from; for a single run that the model has wrong
    by about :math:`\tau_1 / 4` it is less. On six collections, the constants learned without each,
    .92 to .95 of the intervals of P@10 and RBP held, where those of ``dyn`` held .91 to .92 (of
    dual runs, made to mislead, .85 and .81, those of ``dyn`` .87 and .83); on one where all runs
    are misled together .82 to .93. Of differences between runs .93 to .95 held. With ``"each"`` the
    interval would hold for each run whatever the model says, if m* did not depend on d; it is
    uncorrelated with d where the model's posterior is right, and .91 to .93 held (.84 and .78 of
    dual runs). No interval that holds for each run can be shorter, in expectation, than .81 of the
    design's. What breaks it: errors of the model that are larger than where the constants were
    learned (``benchmarks/combined_intervals/README.md``).

    Parameters
    ----------
    mean : Dataset
        Of :func:`mean_over_topics`, with ``estimator`` "stat" or "dyn".
    post : Dataset
        Of :func:`posterior_scores` for the same collection, sample, measures and runs; scores per
        topic (``over=None``) where the population is "topics".
    covariance : DataArray (measure, run, run_other), optional
        Of :func:`covariance` by the same estimator: then the result has one too, and can be
        compared and ranked. What topics as a sample add has the correlations over these topics of
        the posterior mean scores.
    guarantee : {"average", "each"}
        Of the intervals of scores; differences and ranks, which rest on the covariance, hold on
        average over runs in both.
    groups : str or mapping of run to group, optional
        A coord of the means, or a group for every run; default: "contributed" for runs that the
        model learned from (coord ``learned`` of the posterior scores), else "new".
    constants : mapping of group to mapping, optional
        Other numbers for those of the package: ``near_ratio`` and ``common_ratio`` (in units of the
        posterior standard deviation), ``design_ratio`` (of the design's standard error), ``far_sd``
        (in units of the score) and ``far_weight``.
        ``apart_ratio`` and ``alone_ratio`` are for :func:`bayeseval.with_model_errors`,
        ``flag_ratio`` is for :func:`bayeseval.compare_intervals`.

    Returns
    -------
    Dataset (measure, run)
        ``estimate``, ``standard_error`` (posterior standard deviation), ``interval`` (within [0, 1]
        but for sums, where the estimate is);
        ``model_weight``, the share of the model in the estimate; ``conflict``, the posterior
        probability that the run is not as modelled, and ``conflict_modelled``, the same without
        departures, which flags runs unlike those of the model; ``design_length``, the length of the
        design's interval; ``covariance`` (measure, run, run_other) where one is given.

    Raises
    ------
    ValueError
        Results of other collections, samples, populations, ``ci_prob`` or ``outside``; estimates
        without a standard error; one posterior draw; measures or runs of the means that the
        posterior lacks; draws of ``urn_model``; an unknown option.

    References
    ----------
    Schmidli et al. (2014), doi:10.1111/biom.12242. Yu and Hoff (2018), doi:10.1093/biomet/asy009.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> coords = {"measure": ["P@10"], "run": ["a"], "contributed": ("run", [True])}
    >>> dims = ("measure", "run")
    >>> mean = xr.Dataset(
    ...     {
    ...         "estimate": (dims, [[0.5]]),
    ...         "standard_error": (dims, [[0.03]]),
    ...         "degrees_of_freedom": (dims, [[np.inf]]),
    ...         "interval": ((*dims, "ci_bound"), [[[0.45, 0.55]]]),
    ...     },
    ...     coords=coords,
    ...     attrs={"population": "sample", "ci_prob": 0.9},
    ... )
    >>> draws = np.random.default_rng(1).normal(0.48, 0.01, (1, 1000, 1, 1))
    >>> post = xr.Dataset({"estimate": (("chain", "draw", *dims), draws)}, coords=coords)
    >>> errors = {"near_ratio": 1.0, "design_ratio": 0.3, "far_sd": 0.15, "far_weight": 0.05}
    >>> combined = be.combine(mean, post, constants={"contributed": errors})
    >>> combined.estimate.values.round(3), combined.conflict.values.round(2)
    (array([[0.483]]), array([[0.01]]))
    """
    check_choice("guarantee", guarantee, GUARANTEES)
    sources = Sources.of(mean, post, covariance)
    known, group = constants_by_group(mean, groups, constants, post.coords.get("learned"))
    says = sources.independent
    prior = _prior(sources, known, group, says, sources.model_variance)
    found = robust_posterior(prior, sources.design, sources.design_variance)
    plain = _prior(sources, known, group, sources.as_modelled, sources.modelled_variance)
    flagged = robust_posterior(plain, sources.design, sources.design_variance).conflict
    whole = found.widened(sources.topic_variance)
    ci_prob = float(mean.attrs.get("ci_prob", 0.9))
    tail = 0.5 * (1.0 - ci_prob)
    if guarantee == "each":
        low, high = _each(sources, prior, ci_prob)
    else:
        low, high = whole.quantile(tail), whole.quantile(1.0 - tail)
    low = np.where(sources.bounded, np.maximum(low, 0.0), low)  # which no score can be below
    high = np.where(sources.bounded, np.minimum(high, 1.0), high)
    # beside a model that is nearly sure the mean may lie beyond a quantile, or outside the hull
    low, high = np.minimum(low, whole.estimate), np.maximum(high, whole.estimate)
    dims = ("measure", "run")
    result = xr.Dataset(
        {
            "estimate": (dims, whole.estimate),
            "standard_error": (dims, settled(np.sqrt(whole.total_variance), whole.estimate)),
            "interval": ((*dims, "ci_bound"), np.stack([low, high], axis=-1)),
            "model_weight": (dims, says.gain * whole.model_weight),
            "conflict": (dims, whole.conflict),
            "conflict_modelled": (dims, flagged),
            "design_length": (dims, sources.design_length),
        },
        coords=sources.labels
        | {"ci_bound": ["lower", "upper"], "group": ("run", group)}
        | {name: mean[name] for name in RUN_COORDS if name in mean.coords},
        attrs=mean.attrs | {"estimator": "combined", "guarantee": guarantee},
    )
    if sources.design_covariance is None:
        return result
    common = _of_runs(sources, known, group, "common_ratio") * np.sqrt(sources.model_variance)
    matrix = _covariance(sources, prior, found, common) + sources.topic_covariance
    return result.assign(covariance=(("measure", "run", "run_other"), matrix)).assign_coords(
        run_other=sources.labels["run"]
    )


def _prior(sources: Sources, known, group: NDArray, says: Independent, variance: Floats) -> Prior:
    """Prior (measure, run) around what a model says, by the constants of the runs' groups.

    ``variance`` is that of the model's posterior.
    """
    near, beside, far, weight = (
        _of_runs(sources, known, group, field)
        for field in ("near_ratio", "design_ratio", "far_sd", "far_weight")
    )
    # where everything is judged there is nothing to add: no run can be other than it is
    open_still = (sources.design_variance > 0) | (variance > 0)
    far = sources.scale * far
    own = near**2 * variance + sources.beside_design(beside, far) ** 2
    far = np.where(open_still, says.gain * far, 0.0)
    return Prior(says.mean, says.variance + says.gain**2 * own, says.variance + far**2, weight)


def _of_runs(sources: Sources, known, group: NDArray, field: str) -> Floats:
    """A constant of every measure and run."""
    return np.array([[getattr(known[kind, one], field) for one in group] for kind in sources.kinds])


def _each(sources: Sources, prior: Prior, ci_prob: float) -> tuple[Floats, Floats]:
    """Lower and upper bounds (measure, run) of intervals that would hold for each run."""
    from scipy.special import ndtri

    error = np.sqrt(sources.design_variance)
    topics = ndtri(0.5 * (1.0 + ci_prob)) ** 2 * sources.topic_variance
    rows = []
    for index, design in enumerate(sources.design):
        one = Prior(*(part[index] for part in prior))
        low, high = intervals_for_each(one, design, error[index], ci_prob)
        # topics as a sample add an error of their own on each side
        below, above = (
            np.hypot(half, np.sqrt(topics[index])) for half in (design - low, high - design)
        )
        rows.append((design - below, design + above))
    lower, upper = zip(*rows, strict=True)
    return np.stack(lower), np.stack(upper)


def _covariance(sources: Sources, prior: Prior, found: Posterior, common: Floats) -> Floats:
    """Covariance (measure, run, run_other) of the errors of the combined estimates.

    With a the share of the model's mean in every run's estimate, the error is a times that of the
    model plus 1 - a times that of the design, and these two go together as the model's posterior
    does; the variances are set to those of the mixture. ``common`` (measure, run) is the standard
    deviation of what the model's own errors share; the rest of them has the correlations of the
    posterior, so that runs that are nearly alike err alike.
    """
    design, says = sources.design_covariance, sources.independent
    assert design is not None
    result = np.empty(design.shape)
    for index in range(len(result)):
        gain, variance = says.gain[index], sources.model_variance[index]
        share = gain * found.model_weight[index]
        own = (prior.near[index] - says.variance[index]) / gain**2
        shared = np.minimum(common[index], np.sqrt(np.maximum(own, 0.0)))
        posterior = sources.model_covariance[index]
        rest = np.sqrt(np.maximum(own - shared**2, 0.0) / np.where(variance > 0, variance, 1.0))
        model = posterior * (1.0 + np.outer(rest, rest)) + np.outer(shared, shared)
        np.fill_diagonal(model, variance + own)
        known = sources.design_variance[index]
        seen = np.sqrt(np.minimum(1.0, known / np.where(variance > 0, variance, 1.0)))
        both = np.outer(share, 1.0 - share) * posterior * np.outer(seen, seen)
        matrix = np.outer(share, share) * model + both + both.T
        matrix += np.outer(1.0 - share, 1.0 - share) * design[index]
        matrix = _positive(matrix)
        size = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
        wanted = np.sqrt(found.total_variance[index])
        result[index] = matrix * np.outer(wanted / size, wanted / size)
        np.fill_diagonal(result[index], found.total_variance[index])
    return result


def _positive(matrix: Floats) -> Floats:
    """The nearest matrix without negative eigenvalues: V and C are estimated apart."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
