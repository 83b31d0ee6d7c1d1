"""Estimates of a design and posterior of a model as plain arrays of the same measures and runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.origin import (
    check_alike,
    check_covariance,
    check_drawn_together,
    check_several_draws,
)
from bayeseval.combination.constants import kinds_of_measures
from bayeseval.combination.population import bounded, widening
from bayeseval.rounding import ratio, settled

Floats = NDArray[np.floating]
DIMS = ("measure", "run")
MOST = 0.95  # the largest share of the design's variance that design and model have in common


@dataclass(frozen=True, eq=False)
class Independent:
    r"""A model's posterior, made independent of the estimate of a design from the same judgments.

    Model and design have seen the same judgments, so their errors go together. Where the model is
    right its posterior mean m is the expectation of the true score given all judgments, hence its
    error is uncorrelated with everything that they determine, the design's estimate d too:
    :math:`0 = Cov(m - \theta, d) = Cov(m - \theta, d - \theta) - Var(\theta \mid judgments)`, and

    .. math:: Cov(m - \theta, d - \theta) = c

    on average, with c the posterior variance. With :math:`\kappa = \min(c / v, .95)`, v the
    variance of d, the model's information beyond d is

    .. math:: m^* = \frac{m - \kappa d}{1 - \kappa}

    whose error is uncorrelated with that of d, has the variance :math:`c / (1 - \kappa)` about the
    true score, and multiplies the model's own errors by :math:`1 / (1 - \kappa)`. Where the model
    is right m* and d together give m with variance c again, and no judgment counts twice.

    Parameters
    ----------
    mean, variance : float array (measure, run)
        m* and its variance where the model is right.
    gain : float array (measure, run)
        The factor that multiplies the model's own errors.

    Examples
    --------
    >>> one = [np.array([[value]]) for value in (0.50, 0.010**2, 0.54, 0.020**2)]
    >>> independent = Independent.of(*one)
    >>> independent.mean.round(4), independent.gain.round(3)
    (array([[0.4867]]), array([[1.333]]))

    Both together give the model's mean again:

    >>> weight = np.array([1 / independent.variance, 1 / one[3]])
    >>> np.average([independent.mean, one[2]], weights=weight, axis=0).round(4)
    array([[0.5]])
    """

    mean: Floats
    variance: Floats
    gain: Floats

    @classmethod
    def of(
        cls, mean: Floats, variance: Floats, design: Floats, design_variance: Floats
    ) -> "Independent":
        """Of a model's mean and variance, and of a design's estimate and variance."""
        gain = 1.0 / (1.0 - np.minimum(ratio(variance, design_variance), MOST))
        return cls(design + gain * (mean - design), gain * variance, gain)


@dataclass(frozen=True, eq=False)
class Sources:
    """What the combination works on; arrays (measure, run), covariances (measure, run, run)."""

    labels: dict[str, Any]  # of measure and run
    # estimates, and their variances about the true scores of these topics, widened for their
    # degrees of freedom
    design: Floats
    design_variance: Floats
    design_covariance: Floats | None
    # of the posterior draws
    model: Floats
    model_variance: Floats
    model_covariance: Floats
    # the same for runs that depart from the model, if they did not
    modelled: Floats
    modelled_variance: Floats
    # (measure, 1): largest score: 1, or for sums the largest estimate of design or model
    scale: Floats
    # (measure, 1): whether scores lie in [0, 1]: sums have no largest one
    bounded: NDArray[np.bool_]
    kinds: list[str]  # of the measures, which have their own constants

    @property
    def independent(self) -> Independent:
        """The model's information beyond the design's estimate."""
        return Independent.of(self.model, self.model_variance, self.design, self.design_variance)

    @property
    def as_modelled(self) -> Independent:
        """The same if no run departed from the model."""
        return Independent.of(
            self.modelled, self.modelled_variance, self.design, self.design_variance
        )

    @classmethod
    def of(cls, mean: xr.Dataset, post: xr.Dataset, covariance: xr.DataArray | None) -> "Sources":
        """Arrays of means and draws, after checking that they belong together."""
        _check(mean, post)
        labels = {dim: np.atleast_1d(mean[dim].to_numpy()) for dim in DIMS}
        post = _like(post, labels)
        model, model_covariance = moments(post["estimate"])
        variance = np.diagonal(model_covariance, axis1=1, axis2=2).copy()
        modelled, modelled_variance = model, variance
        if "modelled_mean" in post:
            centre, error = _array(post["modelled_mean"]), _array(post["modelled_error"])
            departs = ~np.isnan(centre)
            modelled = np.where(departs, centre, model)
            modelled_variance = np.where(departs, error**2, variance)
        design = _array(mean["estimate"])
        own = _variance(mean)
        # where no judged document of a run differs from its prediction, the estimated variance is 0
        own = np.where(own > 0, own, variance)
        matrix = None
        if covariance is not None:
            check_covariance(mean, covariance)
            matrix = _like(covariance, labels | {"run_other": labels["run"]})
            matrix = matrix.transpose(*DIMS, "run_other").to_numpy()
        names: list[str] = labels["measure"].tolist()
        is_bounded = bounded(names).to_numpy()[:, None]
        largest = np.maximum(np.abs(design), np.abs(model)).max(axis=1, keepdims=True)
        return cls(
            labels=labels,
            design=design,
            design_variance=own,
            design_covariance=matrix,
            model=model,
            model_variance=variance,
            model_covariance=model_covariance,
            modelled=modelled,
            modelled_variance=modelled_variance,
            scale=np.where(is_bounded, 1.0, largest),
            bounded=is_bounded,
            kinds=kinds_of_measures(names),
        )


def _check(mean: xr.Dataset, post: xr.Dataset) -> None:
    """Refuse what cannot be joined."""
    for name, scores in (("mean", mean), ("post", post)):
        if not isinstance(scores, xr.Dataset) or "estimate" not in scores:
            raise ValueError(f"{name} must be a Dataset with `estimate`")
    if "topics" in (mean.attrs.get("population"), post.attrs.get("population")):
        raise ValueError(
            "scores of these topics are combined first: give means and draws with "
            "population='sample', and population='topics' here"
        )
    check_alike(mean, post, ("the means", "the posterior scores"))
    if "standard_error" not in mean or "topic" in mean["estimate"].dims:
        raise ValueError("mean must be what mean_over_topics returns")
    if "fingerprint" in mean.attrs and "population" not in mean.attrs:
        raise ValueError(
            "mean must be what mean_over_topics returns: the mean of the errors of topics is not "
            "the error of a mean over topics"
        )
    if mean.attrs.get("estimator") == "combined":
        raise ValueError(
            "mean is combined with a model already; give the design's estimates, as "
            "mean_over_topics returns them"
        )
    for name, scores in (("mean", mean), ("post", post)):
        missing = [dim for dim in DIMS if dim not in scores["estimate"].dims]
        if missing:
            raise ValueError(
                f"{name} has no dim {missing[0]}; pick one with sel({missing[0]}=[...]), a list, "
                "which keeps it"
            )
    if "replicate" in mean.dims:
        raise ValueError("estimates of one sample are combined; pick one with isel(replicate=0)")
    if not {"chain", "draw"} <= set(post["estimate"].dims):
        raise ValueError("post must be posterior draws, as posterior_scores returns them")
    check_drawn_together(post)
    check_several_draws(post["estimate"])
    if bool((mean["standard_error"] < 0).any()):
        raise ValueError("a standard error of the means is below 0")
    if bool(mean["estimate"].isnull().any()):
        raise ValueError("the means hold NaN; combine runs and measures that have scores")
    if bool(mean["standard_error"].isnull().any()):
        raise ValueError(
            "the means need a standard error, which 'stat' and 'dyn' give; some are NaN"
        )


def _like(scores: Any, labels: dict[str, Any]) -> Any:
    """Posterior or covariance in the order of the labels of the means."""
    for dim, values in labels.items():
        if dim not in scores.dims:
            scores = scores.expand_dims(dim)
        if dim not in scores.coords:
            raise ValueError(
                f"what the means are to be combined with has no {dim.removesuffix('_other')}; "
                f"pick one with sel({dim}=[...]), a list, which keeps it"
            )
        missing = sorted(set(values.tolist()) - set(scores[dim].to_numpy().tolist()))
        if missing:
            raise ValueError(
                f"the means have {dim.removesuffix('_other')} '{missing[0]}', which what they are "
                "to be combined with lacks"
            )
    return scores.sel(labels)


def moments(draws: xr.DataArray) -> tuple[Floats, Floats]:
    """Mean (measure, run) and covariance (measure, run, run) of the draws of means over topics."""
    if "topic" in draws.dims:
        draws = draws.mean("topic", skipna=True)
    values = draws.transpose("measure", "chain", "draw", "run").to_numpy()
    flat = values.reshape(len(values), -1, values.shape[-1])
    if np.isnan(flat).any():
        raise ValueError("the posterior scores hold NaN; combine runs that have scores")
    covariance = np.stack([np.atleast_2d(np.cov(one, rowvar=False)) for one in flat])
    # draws that are all one score: no rounding of their mean shall stand beside it as an error
    exact = settled(np.ptp(flat, axis=1), flat[:, 0]) == 0
    covariance[exact[:, :, None] | exact[:, None, :]] = 0.0
    return np.where(exact, flat[:, 0], flat.mean(axis=1)), covariance


def _variance(mean: xr.Dataset) -> Floats:
    """Variance of the estimates, such that a normal quantile gives the length of the interval."""
    freedom = mean.get("degrees_of_freedom", xr.full_like(mean["standard_error"], np.inf))
    return (_array(mean["standard_error"]) * _array(widening(freedom))) ** 2


def _array(values: xr.DataArray) -> Floats:
    return values.transpose(*DIMS).to_numpy()
