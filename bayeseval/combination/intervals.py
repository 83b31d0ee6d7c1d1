"""Design, model and combination side by side: where they agree, and which runs are unlike."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.origin import check_alike
from bayeseval.models.score.constants import GROUPS, checked_constants, kinds_of_measures
from bayeseval.models.score.independent import MOST
from bayeseval.models.score.sources import interval_error
from bayeseval.rounding import ROUNDING
from bayeseval.uncertainty.interval import PREDICTED_FREEDOM

FLAGGED = 0.1  # false discovery rate of the flags


def compare_intervals(
    mean: xr.Dataset,
    summary: xr.Dataset,
    combined: xr.Dataset | None = None,
    *,
    truth: xr.DataArray | xr.Dataset | None = None,
    constants: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    r"""Intervals of the same runs by design, by model and combined, with the truth if known.

    A run is flagged where design and model contradict each other: with

    .. math:: z = \frac{d - m}{s}, \qquad s^2 = \max(|v - c|, .05 \, v) + e^2 c

    and its two-sided p value by Student's t, by Benjamini and Hochberg over the runs of a measure.
    v is the variance by which the design's interval is as long as it is, with the degrees of
    freedom of the design (10 where what was predicted is all that is known); those of t are by
    Satterthwaite, 1 at least, since v alone is an estimate. v - c is the variance of d - m where
    the model is right, since the posterior mean has used the same judgments
    (:class:`bayeseval.models.score.independent.Independent`); e is the ``flag_ratio`` of
    contributing runs, an error of the model's own that is no contradiction. For runs that depart
    from the model, m and c are those without departures: the flag says that the run finds more, or
    less, than what the model's runs say of its documents. Of the runs flagged a share of .1 at most
    is expected to be as modelled where the model is off by no more than that e: how often it is
    raised on worlds of the model's own and on real runs is in
    ``benchmarks/combined_intervals/README.md``. For the population of topics v and c hold the
    topics too, and fewer runs are flagged.

    A flag does **not** say that a new run is of another kind than the model's: by AP any run may
    have it that knows something of its own. In simulated worlds whose eight new runs were made like
    the eight of the model (30 topics, 9 or 10 worlds) .04, .35 and .57 of them were flagged by AP
    with 50, 100 and 200 judgments, in every world one or more with 100 or 200; by P@10 and RBP .01
    at most. There ``conflict_modelled`` of :func:`bayeseval.combine` parts the kinds better: of AP
    above .2 for .03, .04 and .00 of these runs, and for .74, 1.00 and .78 of new runs that rank by
    another view of what is relevant (flagged: .94, 1.00, 1.00).

    Parameters
    ----------
    mean : Dataset
        Of :func:`mean_over_topics`.
    summary : Dataset
        Of :func:`summarize`, of the same collection, sample and runs; of draws as they are, or
        :func:`with_model_errors`.
    combined : Dataset, optional
        Of :func:`combine`.
    truth : DataArray or Dataset (measure, run), optional
        True scores, or a Dataset with ``estimate``.
    constants : mapping of group to mapping, optional
        Another ``flag_ratio`` of the group "contributed" for that of the package.

    Returns
    -------
    Dataset
        Over source ("design", "model", "combined"), measure and run: ``estimate``,
        ``standard_error``, ``interval``, ``length``, ``length_ratio`` (to the design's), and
        ``covered`` where the truth is given; over measure and run ``z``, ``p_value``, ``flagged``,
        and ``conflict`` and ``model_weight`` where there is a combination.

    Raises
    ------
    ValueError
        Results of other collections, samples, populations, ``ci_prob`` or ``outside``; results or
        a truth without a run or measure of the means; scores without a dim or coord measure.

    References
    ----------
    Benjamini and Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995).

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> def scores(estimate, error):
    ...     bounds = [[[estimate - 2 * error, estimate + 2 * error]]]
    ...     return xr.Dataset(
    ...         {
    ...             "estimate": (("measure", "run"), [[estimate]]),
    ...             "standard_error": (("measure", "run"), [[error]]),
    ...             "interval": (("measure", "run", "ci_bound"), bounds),
    ...         },
    ...         coords={"measure": ["P@10"], "run": ["a"], "ci_bound": ["lower", "upper"]},
    ...     )
    >>> table = be.compare_intervals(scores(0.5, 0.04), scores(0.3, 0.01))
    >>> table.length_ratio.sel(source="model").item(), table.flagged.item()
    (0.25, True)
    """
    _check_sources(mean, summary, combined)
    mean, summary = mean.compute(), summary.compute()  # small, also where their dims are chunks
    parts = {"design": mean, "model": summary}
    if combined is not None:
        check_alike(mean, combined, ("the means", "the combination"))
        parts["combined"] = combined.compute()
    names = ["estimate", "standard_error", "interval"]
    wanted = {dim: mean[dim].to_numpy() for dim in ("measure", "run") if dim in mean.dims}
    parts = {
        source: _of_labels(part, f"the results of the {source} lack", wanted)
        for source, part in parts.items()
    }
    table = xr.concat(
        [part[names].drop_vars(_spare(part), errors="ignore") for part in parts.values()],
        dim=xr.DataArray(list(parts), dims="source", name="source"),
        join="inner",
        coords="minimal",
        compat="override",
    )
    length = table["interval"].diff("ci_bound").isel(ci_bound=0, drop=True)
    design = length.sel(source="design", drop=True)
    table = table.assign(length=length, length_ratio=length / design.where(design > 0))
    if truth is not None:
        table = _with_truth(table, truth, wanted)
    tested = _contradiction(mean, summary, constants)
    z, p_value = tested["z"], _p_value(tested)
    flags = xr.apply_ufunc(
        _discoveries,
        p_value,
        input_core_dims=[["run"]],
        output_core_dims=[["run"]],
        vectorize=True,
    )
    table = table.assign(z=z, p_value=p_value, flagged=flags)
    if combined is not None:
        table = table.assign({name: combined[name] for name in ("conflict", "model_weight")})
    return table.assign_attrs(mean.attrs | {"discovery_rate": FLAGGED})


def _check_sources(mean: xr.Dataset, summary: xr.Dataset, combined: xr.Dataset | None) -> None:
    """Refuse results that are not of the kind that their names say, or do not go together."""
    check_alike(mean, summary, ("the means", "the posterior's summary"))
    if "standard_error" not in summary:
        raise ValueError("summary must be what summarize returns; these scores have no error yet")
    for name, scores in (("mean", mean), ("summary", summary)):
        if scores.attrs.get("estimator") == "combined":
            raise ValueError(f"{name} is a combination, which comes third")
    of_topics = ["topic" in scores["estimate"].dims for scores in (mean, summary)]
    if of_topics[0] != of_topics[1]:
        one, other = ("mean", "summary") if of_topics[0] else ("summary", "mean")
        raise ValueError(f"{one} has scores of every topic and {other} means over topics")
    if combined is not None and "conflict" not in combined:
        raise ValueError("combined must be what combine returns")


def _with_truth(table: xr.Dataset, truth, wanted: dict) -> xr.Dataset:
    """The table with the true scores and whether intervals hold them."""
    known = truth if isinstance(truth, xr.Dataset) else truth.to_dataset(name="estimate")
    known = _of_labels(known, "the truth lacks", wanted)["estimate"]
    low, high = (table["interval"].sel(ci_bound=name) for name in ("lower", "upper"))
    held = (low <= known + ROUNDING) & (known - ROUNDING <= high)
    return table.assign(covered=held.drop_vars("ci_bound", errors="ignore"), truth=known)


def sign_turning_bias(combined: xr.Dataset, run_a: str, run_b: str) -> xr.DataArray:
    r"""Error of the model that would reverse the sign of a combined difference.

    .. math:: \beta = \frac{|\hat\theta_a - \hat\theta_b|}{(k_a + k_b) / 2}

    with k the share of the model in each estimate: an error :math:`\beta` of the model's difference
    between the two runs, half of it in each, makes the combined difference vanish. Infinite where
    the model has no share.

    Parameters
    ----------
    combined : Dataset
        Of :func:`combine`.
    run_a, run_b : str

    Returns
    -------
    DataArray (measure,)
        In units of the score; compare it with the model's posterior standard deviation and with
        what its errors are elsewhere (``near_ratio`` of :mod:`bayeseval.models.score.constants`).

    Raises
    ------
    KeyError
        An unknown run.
    ValueError
        Estimates that were not combined.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> combined = xr.Dataset(
    ...     {"estimate": ("run", [0.5, 0.45]), "model_weight": ("run", [0.75, 0.25])},
    ...     coords={"run": ["a", "b"]},
    ... )
    >>> be.sign_turning_bias(combined, "a", "b").round(3).item()
    0.1
    """
    if not isinstance(combined, xr.Dataset) or "model_weight" not in combined:
        raise ValueError("combined must be what combine or combined_scores returns")
    for run in (run_a, run_b):
        if run not in combined["run"].to_numpy():
            raise KeyError(f"no run '{run}' among the combined estimates")
    pair = combined[["estimate", "model_weight"]].sel(run=[run_a, run_b])
    difference = abs(pair["estimate"].diff("run").isel(run=0, drop=True))
    share = pair["model_weight"].mean("run")
    return xr.where(share > 0, difference / share.where(share > 0, 1.0), np.inf).rename("bias")


def _of_labels(part: xr.Dataset, others: str, wanted: dict[str, Any]) -> xr.Dataset:
    """The measures and runs of the means, which the other results must have."""
    for dim, labels in wanted.items():
        if dim not in part.dims or dim not in part.coords:
            continue
        missing = sorted(set(labels.tolist()) - set(part[dim].to_numpy().tolist()))
        if missing:
            raise ValueError(f"the means have {dim} '{missing[0]}', which {others}")
        part = part.sel({dim: labels})
    return part


def _spare(part: xr.Dataset) -> list[str]:
    """Coords that are no labels of the dims."""
    return [str(name) for name in part.coords if name not in part.dims]


def _contradiction(mean: xr.Dataset, summary: xr.Dataset, constants) -> xr.Dataset:
    """Differences of design and model in units of their error (z), and degrees of freedom."""
    model, error = _as_modelled(summary)
    mean, model, error = xr.align(mean, model, error, join="inner")
    v, c = interval_error(mean) ** 2, error**2
    apart = abs(v - c)
    least = (1.0 - MOST) * v
    own_error = _own_errors(model, summary, constants)
    spread = apart.where(apart > least, least) + (own_error * error) ** 2
    off = mean["estimate"] - model
    known = (spread > ROUNDING**2) & off.notnull()
    # two that are sure either agree or contradict each other for certain
    unlike = (spread <= ROUNDING**2) & (abs(off) > ROUNDING * abs(model).clip(min=1.0))
    sure = xr.where(unlike, np.sign(off) * np.inf, 0.0)
    z = xr.where(known, off / spread.where(known, 1.0) ** 0.5, sure)
    own = mean.get("degrees_of_freedom", xr.full_like(v, np.inf))
    own = own.where(np.isfinite(own) | ("degrees_of_freedom" not in mean), PREDICTED_FREEDOM)
    freedom = (own * (spread / v.where(v > 0)) ** 2).clip(min=1.0).fillna(np.inf)
    found = xr.Dataset({"z": z, "degrees_of_freedom": freedom})
    return found.drop_vars(_spare(mean), errors="ignore")


def _as_modelled(summary: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Posterior mean and standard deviation of every run if it did not depart from the model."""
    model = summary["estimate"]
    error = summary.get("posterior_error", summary["standard_error"])
    if "modelled_mean" not in summary:
        return model, error
    departs = summary["modelled_mean"].notnull()
    return (
        summary["modelled_mean"].where(departs, model),
        summary["modelled_error"].where(departs, error),
    )


def _own_errors(
    model: xr.DataArray, summary: xr.Dataset, constants: Mapping[str, Any] | None
) -> xr.DataArray:
    """Errors of runs as modelled by measure, in units of the posterior standard deviation."""
    if "measure" not in model.coords:
        raise ValueError("scores to compare need a measure; pick some with sel(measure=[...])")
    known = checked_constants(constants)
    label = model["measure"]
    kinds = kinds_of_measures(label.to_numpy().ravel().astype(str).tolist(), summary)
    ratio = np.array([known[kind, GROUPS[0]].flag_ratio for kind in kinds])
    return label.copy(data=ratio.reshape(label.shape)).drop_vars(label.coords)


def _p_value(tested: xr.Dataset) -> xr.DataArray:
    """Two-sided p values of Student's t."""
    from scipy.stats import t as student

    return xr.apply_ufunc(
        lambda z, freedom: 2.0 * student.sf(np.abs(z), freedom),
        tested["z"],
        tested["degrees_of_freedom"],
    )


def _discoveries(p_value: NDArray) -> NDArray[np.bool_]:
    """What Benjamini and Hochberg's step-up procedure rejects."""
    from scipy.stats import false_discovery_control

    return false_discovery_control(p_value) <= FLAGGED
