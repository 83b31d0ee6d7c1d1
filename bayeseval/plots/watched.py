"""Intervals against judgments while judging goes on; matplotlib is imported late."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from bayeseval.messages import percent, shortened
from bayeseval.plots.style import (
    COLORS,
    TOPICS,
    Axes,
    bare,
    check_named,
    having,
    key_above,
    name_of,
    new_axes,
    of_measure,
    shown_runs,
)
from bayeseval.uncertainty import interval

MOST_RUNS = len(COLORS)  # bands that can be told apart


def plot_watched(
    looks: Mapping[int, xr.Dataset],
    measure: str | None = None,
    *,
    runs: Sequence[str] | None = None,
    truth: xr.DataArray | xr.Dataset | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How the intervals of runs narrow while the list of an order is judged.

    Bands are intervals, lines estimates. Of scores with ``anytime`` the bands hold at every look,
    and dotted lines are the intervals of a single look.

    Parameters
    ----------
    looks : mapping of int to Dataset
        Judgments per topic to the scores by them (measure, run), as :func:`bayeseval.scores` gives
        them.
    measure : str, optional
        Needed where there are several.
    runs : sequence of str, optional
        Labels of up to six runs; by default the first ones of the last look.
    truth : DataArray or Dataset (run,), optional
        True scores, or a Dataset with ``estimate``; a dim measure is allowed.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    TypeError
        Something else than a mapping of numbers to Datasets.
    ValueError
        No look; no such measure or run; more than six runs; scores without intervals.

    Examples
    --------
    >>> import matplotlib, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.3], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> order = be.designs.order(collection, random_seed=1)
    >>> looks = {}
    >>> for n in (20, 40, 60):
    ...     sampled = be.reveal(collection, order, be.draw(order, budget=n))
    ...     looks[n] = be.scores(sampled, "P@10", estimator="dyn", anytime=True)
    >>> be.plots.plot_watched(looks).get_ylabel()
    'P@10'
    """
    check_named(looks, "looks", "look")
    needed = ("estimate", "interval", "standard_error")
    if not all(isinstance(look, int | np.integer) for look in looks):
        raise TypeError("looks must map judgments per topic, whole numbers, to scores")
    number = sorted(looks)
    shown = [
        of_measure(having(looks[n], needed, f"look {n}"), measure, f"look {n}") for n in number
    ]
    last = shown[-1]
    for look, one in zip(number, shown, strict=True):
        if one["estimate"].dims != ("run",):
            raise ValueError(f"look {look} must hold scores of runs, means over topics")
        if one.attrs.get("anytime") != last.attrs.get("anytime"):
            raise ValueError("all looks must have intervals of one kind, with anytime or without")
    chosen = shown_runs(last, runs, f"look {number[-1]}")
    chosen = chosen[:MOST_RUNS] if runs is None else chosen
    if not 1 <= len(chosen) <= MOST_RUNS:
        raise ValueError(f"runs must name 1 to {MOST_RUNS} runs, not {len(chosen)}")
    ax = new_axes(6.0, 3.6) if ax is None else ax
    anytime = bool(last.attrs.get("anytime"))
    for run, name, color in zip(chosen, shortened(chosen), COLORS, strict=False):
        of_run = [
            one.sel(run=shown_runs(one, [run], f"look {look}")[0])
            for look, one in zip(number, shown, strict=True)
        ]
        lower, upper = np.array([one["interval"].to_numpy() for one in of_run]).T
        ax.fill_between(number, lower, upper, color=color, alpha=0.18, linewidth=0)
        ax.plot(number, [one["estimate"].item() for one in of_run], "o-", color=color,
                markersize=3.0, linewidth=1.2, label=name)  # fmt: skip
        if anytime:
            once = np.array([_of_one_look(one) for one in of_run])
            ax.plot(number, once, ":", color=color, linewidth=0.9)
    if truth is not None:
        known = truth["estimate"] if isinstance(truth, xr.Dataset) else truth
        known = of_measure(known, name_of(last, measure), "truth")
        for run, color in zip(shown_runs(known, chosen, "truth"), COLORS, strict=False):
            ax.axhline(known.sel(run=run).item(), color=color, linewidth=0.9, linestyle="--")
    ax.set_xlabel("judgments per topic")
    ax.set_ylabel(name_of(last, measure))
    bare(ax, rows=False)
    level, over = percent(last.attrs["ci_prob"]), TOPICS[last.attrs["population"]]
    kinds = ["dotted: of a single look"] * anytime + ["dashed: truth"] * (truth is not None)
    held = ", at every look" if anytime else ", of a single look each"
    title = "\n".join([f"bands: {level} intervals{over}{held}", *filter(None, ["; ".join(kinds)])])
    key_above(ax, title, n_columns=3)
    return ax


def _of_one_look(scores: xr.Dataset) -> np.ndarray:
    """Bounds (2,) of the interval of a single look at one run."""
    bounds = interval(
        scores["estimate"],
        scores["standard_error"],
        ci_prob=scores.attrs["ci_prob"],
        degrees_of_freedom=scores.get("degrees_of_freedom", xr.DataArray(np.inf)),
    )
    return bounds.to_numpy()
