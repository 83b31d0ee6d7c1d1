"""Judgments beside what a model predicts of them, group by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.inference.judgments import KINDS
from bayeseval.inference.verdict import judgment_limit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOR, _BAD = "#0072B2", "#D55E00"  # Okabe and Ito
WORDS = {
    "strata": "strata, all topics together",
    "topics": "topics",
    "agreement": "documents by the number of runs that found them",
    "runs": "first ten ranks of each run",
    "relevant": "all documents",
}


def plot_judgments(
    seen: xr.Dataset, kind: str = "strata", *, max_rows: int = 60, ax: Axes | None = None
) -> Axes:
    """Standardised differences between judgments and predictions, and how large they may be.

    A row per group; to the right the judgments stand for more relevant documents than the model
    expects. The grey band holds all groups of the kind at once where the model is right, but for
    the false alarms of :func:`bayeseval.verdict`; what lies outside is red. Beside each row: the
    relevant documents among those not judged, by the judgments and as predicted.

    Parameters
    ----------
    seen : Dataset
        What :func:`bayeseval.inference.predicted_judgments` returns.
    kind : {"strata", "topics", "agreement", "runs", "relevant"}
        Which groups.
    max_rows : int
        Groups at most: those with the largest differences, in their own order.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        An unknown kind; fewer than one row.

    Examples
    --------
    >>> import matplotlib, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> seen = xr.Dataset(
    ...     {"observed": ("group", [9.0]), "predicted": ("group", [3.0]),
    ...      "difference": ("group", [3.0]), "null": (("group", "replicate"), [[-2.0, 1.0]])},
    ...     coords={"kind": ("group", ["relevant"]), "label": ("group", ["all documents"])})
    >>> [label.get_text() for label in be.plots.plot_judgments(seen, "relevant").get_yticklabels()]
    ['all documents (9, predicted 3)']
    """
    import matplotlib.pyplot as plt

    check_choice("kind", kind, KINDS)
    check_whole_numbers(1, max_rows=max_rows)
    if not isinstance(seen, xr.Dataset) or not {"kind", "difference", "null"} <= set(
        seen.variables
    ):
        raise ValueError("seen must be what be.inference.predicted_judgments returns")
    limit = judgment_limit(seen, kind)
    shown = seen.isel(group=np.flatnonzero(seen["kind"].to_numpy() == kind))
    largest = np.argsort(-np.abs(shown["difference"].to_numpy()), kind="stable")[:max_rows]
    shown = shown.isel(group=np.sort(largest))
    off, row = shown["difference"].to_numpy(), np.arange(shown.sizes["group"])
    if ax is None:
        height = float(np.clip(0.2 * row.size, 1.2, 14.0))
        ax = plt.subplots(figsize=(8.0, height + 1.2), layout="tight")[1]
    ax.axvspan(-limit, limit, color="0.92", linewidth=0, zorder=0)
    ax.axvline(0.0, color="0.6", linewidth=0.8, zorder=1)
    color = np.where(np.abs(off) > limit, _BAD, _COLOR)
    ax.hlines(row, 0.0, off, color=color, linewidth=1.2)
    ax.scatter(off, row, s=22, color=color, zorder=3)
    size = float(np.clip(400 / row.size, 5, 9))
    ax.set_yticks(row, _labels(shown), fontsize=size, parse_math=False)
    ax.set_ylim(row.size - 0.4, -0.6)
    ax.set_xlabel(
        "judgments less predictions, standardised; grey: as far as a right model goes\n"
        "(relevant documents among those not judged, by the judgments and as predicted)",
        fontsize=9,
    )
    ax.set_title(WORDS[kind], fontsize=10, loc="left")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _labels(shown: xr.Dataset) -> list[str]:
    names = ("label", "observed", "predicted")
    rows = zip(*(shown[name].to_numpy().tolist() for name in names), strict=True)
    return [f"{label} ({seen:.3g}, predicted {said:.3g})" for label, seen, said in rows]
