"""Half-widths of intervals against judgments; matplotlib is imported late."""

import xarray as xr

from bayeseval.messages import percent
from bayeseval.plots.style import (
    COLORS,
    GREY,
    MARKERS,
    TOPICS,
    Axes,
    bare,
    having,
    name_of,
    new_axes,
    of_measure,
)


def plot_plan(planned: xr.Dataset, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Half-width of the expected intervals, by judgments per topic and number of topics.

    Lines are the median over runs, bands hold eight runs in ten; both axes are logarithmic. A
    dashed line is the target half-width, if the plan has one.

    Parameters
    ----------
    planned : Dataset
        Of :func:`bayeseval.plan`, with two budgets or more for a line.
    measure : str, optional
        Needed where there are several.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    TypeError
        Something else than a Dataset.
    ValueError
        A result without half-widths; a measure that it does not have.

    Examples
    --------
    >>> import matplotlib, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.1, 0.2], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> planned = be.plan(collection, "P@10", budget=[20, 80], n_topics=[10, 50], random_seed=2)
    >>> be.plots.plot_plan(planned).get_ylabel()
    'half-width of 90% intervals, P@10'
    """
    from matplotlib.ticker import FixedLocator, LogLocator

    shown = of_measure(having(planned, ["half_width", "judgments"], "the plan"), measure)
    ax = new_axes(5.4, 4.0) if ax is None else ax
    for number, n_topics in enumerate(shown["n_topics"].to_numpy().tolist()):
        widths = shown["half_width"].sel(n_topics=n_topics).transpose("budget", "run")
        colour = COLORS[number % len(COLORS)]
        place = widths["budget"].to_numpy()
        least, most = widths.quantile([0.1, 0.9], dim="run")
        ax.fill_between(place, least, most, color=colour, alpha=0.15, linewidth=0)
        ax.plot(
            place, widths.median("run"), color=colour, marker=MARKERS[number % len(MARKERS)],
            markersize=4.5, label=f"{n_topics} topics",
        )  # fmt: skip
    if "half_width" in shown.attrs:
        ax.axhline(shown.attrs["half_width"], color=GREY, linewidth=0.9, linestyle="--")
    ax.set_xscale("log")
    ax.set_yscale("log")
    _plain(ax.xaxis, FixedLocator(shown["budget"].to_numpy().tolist()))
    _plain(ax.yaxis, LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.set_xlabel("judgments per topic")
    level = percent(planned.attrs["ci_prob"])
    ax.set_ylabel(f"half-width of {level} intervals, {name_of(shown, measure)}")
    bare(ax, rows=False)
    over = f"intervals{TOPICS[planned.attrs['population']]}"
    ax.legend(frameon=False, fontsize=8, title=over, title_fontsize=8, alignment="left")
    return ax


def _plain(axis, locator) -> None:
    """Plain numbers along a logarithmic axis."""
    from matplotlib.ticker import NullLocator, StrMethodFormatter

    axis.set_major_locator(locator)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
