"""Forest of what each run (or topic) has: a point and two intervals a row."""

from typing import Any

import numpy as np
import xarray as xr

from bayeseval.messages import percent


def forest(values: xr.DataArray, ci_prob: float, max_rows: int, **pc_kwargs: Any):
    """Forest of draws of one value a run, the highest posterior mean on top.

    ``values`` are named, over chain, draw and one more dim; rows whose mean is NaN are left out,
    and those below the highest ``max_rows``. ``ci_prob`` is of the long interval; the short one has
    at most half.
    """
    import arviz as az

    (dim,) = {str(name) for name in values.dims} - {"chain", "draw"}
    mean = values.mean(["chain", "draw"], skipna=False).to_numpy()
    order = np.argsort(-mean, kind="stable")
    shown = values.isel({dim: order[np.isfinite(mean[order])][:max_rows]})
    shown = shown.assign_coords({dim: shown[dim].astype(str)})
    rows, total = shown.sizes[dim], values.sizes[dim]
    size = {"figsize": (8, 1.4 + 0.2 * rows), "figsize_units": "inches", "width_ratios": [1, 5]}
    figure = size | pc_kwargs.pop("figure_kwargs", {})
    half = min(0.5, ci_prob / 2)
    drawing = az.plot_forest(
        xr.DataTree.from_dict({"posterior": shown.to_dataset(name=values.name)}),
        combined=True,
        labels=[dim],
        ci_kind="eti",
        ci_probs=[half, ci_prob],
        point_estimate="mean",
        figure_kwargs=figure,
        **pc_kwargs,
    )
    which = f"{total} {dim}s" if rows == total else f"the highest {rows} of {total} {dim}s"
    said = f"{percent(half)} (thick) and {percent(ci_prob)} intervals"
    drawing.add_title(f"{values.name}: {which}, {said}")
    if drawing.backend == "matplotlib":  # no empty rows above and below, no axis under labels
        figure_drawn = drawing.viz["figure"].item()
        figure_drawn.axes[-1].set_ylim(-0.8, rows - 0.2)
        figure_drawn.axes[0].spines["bottom"].set_visible(False)
        figure_drawn.axes[0].tick_params(bottom=False, labelbottom=False)
        figure_drawn.set_layout_engine("constrained")
    return drawing
