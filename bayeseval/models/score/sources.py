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
    check_errors_once,
    check_several_draws,
)
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import MEASURES
from bayeseval.models.score.constants import kinds_of_measures
from bayeseval.models.score.independent import Independent
from bayeseval.rounding import settled

Floats = NDArray[np.floating]
DIMS = ("measure", "run")
LEAST = 0.25  # of the median variance
MOST_DOUBT = 4.0  # of the model's variance
LEVEL = 0.9  # whose quantile of Student's t widens the design's variance


@dataclass(frozen=True, eq=False)
class Sources:
    """What the combination works on; arrays (measure, run), covariances (measure, run, run)."""

    labels: dict[str, Any]  # of measure and run
    # estimates, and their variances about the true scores of these topics: with a normal quantile
    # they give the interval of the means, and none is far below both other runs' and the model's
    design: Floats
    design_variance: Floats
    design_length: Floats  # length of the design's interval
    design_covariance: Floats | None
    # of the posterior draws
    model: Floats
    model_variance: Floats
    model_covariance: Floats
    # the same for runs that depart from the model, if they did not
    modelled: Floats
    modelled_variance: Floats
    topic_variance: Floats  # what topics as a sample add; 0 for these topics
    topic_covariance: Floats  # the same of each two runs
    # (measure, 1): largest score: 1, or for sums the largest estimate of design or model
    scale: Floats
    # (measure, 1): whether scores lie in [0, 1]: sums have no largest one
    bounded: NDArray[np.bool_]
    kinds: list[str]  # of measures, as the constants are by

    @property
    def independent(self) -> Independent:
        """What the model says beyond the design's estimate."""
        return Independent.of(self.model, self.model_variance, self.design, self.design_variance)

    @property
    def as_modelled(self) -> Independent:
        """The same if no run departed from the model."""
        return Independent.of(
            self.modelled, self.modelled_variance, self.design, self.design_variance
        )

    def beside_design(self, ratio: Floats, far_sd: Floats) -> Floats:
        """What the model's own errors are at least (measure, run), a standard deviation.

        It is a share of the design's standard error, but no more than runs that are not as modelled
        are off by: of a run that the design hardly knows, its error says nothing of the model's.
        ``ratio`` is ``design_ratio``; a ``far_sd`` of 0, in units of the score, is no limit.
        """
        share = ratio * np.sqrt(self.design_variance)
        return np.where(far_sd > 0.0, np.minimum(share, far_sd), share)

    @classmethod
    def of(cls, mean: xr.Dataset, post: xr.Dataset, covariance: xr.DataArray | None) -> "Sources":
        """Arrays of means and draws, after checking that they belong together."""
        _check(mean, post)
        labels = {dim: np.atleast_1d(mean[dim].to_numpy()) for dim in DIMS}
        post = _like(post, labels)
        model, model_covariance = _moments(post["estimate"])
        variance = np.diagonal(model_covariance, axis1=1, axis2=2).copy()
        modelled, modelled_variance = model, variance
        if "modelled_mean" in post:
            centre, error = _array(post["modelled_mean"]), _array(post["modelled_error"])
            departs = ~np.isnan(centre)
            modelled = np.where(departs, centre, model)
            modelled_variance = np.where(departs, error**2, variance)
        design = _array(mean["estimate"])
        own, topics = _variances(mean)
        by_topic = topics[:, :, None] * topics[:, None]
        if by_topic.any():
            by_topic = np.sqrt(by_topic) * _topic_correlation(post["estimate"])
        matrix = None
        if covariance is not None:
            check_covariance(mean, covariance)
            if covariance.attrs.get("raised", 0) == 1:
                raise ValueError(
                    "a raised covariance is for orders of means; give be.covariance without raised="
                )
            matrix = _like(covariance, labels | {"run_other": labels["run"]})
            matrix = matrix.transpose(*DIMS, "run_other").to_numpy()
        names: list[str] = labels["measure"].tolist()
        bounded = np.array([[MEASURES[one.name].bounded] for one in parse_measures(names)])
        largest = np.maximum(np.abs(design), np.abs(model)).max(axis=1, keepdims=True)
        return cls(
            labels=labels,
            design=design,
            design_variance=np.maximum(own, _floor(own, variance)),
            design_length=_array(_length(mean)),
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
            kinds=kinds_of_measures(names, post),
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
        lacking = [dim for dim in DIMS if dim not in scores["estimate"].dims]
        if lacking:
            raise ValueError(
                f"{name} has no dim {lacking[0]}; pick one with sel({lacking[0]}=[...]), a list, "
                "which keeps it"
            )
    if "replicate" in mean.dims:
        raise ValueError("estimates of one sample are combined; pick one with isel(replicate=0)")
    if not {"chain", "draw"} <= set(post["estimate"].dims):
        raise ValueError("post must be posterior draws, as posterior_scores returns them")
    check_drawn_together(post)
    check_several_draws(post["estimate"])
    check_errors_once(post)
    if bool((mean["standard_error"] < 0).any()):
        raise ValueError("a standard error of the means is below 0")
    if bool(mean["estimate"].isnull().any()):
        raise ValueError("the means hold NaN; combine runs and measures that have scores")
    if bool(mean["standard_error"].isnull().any()):
        raise ValueError(
            "the means need a standard error, which 'stat' and 'dyn' give; some are NaN"
        )


def _like(found: Any, labels: dict[str, Any]) -> Any:
    """Posterior or covariance in the order of the labels of the means."""
    for dim, wanted in labels.items():
        if dim not in found.dims:
            found = found.expand_dims(dim)
        if dim not in found.coords:
            raise ValueError(
                f"what the means are to be combined with has no {dim.removesuffix('_other')}; "
                f"pick one with sel({dim}=[...]), a list, which keeps it"
            )
        missing = sorted(set(wanted.tolist()) - set(found[dim].to_numpy().tolist()))
        if missing:
            raise ValueError(
                f"the means have {dim.removesuffix('_other')} '{missing[0]}', which what they are "
                "to be combined with lacks"
            )
    return found.sel(labels)


def _moments(draws: xr.DataArray) -> tuple[Floats, Floats]:
    """Mean (measure, run) and covariance (measure, run, run) of the draws of means over topics."""
    if "topic" in draws.dims:
        draws = draws.mean("topic", skipna=True)
    values = draws.transpose("measure", "chain", "draw", "run").to_numpy()
    flat = values.reshape(len(values), -1, values.shape[-1])
    if np.isnan(flat).any():
        raise ValueError("the posterior scores hold NaN; combine runs that have scores")
    covariance = np.stack([np.atleast_2d(np.cov(one, rowvar=False)) for one in flat])
    # draws that are all one score: no rounding of their mean shall stand beside it as an error
    known = settled(np.ptp(flat, axis=1), flat[:, 0]) == 0
    covariance[known[:, :, None] | known[:, None, :]] = 0.0
    return np.where(known, flat[:, 0], flat.mean(axis=1)), covariance


def _topic_correlation(draws: xr.DataArray) -> Floats:
    """Correlations (measure, run, run) over topics of the posterior mean scores."""
    scores = draws.mean(("chain", "draw")).transpose(*DIMS, "topic").to_numpy()
    found = np.zeros((*scores.shape[:2], scores.shape[1]))
    for matrix, score in zip(found, scores, strict=True):
        score = score[:, ~np.isnan(score).any(axis=0)]
        off = score - score.mean(axis=1, keepdims=True) if score.shape[1] > 1 else 0.0 * score
        size = np.sqrt((off**2).sum(axis=1, keepdims=True))
        off /= np.where(size > 0.0, size, 1.0)
        matrix[:] = off @ off.T
        np.fill_diagonal(matrix, 1.0)
    return found


def _variances(mean: xr.Dataset) -> tuple[Floats, Floats]:
    """Variance of the estimates about the scores of these topics, and what the topics add.

    Each such that a normal quantile gives the length of the interval.
    """
    if mean.attrs.get("population") != "topics":
        own = _array(interval_error(mean)) ** 2
        return own, np.zeros(own.shape)
    own = _array(_error_of_these_topics(mean)) ** 2
    topics = (mean["standard_error"] ** 2 - mean["design_error"] ** 2).clip(min=0.0)
    wider = _widening(mean["degrees_of_freedom"], float(mean.attrs.get("ci_prob", LEVEL)))
    return own, _array(topics * wider**2)


def _floor(own: Floats, model: Floats) -> Floats:
    """Least variance (measure, run) that a design is believed to have.

    It is a share of the median of the runs' variances, where that is less than the model's four
    times: a few documents have made the variance so small. Where no judged document of a run
    differs from what was expected the estimated variance is 0, which says nothing, and the least is
    the share of the median or the model's variance, the larger. Where the model has no doubt, as
    with everything judged, there is none.
    """
    some = [row[row > 0] for row in own]
    typical = LEAST * np.array([np.median(row) if row.size else 0.0 for row in some])[:, None]
    least = np.where(own > 0, np.minimum(typical, MOST_DOUBT * model), np.maximum(typical, model))
    return np.where(model > 0, least, 0.0)


def _widening(freedom: xr.DataArray, ci_prob: float) -> xr.DataArray:
    """Quantile of Student's t over that of the normal distribution."""
    from scipy.special import stdtrit

    known = np.isfinite(freedom)
    student = stdtrit(freedom.where(known, 1.0), 0.5 * (1.0 + ci_prob))
    return xr.where(known, student / _normal_quantile(ci_prob), 1.0)


def _normal_quantile(ci_prob: float) -> float:
    """Half the length of a normal interval, in standard deviations."""
    from scipy.special import ndtri

    return float(ndtri(0.5 * (1.0 + ci_prob)))


def interval_error(mean: xr.Dataset) -> xr.DataArray:
    """Standard error with which a normal quantile gives the design's 90 % interval.

    Of means for these topics it does not depend on the ``ci_prob`` that is asked for.
    """
    if "raised_freedom" in mean and mean.attrs.get("population") != "topics":
        return _error_of_these_topics(mean)
    ci_prob = float(mean.attrs.get("ci_prob", LEVEL))
    error = 0.5 * _length(mean) / _normal_quantile(ci_prob)
    if mean.attrs.get("population") == "topics" or "degrees_of_freedom" not in mean:
        return error
    freedom = mean["degrees_of_freedom"]
    return error * _widening(freedom, LEVEL) / _widening(freedom, ci_prob)


def _error_of_these_topics(mean: xr.Dataset) -> xr.DataArray:
    """The same for these topics, of whatever population the means are."""
    freedom = mean.get("raised_freedom", xr.full_like(mean["standard_error"], np.inf))
    error = mean["raised_error" if "raised_error" in mean else "design_error"]
    return error * _widening(freedom, LEVEL)


def _length(mean: xr.Dataset) -> xr.DataArray:
    """Length of the design's interval."""
    return mean["interval"].diff("ci_bound", label="upper").isel(ci_bound=0, drop=True)


def _array(values: xr.DataArray) -> Floats:
    return values.transpose(*DIMS).to_numpy()
