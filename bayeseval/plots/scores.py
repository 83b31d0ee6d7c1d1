"""Posterior scores of runs as a forest, by ArviZ; it is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import xarray as xr

from bayeseval.collection.choices import check_ci_prob
from bayeseval.inference.pictures import forest
from bayeseval.plots.style import having, name_of, of_measure

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection


def plot_scores(
    post: xr.Dataset,
    measure: str | None = None,
    *,
    ci_prob: float = 0.9,
    max_runs: int = 60,
    backend: str | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Forest of posterior scores: each run's mean and two intervals, the highest run at the top.

    Parameters
    ----------
    post : Dataset (chain, draw, measure, run)
        Of :func:`bayeseval.posterior_scores`.
    measure : str, optional
        Label of the measure; may be left out where there is one only.
    ci_prob : float
        Probability of the long interval, with as much below as above; the thick one has half of it,
        at most .5.
    max_runs : int
        Runs at most: the highest.
    backend : str, optional
        What draws, as in ArviZ ("matplotlib", "bokeh"); by default ArviZ's own choice.
    **pc_kwargs
        As ``arviz.plot_forest`` takes them, such as ``figure_kwargs``.

    Returns
    -------
    arviz_plots.PlotCollection
        ``.savefig(path)`` saves it, ``.viz["figure"]`` is the figure.

    Raises
    ------
    ValueError
        No such measure, scores that are not draws or not averaged over topics, a ``ci_prob``
        outside (0, 1).

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> draws = np.random.default_rng(1).random((2, 50, 1, 3))
    >>> post = xr.Dataset(
    ...     {"estimate": (("chain", "draw", "measure", "run"), draws)},
    ...     coords={"measure": ["P@10"], "run": ["a", "b", "c"]},
    ... )
    >>> be.plots.plot_scores(post, backend="none").backend
    'none'
    """
    shown = of_measure(having(post, ["estimate"]), measure)
    if set(shown["estimate"].dims) != {"chain", "draw", "run"}:
        intervals = "; estimates with intervals are drawn by be.plots.plot_intervals"
        raise ValueError(
            "post must hold draws of means over topics (chain, draw, measure, run), as "
            f"be.posterior_scores gives them, not {', '.join(map(str, shown['estimate'].dims))}"
            f"{intervals if 'interval' in shown else ''}"
        )
    check_ci_prob(ci_prob)
    values = shown["estimate"].drop_vars(set(shown.coords) - {"run"})
    values = values.rename(name_of(shown, measure))
    return forest(values, ci_prob, max_runs, backend=backend, **pc_kwargs)
