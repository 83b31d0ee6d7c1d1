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
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import MEASURES
from bayeseval.rounding import ratio, settled

Floats = NDArray[np.floating]
DIMS = ("measure", "run")
LEVEL = 0.9  # of the interval of the design, from which its variance is computed
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
    topic_variance: Floats  # what topics as a sample add; 0 for these topics
    topic_covariance: Floats  # the same of every pair of runs
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
        own, topics = _variances(mean)
        # where no judged document of a run differs from its prediction, the estimated variance is 0
        own = np.where(own > 0, own, variance)
        by_topic = topics[:, :, None] * topics[:, None]
        if by_topic.any():
            by_topic = np.sqrt(by_topic) * _topic_correlation(post["estimate"])
        matrix = None
        if covariance is not None:
            check_covariance(mean, covariance)
            matrix = _like(covariance, labels | {"run_other": labels["run"]})
            matrix = matrix.transpose(*DIMS, "run_other").to_numpy()
        names: list[str] = labels["measure"].tolist()
        bounded = np.array([[MEASURES[one.name].bounded] for one in parse_measures(names)])
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
            topic_variance=topics,
            topic_covariance=by_topic,
            scale=np.where(bounded, 1.0, largest),
            bounded=bounded,
            kinds=kinds_of_measures(names),
        )


def _check(mean: xr.Dataset, post: xr.Dataset) -> None:
    """Refuse what cannot be joined."""
    for name, scores in (("mean", mean), ("post", post)):
        if not isinstance(scores, xr.Dataset) or "estimate" not in scores:
            raise ValueError(f"{name} must be a Dataset with `estimate`")
    of_topics = mean.attrs.get("population") == "topics"
    if of_topics and ("topic" not in post["estimate"].dims or "design_error" not in mean):
        raise ValueError(
            "for the population of topics, the model's scores of these topics are combined first: "
            "give posterior_scores(..., over=None)"
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


def _topic_correlation(draws: xr.DataArray) -> Floats:
    """Correlations (measure, run, run) over topics of the posterior mean scores."""
    scores = draws.mean(("chain", "draw")).transpose(*DIMS, "topic").to_numpy()
    correlation = np.zeros((*scores.shape[:2], scores.shape[1]))
    for matrix, score in zip(correlation, scores, strict=True):
        score = score[:, ~np.isnan(score).any(axis=0)]
        off = score - score.mean(axis=1, keepdims=True) if score.shape[1] > 1 else 0.0 * score
        size = np.sqrt((off**2).sum(axis=1, keepdims=True))
        off /= np.where(size > 0.0, size, 1.0)
        matrix[:] = off @ off.T
        np.fill_diagonal(matrix, 1.0)
    return correlation


def _variances(mean: xr.Dataset) -> tuple[Floats, Floats]:
    """Variance of the estimates about the scores of these topics, and what the topics add.

    Each such that a normal quantile gives the length of the interval.
    """
    freedom = mean.get("degrees_of_freedom", xr.full_like(mean["standard_error"], np.inf))
    if mean.attrs.get("population") == "topics":
        own = mean["design_error"] ** 2
        topics = (mean["standard_error"] ** 2 - own).clip(min=0.0)
        return _array(own), _array(topics * _widening(freedom) ** 2)
    own = (_array(mean["standard_error"]) * _array(_widening(freedom))) ** 2
    return own, np.zeros(own.shape)


def _widening(freedom: xr.DataArray) -> xr.DataArray:
    """Quantile of Student's t over that of the normal distribution, for intervals of ``LEVEL``."""
    from scipy.special import ndtri, stdtrit

    known = np.isfinite(freedom)
    student = stdtrit(freedom.where(known, 1.0), 0.5 * (1.0 + LEVEL))
    return xr.where(known, student / ndtri(0.5 * (1.0 + LEVEL)), 1.0)


def _array(values: xr.DataArray) -> Floats:
    return values.transpose(*DIMS).to_numpy()
