"""Pictures of a fit: calibration, forests, judgments beside predictions, ranks of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.inference.judgments import KINDS
from bayeseval.inference.verdict import judgment_limit
from bayeseval.messages import percent, shortened

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
    if observed.dtype.kind not in "iub" or not observed.size or observed.max() > 8:
        return None
    if observed.max() <= 1:
        return "binary"
    return "ordinal" if np.unique(observed).size > 2 else None  # a curve for each step between two


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
    shown = shown.assign_coords({dim: shortened(shown[dim].astype(str).to_numpy().tolist())})
    rows, total = shown.sizes[dim], values.sizes[dim]
    longest = 0.3 + 0.09 * max(map(len, shown[dim].to_numpy()), default=0)  # label, in inches
    size = {"figsize": (8, 1.4 + 0.2 * rows), "figsize_units": "inches"}
    size["width_ratios"] = [longest, 8 - longest]
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
    intervals = f"{percent(half)} (thick) and {percent(ci_prob)} intervals"
    drawing.add_title(f"{values.name}: {which}, {intervals}")
    if drawing.backend == "matplotlib":  # no empty rows above and below, no axis under labels
        figure_drawn = drawing.viz["figure"].item()
        for text in figure_drawn.axes[0].texts:  # next to the axis
            text.set(x=figure_drawn.axes[0].get_xlim()[1], horizontalalignment="right")
        figure_drawn.axes[-1].set_ylim(-0.8, rows - 0.2)
        figure_drawn.axes[0].spines["bottom"].set_visible(False)
        figure_drawn.axes[0].tick_params(bottom=False, labelbottom=False)
        figure_drawn.set_layout_engine("constrained")
    return drawing


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
        loc="right",  # to the left there are the labels of the rows
    )
    ax.set_title(WORDS[kind], fontsize=10, loc="left")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _labels(shown: xr.Dataset) -> list[str]:
    labels = shortened(shown["label"].to_numpy().tolist())
    observed, predicted = (shown[name].to_numpy().tolist() for name in ("observed", "predicted"))
    rows = zip(labels, observed, predicted, strict=True)
    return [
        f"{label} ({observed:.3g}, predicted {expected:.3g})" for label, observed, expected in rows
    ]


def ranks(fitted: xr.DataTree, names: list[str], **options: Any):
    """Plot the ranks of draws thinned to be nearly independent, as the band takes them to be.

    ArviZ's own band takes the chains' ranks for independent, though all chains share them out: it
    is too wide, most where there are two.
    """
    import arviz as az

    draws = fitted["posterior"].to_dataset()[names]
    draws = draws.isel(draw=slice(None, None, _step(draws)))
    drawing = az.plot_rank(
        xr.DataTree.from_dict({"posterior": draws}),
        method="envelope",
        thin=False,
        stats={"ecdf_pit": {"n_simulations": 1, "n_chains": 1}},  # of the band that is not drawn
        visuals={"credible_interval": False},
        **options,
    )
    share, width = chains_band(draws.sizes["chain"], draws.sizes["draw"])
    for axes in drawing.viz["figure"].item().axes:
        if axes.lines:
            axes.fill_between(share, -width, width, color="0.5", alpha=0.2, linewidth=0)
    return drawing


def _step(draws: xr.Dataset) -> int:
    """Every how manieth draw is nearly independent of the one before in its chain.

    Chains are moved to one place first: that they differ, which the plot is to show, is no
    dependence within them.
    """
    import arviz as az

    sizes = az.ess(draws - draws.mean("draw", skipna=False))
    least = min(float(size.min(skipna=True)) for size in sizes.data_vars.values())
    return max(1, round(draws.sizes["chain"] * draws.sizes["draw"] / least))


def chains_band(n_chains: int, n_draws: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    r"""Half-width of the band around 0 of the differences that the plot shows, and where.

    Of all ranks up to a share x, chain c holds a hypergeometric number: its share of its own
    draws has variance

    .. math:: \frac{x (1 - x)}{n} \left(1 - \frac{1}{L}\right) \frac{L n}{L n - 1}

    for L chains of n draws. The band is a multiple of its root, such that all chains lie within it
    everywhere with probability .99 where ranks are dealt at random, by simulation.

    Examples
    --------
    >>> share, width = chains_band(2, 400)
    >>> width.max().round(2)
    np.float64(0.06)
    """
    n_ranks = n_chains * n_draws
    place = np.unique(np.linspace(1, n_ranks - 1, min(200, n_ranks - 1)).astype(int))
    share = place / n_ranks
    spread = np.sqrt(share * (1 - share) / n_draws * (1 - 1 / n_chains) * n_ranks / (n_ranks - 1))
    random = np.random.default_rng(1)
    chain = np.repeat(np.arange(n_chains), n_draws)
    largest = np.empty(1000)
    for simulation in range(largest.size):
        dealt = random.permutation(chain)
        held = np.stack([np.cumsum(dealt == c)[place - 1] for c in range(n_chains)]) / n_draws
        largest[simulation] = (np.abs(held - share) / spread).max()
    return share, float(np.quantile(largest, 0.99)) * spread
