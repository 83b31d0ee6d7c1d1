"""The scores of runs with the covariance of their errors, or with posterior draws."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.origin import check_covariance, check_drawn_together, check_several_draws
from bayeseval.evaluation.topic_groups import Groups, members, variance_of_groups, warn_of_groups
from bayeseval.messages import Message, Option, counted, warn
from bayeseval.rounding import ROUNDING, ratio, settled

Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of one measure as plain arrays."""

    estimate: Floats  # (run,)
    covariance: Floats  # (run, run), of the estimates' errors or of the draws
    freedom: float  # degrees of freedom of variances of differences, infinite where these are known
    draws: Floats | None  # (draw, run), posterior
    combined: bool  # whether the estimates include prior knowledge, as combined ones do
    # (run, run): covariance for joint draws of errors, where ``covariance`` is itself an estimate
    joint: Floats | None = None
    # of the judgments, over that of the first round, where errors are to hold at every look
    information: float = np.inf

    @property
    def difference(self) -> Floats:
        """Estimate of a less that of b, (run, run); 0 where it is rounding alone."""
        return settled(self.estimate[:, None] - self.estimate, self.estimate)

    @property
    def error(self) -> Floats:
        """Standard error of each difference, (run, run); 0 where it is rounding alone."""
        return errors_of_differences(self.covariance)


def errors_of_differences(covariance: Floats) -> Floats:
    """Standard error of each difference, (run, run); 0 where it is rounding alone.

    Examples
    --------
    >>> errors_of_differences(np.array([[0.04, 0.0], [0.0, 0.05]]))[0, 1].round(3).item()
    0.3
    """
    variance = np.diagonal(covariance)
    total = variance[:, None] + variance
    square = total - 2.0 * covariance
    return np.sqrt(np.where(square > 1e-12 * np.maximum(total, 1e-300), square, 0.0))


def studentised(difference: Floats, error: Floats, freedom: Floats | float) -> Floats:
    """Differences over their errors as standard normal quantiles.

    Student's t is brought to the normal scale at equal tail probability. A difference without error
    is infinite, and 0 where the runs are one and the same.

    Examples
    --------
    >>> studentised(np.array([2.0, 2.0]), np.array([1.0, 1.0]), np.array([np.inf, 5.0])).round(3)
    array([2.   , 1.636])
    """
    from scipy.special import ndtri, stdtr

    difference = settled(difference)  # between runs without an error apart
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(difference == 0, 0.0, np.abs(difference) / error)
    known = np.isinf(freedom) | np.isinf(size) | np.isnan(freedom)
    tail = stdtr(np.where(known, 1.0, np.maximum(freedom, 1.0)), -np.where(known, 0.0, size))
    return np.sign(difference) * np.where(known, size, -ndtri(np.maximum(tail, 1e-300)))


def normal_draws(covariance: Floats, n_draws: int, random: np.random.Generator) -> Floats:
    """Draws (draw, run) of a normal distribution around 0, whose matrix may be singular."""
    value, vector = np.linalg.eigh(covariance)
    rounding = 10 * value.size * np.finfo(float).eps * max(value[-1], 0.0)
    root = vector * np.sqrt(np.where(value > rounding, value, 0.0))
    return random.standard_normal((n_draws, value.size)) @ root.T


def covariance_of_differences(square: Floats) -> Floats:
    """Covariance around the mean run whose differences have these variances, (run, run).

    Twice centred, as in multidimensional scaling; it may be indefinite, and draws from it leave out
    the negative part.
    """
    row = square.mean(axis=0)
    return -0.5 * (square - row - row[:, None] + row.mean())


def evidence_by_measure(
    scores: xr.Dataset, covariance: xr.DataArray | None, topic_groups: Groups | None = None
) -> tuple[list[str], NDArray, list[Evidence]]:
    """Labels of measures and runs, and the evidence of each measure.

    ``scores`` are posterior draws (chain, draw, measure, run[, topic]) of ``posterior_scores``;
    scores (measure, run, topic) of ``evaluate``, whose spread over topics, or over the
    ``topic_groups`` that they come in, serves; or estimates (measure, run), of ``mean_over_topics``
    with a ``covariance`` (measure, run, run_other) that has the anticipated variance, or of
    ``combine`` with a variable of that name. Refused are estimates without a covariance, or with
    the unbiased one; NaN; fewer than two runs; other measures or runs; draws of ``urn_model``;
    groups of other than scores per topic.
    """
    if not isinstance(scores, xr.Dataset) or "estimate" not in scores:
        raise ValueError(
            "scores must be a Dataset with `estimate`, as posterior_scores, mean_over_topics or "
            "evaluate return it"
        )
    check_drawn_together(scores)
    scores = scores if "measure" in scores["estimate"].dims else scores.expand_dims("measure")
    measures = [str(label) for label in np.atleast_1d(scores["measure"].to_numpy())]
    runs = scores["run"].to_numpy()
    check_several_runs(runs.size)
    dims = set(scores["estimate"].dims)
    of_topics = "topic" in dims and covariance is None and not {"chain", "draw"} <= dims
    if topic_groups is not None and not of_topics:
        raise ValueError(
            Message(
                Option("topic_groups"), " is for scores per topic, whose spread gives the errors"
            )
        )
    if {"chain", "draw"} <= dims:
        if covariance is not None:
            raise ValueError(
                "posterior draws have a covariance of their own; leave covariance= out"
            )
        check_several_draws(scores["estimate"])
        evidence = _from_draws(scores["estimate"])
    elif of_topics:
        evidence = _from_topics(scores, topic_groups)
    else:
        evidence = _from_covariance(scores, covariance)
    return measures, runs, evidence


def check_several_runs(n_runs: int) -> None:
    """Refuse to order fewer than two runs."""
    if n_runs < 2:
        raise ValueError("an order of runs needs at least 2 runs")


def _from_draws(estimate: xr.DataArray) -> list[Evidence]:
    if "topic" in estimate.dims:
        estimate = estimate.mean("topic", skipna=False)
    draws = estimate.stack(all_draws=("chain", "draw")).transpose("measure", "all_draws", "run")
    values = draws.to_numpy()
    _refuse_nan(values)
    return [
        Evidence(one.mean(axis=0), np.cov(one, rowvar=False), np.inf, one, combined=False)
        for one in values
    ]


def _from_topics(scores: xr.Dataset, topic_groups: Groups | None) -> list[Evidence]:
    """Mean over topics with the covariance by the spread over topics, or over their groups.

    The error that all topics share by one model of their counts is added.
    """
    if "replicate" in scores["estimate"].dims:
        raise ValueError("an order of runs is of one sample; pick one with isel(replicate=0)")
    estimate = scores["estimate"].transpose("measure", "topic", "run")
    if topic_groups is None:
        warn_of_groups(estimate)
    evidence = []
    for index, one in enumerate(estimate.to_numpy()):
        counting = ~np.isnan(one).all(axis=1)
        kept = one[counting]
        _refuse_nan(kept)
        if len(kept) < 2:
            raise ValueError("the spread over topics needs at least 2 topics with scores")
        rows, freedom = kept, len(kept) - 1.0
        matrix = np.cov(kept, rowvar=False) / len(kept)
        shared = _between_topics(scores, index, counting) / (len(kept) * freedom)
        if topic_groups is not None:
            rows, freedom = _of_groups(estimate[index, counting], topic_groups)
            matrix = rows.T @ rows / len(kept) ** 2
        joint = shrunk_covariance(rows)
        evidence.append(Evidence(kept.mean(axis=0), matrix + shared, freedom, None, False, joint))
    unseen = [np.triu((one.difference != 0.0) & (one.error <= ROUNDING)).sum() for one in evidence]
    if sum(unseen):
        first = scores["measure"].to_numpy()[np.argmax(unseen)]
        warn(
            f"topics show no spread, and so no error, of {counted(int(sum(unseen)), 'difference')} "
            f"between runs, the first by {first}: ranks that rest on these are not to be relied "
            "on; take more topics",
        )
    return evidence


def _of_groups(estimate: xr.DataArray, topic_groups: Groups) -> tuple[Floats, float]:
    """Deviations (group, run) whose squares add up to the variance of a sum; degrees of freedom.

    Of scores (topic, run), as :func:`variance_of_groups` has them.
    """
    of_group = members(topic_groups, estimate["topic"].to_numpy())
    away = estimate - estimate.mean("topic")
    freedom = variance_of_groups(away, away.notnull(), of_group)[1].to_numpy()[0]
    total = xr.dot(away, of_group, dim="topic").transpose("group", "run").to_numpy()
    return total / np.sqrt(1.0 - of_group.mean("topic").to_numpy())[:, None], float(freedom)


def shrunk_covariance(scores: Floats) -> Floats:
    r"""Covariance (run, run) of scores (topic, run) around the mean run, its correlations shrunk.

    With few topics the sample correlations are too large. They are multiplied by
    :math:`1 - \lambda`,

    .. math:: \lambda = \min\left(1, \frac{\sum_{r \ne s} \widehat{Var}(r_{rs})}
              {\sum_{r \ne s} r_{rs}^2}\right)

    which is about 1 where the correlations are no larger than chance, and near 0 where there are
    many topics for the runs.

    Parameters
    ----------
    scores : float array (topic, run)
        Scores of every run on every topic.

    Returns
    -------
    ndarray (run, run)
        Of the scores of one topic.

    References
    ----------
    Schäfer and Strimmer, "A shrinkage approach to large-scale covariance matrix estimation",
    Statistical Applications in Genetics and Molecular Biology 4 (2005), doi:10.2202/1544-6115.1175.

    Examples
    --------
    >>> scores = np.random.default_rng(1).normal(size=(5, 3))
    >>> covariance = shrunk_covariance(scores)
    >>> away = scores - scores.mean(axis=1, keepdims=True)
    >>> bool(np.allclose(np.diagonal(covariance), away.var(axis=0, ddof=1)))
    True
    """
    n_topics = len(scores)
    away = scores - scores.mean(axis=1, keepdims=True)
    away -= away.mean(axis=0)
    size = np.sqrt(np.square(away).sum(axis=0) / (n_topics - 1))
    unit = away * ratio(1.0, size)
    correlation = unit.T @ unit / (n_topics - 1)
    square = np.square(unit).T @ np.square(unit)
    mean = (n_topics - 1) / n_topics * correlation
    of_correlation = (square - n_topics * mean**2) * n_topics / (n_topics - 1) ** 3
    others = ~np.eye(size.size, dtype=bool)
    shrinkage = float(ratio(of_correlation[others].sum(), np.square(correlation[others]).sum()))
    weight = 1.0 - min(max(shrinkage, 0.0), 1.0)
    return np.where(others, weight * correlation, 1.0) * np.outer(size, size)


def _between_topics(scores: xr.Dataset, index: int, counting: NDArray[np.bool_]) -> Floats | float:
    """Sum of the covariances (run, run) between topics, by the error that they share.

    Without its negative eigenvalues, so that no difference has less than the spread over topics.
    """
    if "shared_error" not in scores:
        return 0.0
    shared = scores["shared_error"].transpose("measure", "run", "topic", "direction").to_numpy()
    # NaN of a measure without such a model, where scores were joined
    shared = np.nan_to_num(shared[index])[:, counting]
    total, alone = shared.sum(axis=1), np.einsum("rtd,std->rs", shared, shared)
    value, vector = np.linalg.eigh(total @ total.T - alone)
    return (vector * np.maximum(value, 0.0)) @ vector.T


def _from_covariance(scores: xr.Dataset, covariance: xr.DataArray | None) -> list[Evidence]:
    own = covariance is None
    if own and "covariance" not in scores:
        raise ValueError(
            "means alone give no errors of an order of runs, for runs share their errors; give "
            "the scores per topic, or covariance=be.covariance(..., anticipated=True) of the same "
            "sample"
        )
    if not own and scores.attrs.get("population") == "topics":
        raise ValueError(
            "covariance= is the design's, of population 'sample', and these means are of "
            "population 'topics'; give the scores per topic instead"
        )
    if "topic" in scores["estimate"].dims:
        raise ValueError("covariance= goes with means; average with mean_over_topics first")
    if covariance is not None:
        check_covariance(scores, covariance)
        if covariance.attrs.get("anticipated", 1) == 0:
            raise ValueError(
                "by the unbiased covariance runs that few sampled documents tell apart can seem to "
                "differ for certain; give be.covariance(..., anticipated=True)"
            )
    matrix = scores["covariance"] if own else covariance
    assert matrix is not None
    matrix = _matching(matrix, scores)
    estimate = scores["estimate"].transpose("measure", "run").to_numpy()
    _refuse_nan(estimate)
    if np.isnan(matrix).any():
        raise ValueError(
            "an order of runs needs the errors of their scores, and some are NaN: one judged "
            "document per topic gives no error"
        )
    # the degrees of freedom of single runs are not those of differences, which are near normal
    return [
        Evidence(one, 0.5 * (of + of.T), np.inf, None, combined=own)
        for one, of in zip(estimate, matrix, strict=True)
    ]


def _matching(covariance: xr.DataArray, scores: xr.Dataset) -> Floats:
    """Covariance in the order of the scores' measures and runs."""
    if "measure" not in covariance.dims:
        covariance = covariance.expand_dims("measure")
    if not {"measure", "run", "run_other"} == set(covariance.dims):
        raise ValueError(
            "covariance must have the dims measure, run and run_other, as be.covariance returns "
            f"it over topics, not {', '.join(map(str, covariance.dims))}"
        )
    runs = scores["run"].to_numpy()
    try:
        if "measure" in scores.coords and "measure" in covariance.coords:
            covariance = covariance.sel(measure=np.atleast_1d(scores["measure"].to_numpy()))
        matrix = covariance.sel(run=runs, run_other=runs)
    except KeyError as error:
        raise ValueError(
            "covariance must be of the same measures and runs as the scores; it has measures "
            f"{', '.join(map(str, covariance['measure'].to_numpy()))} and "
            f"{covariance.sizes['run']} runs"
        ) from error
    return matrix.transpose("measure", "run", "run_other").to_numpy()


def _refuse_nan(values: Floats) -> None:
    if np.isnan(values).any():
        raise ValueError(
            "an order of runs needs a score of every run (and on the same topics); some are NaN: "
            "leave those runs or topics out, or score missing topics as 0"
        )
