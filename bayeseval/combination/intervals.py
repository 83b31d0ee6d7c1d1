"""Design, model and combination side by side: where they agree, and which runs are unlike."""

from typing import Any

import xarray as xr

from bayeseval.collection.origin import check_alike
from bayeseval.rounding import ROUNDING

UNLIKE = 0.5  # posterior probability above which a run is called unlike the model


def compare_intervals(
    mean: xr.Dataset,
    summary: xr.Dataset,
    combined: xr.Dataset | None = None,
    *,
    truth: xr.DataArray | xr.Dataset | None = None,
) -> xr.Dataset:
    r"""Intervals of the same runs by design, by model and combined, with the truth if known.

    A run is unlike the model where ``unlike_model``, which :func:`combine` computes, is above .5:
    its judgments say more, or less, than what the model predicts from the runs it was fitted to.

    Parameters
    ----------
    mean : Dataset
        Of :func:`mean_over_topics`.
    summary : Dataset
        Of :func:`summarize` or :func:`with_model_errors`, of the same collection, sample and runs.
    combined : Dataset, optional
        Of :func:`combine`.
    truth : DataArray or Dataset (measure, run), optional
        True scores, or a Dataset with ``estimate``.

    Returns
    -------
    Dataset
        Over source ("design", "model", "combined"), measure and run: ``estimate``,
        ``standard_error``, ``interval``, ``length``, ``length_ratio`` (to the design's), and
        ``covered`` where the truth is given, which is ``truth`` (measure, run); ``unlike_model``
        and ``model_weight`` (measure, run) where there is a combination.

    Raises
    ------
    ValueError
        Results of other collections, samples, populations, ``ci_prob`` or ``outside``; results or
        a truth without a run or measure of the means.

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
    >>> table = be.compare_intervals(scores(0.5, 0.04), scores(0.45, 0.01))
    >>> table.length_ratio.sel(source="model").item()
    0.25
    """
    _check_sources(mean, summary, combined)
    mean, summary = mean.compute(), summary.compute()  # small, also where their dims are chunks
    parts = {"design": mean, "model": summary}
    if combined is not None:
        check_alike(mean, combined, ("the means", "the combination"))
        parts["combined"] = combined.compute()
    names = ["estimate", "standard_error", "interval"]
    labels = {dim: mean[dim].to_numpy() for dim in ("measure", "run") if dim in mean.dims}
    parts = {
        source: _of_labels(part, f"the results of the {source} lack", labels)
        for source, part in parts.items()
    }
    table = xr.concat(
        [
            part[names].drop_vars([name for name in part.coords if name not in part.dims])
            for part in parts.values()
        ],
        dim=xr.DataArray(list(parts), dims="source", name="source"),
        join="inner",
        coords="minimal",
        compat="override",
    )
    length = table["interval"].diff("ci_bound").isel(ci_bound=0, drop=True)
    design = length.sel(source="design", drop=True)
    table = table.assign(length=length, length_ratio=length / design.where(design > 0))
    if truth is not None:
        table = _with_truth(table, truth, labels)
    if combined is not None:
        table = table.assign(
            {name: parts["combined"][name] for name in ("unlike_model", "model_weight")}
        )
    return table.assign_attrs(mean.attrs)


def _check_sources(mean: xr.Dataset, summary: xr.Dataset, combined: xr.Dataset | None) -> None:
    """Refuse results that are not of the kind that their names say, or do not go together."""
    for name, scores in (("mean", mean), ("summary", summary)):
        if not isinstance(scores, xr.Dataset) or "estimate" not in scores:
            raise ValueError(
                f"{name} must be a Dataset with `estimate`, not this {type(scores).__name__}"
            )
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
    if combined is not None and "unlike_model" not in combined:
        raise ValueError("combined must be what combine returns")


def _with_truth(table: xr.Dataset, truth, labels: dict) -> xr.Dataset:
    """The table with the true scores and whether the intervals cover them."""
    known = truth if isinstance(truth, xr.Dataset) else truth.to_dataset(name="estimate")
    known = _of_labels(known, "the truth lacks", labels)["estimate"]
    low, high = (table["interval"].sel(ci_bound=name) for name in ("lower", "upper"))
    covered = (low <= known + ROUNDING) & (known - ROUNDING <= high)
    return table.assign(covered=covered.drop_vars("ci_bound", errors="ignore"), truth=known)


def _of_labels(part: xr.Dataset, others: str, labels: dict[str, Any]) -> xr.Dataset:
    """The measures and runs of the means, which the other results must have."""
    for dim, values in labels.items():
        if dim not in part.dims or dim not in part.coords:
            continue
        missing = sorted(set(values.tolist()) - set(part[dim].to_numpy().tolist()))
        if missing:
            raise ValueError(f"the means have {dim} '{missing[0]}', which {others}")
        part = part.sel({dim: values})
    return part
