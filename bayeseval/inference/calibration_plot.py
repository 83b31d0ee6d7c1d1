"""Calibration curve of 0/1 data, or of grades, under the posterior predictive."""

from typing import Any

import numpy as np
import xarray as xr

MANY_GRADES = 8


def calibration(seen: xr.DataTree, ci_prob: float):
    """Share observed against predicted probability; for grades, one panel for each step.

    The curve is the isotonic regression of the data (of :func:`seen_data`) on their predicted
    probabilities, the band, of probability ``ci_prob``, what the model expects of such a curve. The
    model has seen these data, so a good one may be a little steeper than the diagonal.
    """
    import arviz as az

    (observed,) = seen["observed_data"].to_dataset().data_vars.values()
    panels = max(int(observed.max()), 1)
    kind = calibration_kind(seen)
    assert kind is not None
    of_what = " of this grade or a lower one" if kind == "ordinal" else ""
    text = {"xlabel": f"predicted probability{of_what}", "ylabel": "share observed"}
    visuals: dict[Any, Any] = {axis: {"text": words} for axis, words in text.items()}
    return az.plot_ppc_pava(
        seen,
        data_type=kind,
        ci_prob=ci_prob,
        visuals=visuals,
        figure_kwargs={"figsize": (4.6 * panels, 4.2)},
    )


def seen_data(drawn: xr.DataTree, name: str) -> xr.DataTree:
    """Data of one variable and their predictions along one dim, without negative ones (no data).

    ``drawn`` is of :func:`bayeseval.inference.predictive_draws`. The groups are observed_data over
    ``observation``, and posterior_predictive over chain and draw too.
    """
    observed = drawn["observed_data"][name]
    value = observed.to_numpy().ravel()
    predicted = drawn["posterior_predictive"][name].transpose("chain", "draw", *observed.dims)
    draws = predicted.to_numpy().reshape(*predicted.shape[:2], -1)
    seen = (value >= 0) & (draws >= 0).all(axis=(0, 1))
    groups = {
        "observed_data": xr.Dataset({name: ("observation", value[seen])}),
        "posterior_predictive": xr.Dataset(
            {name: (("chain", "draw", "observation"), draws[..., seen])}
        ),
    }
    return xr.DataTree.from_dict(groups)


def calibration_kind(seen: xr.DataTree) -> str | None:
    """Kind of curve for the data, binary or ordinal; None for data that are no grades."""
    (observed,) = seen["observed_data"].to_dataset().data_vars.values()
    if observed.dtype.kind not in "iub" or not observed.size or observed.max() > MANY_GRADES:
        return None
    if observed.max() <= 1:
        return "binary"
    return "ordinal" if np.unique(observed).size > 2 else None  # a curve for each step between two
