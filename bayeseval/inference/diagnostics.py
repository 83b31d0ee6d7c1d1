"""Diagnostic plots of a fit, written into a folder; ArviZ and matplotlib load when called."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_ci_prob, check_whole_numbers
from bayeseval.inference.pictures import (
    calibration,
    calibration_kind,
    forest,
    plot_judgments,
    ranks,
    seen_data,
)
from bayeseval.inference.predictive import FEW_ENTRIES, predictive_draws, prior_fit
from bayeseval.inference.verdict import ESS_MIN, RHAT_MAX
from bayeseval.models.identity import check_fit
from bayeseval.models.table import kind_of
from bayeseval.progress import track
from bayeseval.whole_file import expanded_path, picture_name, whole_file

FOREST_DIMS = ("run", "topic")
PRIOR_DRAWS = 5000  # of a picture: with few a flat density seems to have two modes
SEVERAL = ("strata", "topics", "agreement", "runs")  # kinds of groups of judgments
STYLE = {"axes.titlesize": 11, "axes.labelsize": 10, "figure.titlesize": 12}
STYLE |= {"xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 10, "font.size": 10}
STYLE |= {"text.parse_math": False}  # $ in the name of a run starts no formula


def diagnostic_plots(
    fitted: xr.DataTree,
    folder,
    *,
    model=None,
    scores: xr.Dataset | None = None,
    judgments: xr.Dataset | None = None,
    ci_prob: float = 0.9,
    max_rows: int = 60,
    random_seed: int | None = None,
) -> list[Path]:
    """Write the plots to inspect before trusting a fit, after making the draws that they need.

    ====================  =====================================  ==================================
    file                  what it shows                          written for
    ====================  =====================================  ==================================
    trace                 density and trace of each chain        fits of a sampler
    rank                  ranks of each chain's draws among all  fits of a sampler
    energy                energy and its steps, BFMI             fits of a sampler
    convergence           r_hat and effective sizes of all       fits of a sampler
                          entries of all variables
    prior_posterior       what the data said                     a ``model``
    calibration_VARIABLE  share observed against the predicted   a ``model`` of 0/1 data or grades
                          probability, and what the model
                          expects of such a curve
    forest_VARIABLE       intervals of what each run (topic)     every variable of one entry a run
                          has                                    or topic
    scores_MEASURE        intervals of the runs' scores          ``scores``
    judgments_KIND        judgments less predictions of strata,  ``judgments``
                          topics, ... and their limits
    ====================  =====================================  ==================================

    Traces, ranks and priors are drawn for variables of at most 8 entries, the smallest first, in at
    most 12 panels. The calibration curve is that of the judgments that the model was fitted to.

    Parameters
    ----------
    fitted : DataTree
        What :func:`bayeseval.fit` returned.
    folder : str or Path
        Where the PNG files go; made where it does not exist. Files of these names are replaced.
    model : pymc.Model, optional
        The model that was fitted.
    scores : Dataset, optional
        What :func:`bayeseval.posterior_scores` returned, means over topics.
    judgments : Dataset, optional
        What :func:`bayeseval.inference.predicted_judgments` returned.
    ci_prob : float
        Posterior probability of the intervals, with as much below as above.
    max_rows : int
        Runs (topics) in a forest at most: those with the highest posterior means.
    random_seed : int, optional
        Seed.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ValueError
        A ``folder`` that is a file, a fit without draws or of another model, scores per topic,
        ``ci_prob`` outside (0, 1), ``max_rows`` below 1.

    References
    ----------
    Saeilynoja, Buerkner and Vehtari, Statistics and Computing 32 (2022), on ranks. Dimitriadis,
    Gneiting and Jordan, PNAS 118 (2021), on calibration. Betancourt, arXiv:1701.02434, on energy.

    Examples
    --------
    >>> import tempfile, numpy as np, xarray as xr, bayeseval as be
    >>> draws = np.random.default_rng(1).normal(size=(1, 200, 2))
    >>> posterior = xr.Dataset(
    ...     {"reliability": (("chain", "draw", "run"), draws)}, coords={"run": ["a", "b"]}
    ... )
    >>> fitted = xr.DataTree.from_dict({"posterior": posterior})
    >>> [path.name for path in be.diagnostic_plots(fitted, tempfile.mkdtemp())]
    ['forest_reliability.png']
    """
    import arviz  # noqa: F401  matplotlib knows its styles from then on
    import matplotlib.pyplot as plt

    _check(fitted, scores, ci_prob, max_rows)
    fitted = fitted.compute()  # ArviZ takes no chunks
    folder = expanded_path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for the plots")
    folder.mkdir(parents=True, exist_ok=True)
    drawings = [*_of_sampler(fitted), *_of_runs(fitted, scores, ci_prob, max_rows)]
    if model is not None:
        drawn = predictive_draws(model, fitted, random_seed=random_seed)
        drawings += _of_model(fitted, model, drawn, ci_prob, random_seed)
    if judgments is not None:
        kinds = [kind for kind in SEVERAL if kind in judgments["kind"].to_numpy()]
        draw = partial(plot_judgments, judgments, max_rows=max_rows)
        drawings += [(f"judgments_{kind}", partial(draw, kind)) for kind in kinds]
    paths = []
    with plt.style.context(["arviz-variat", STYLE]):
        for name, draw in track(drawings, "plots"):
            drawing = draw()
            figure = drawing.viz["figure"].item() if hasattr(drawing, "viz") else drawing.figure
            paths.append(folder / picture_name(name))
            with whole_file(paths[-1]) as part:
                figure.savefig(part, dpi=110)
            plt.close(figure)
    return paths


Drawing = tuple[str, Any]  # name of the file, and what draws it when called


def shown_variables(draws: xr.Dataset) -> list[str]:
    """Names of variables of few entries that all vary, the smallest first, of 12 entries in all."""
    n_draws = draws.sizes["chain"] * draws.sizes["draw"]
    few = {
        str(name): values.size // n_draws
        for name, values in draws.data_vars.items()
        if values.dtype.kind == "f"
        and 0 < values.size <= FEW_ENTRIES * n_draws
        and bool((values.max(["chain", "draw"]) > values.min(["chain", "draw"])).all())
    }
    names = sorted(few, key=lambda name: few[name])
    total = np.cumsum([few[name] for name in names])
    return [name for name, panels in zip(names, total, strict=True) if panels <= 12]


def _of_sampler(fitted: xr.DataTree) -> Iterator[Drawing]:
    """Trace, rank, energy and convergence of a fit with a sampler's statistics."""
    import arviz as az

    if "sample_stats" not in fitted.children:
        return
    names = shown_variables(fitted["posterior"].to_dataset())
    if names:
        tall: dict[str, Any] = {"figsize": (11, 2.2 * _n_panels(fitted, names) + 0.6)}
        trace = partial(az.plot_trace_dist, compact=False, figure_kwargs=tall)
        yield "trace", partial(trace, fitted, var_names=names)
        size = _grid(_n_panels(fitted, names))
        yield "rank", partial(ranks, fitted, names, figure_kwargs=size, col_wrap=4)
    yield "energy", partial(_energy, fitted)
    yield "convergence", partial(_convergence, fitted)


def _of_model(
    fitted: xr.DataTree, model, drawn: xr.DataTree, ci_prob: float, random_seed: int | None
) -> Iterator[Drawing]:
    """Prior beside posterior, and the calibration of what was observed."""
    import arviz as az

    prior = drawn["prior"].to_dataset()
    posterior = fitted["posterior"].to_dataset()
    names = [name for name in shown_variables(posterior) if name in prior]
    if names:
        seeded: dict[str, Any] = {"variables": names, "random_seed": random_seed}
        before = prior_fit(model, draws=PRIOR_DRAWS, **seeded)["posterior"].to_dataset()
        both = xr.DataTree.from_dict({"prior": before[names], "posterior": posterior[names]})
        size = _grid(_n_panels(fitted, names))
        yield "prior_posterior", partial(az.plot_prior_posterior, both, figure_kwargs=size)
    for name in drawn["observed_data"].data_vars:
        seen = seen_data(drawn, str(name))
        if calibration_kind(seen) is not None:
            yield f"calibration_{name}", partial(calibration, seen, ci_prob)


def _of_runs(fitted, scores, ci_prob: float, max_rows: int) -> Iterator[Drawing]:
    """Forests of scores, and of variables that have an entry for each run or topic."""
    kind = kind_of(fitted)
    standard = () if kind is None else kind.standard
    for name, values in fitted["posterior"].to_dataset().data_vars.items():
        own = set(values.dims) - {"chain", "draw"}
        if len(own) == 1 and own <= set(FOREST_DIMS) and name not in standard:
            yield f"forest_{name}", partial(forest, values, ci_prob, max_rows)
    if scores is None:
        return
    for label in scores["measure"].to_numpy():
        values = scores["estimate"].sel(measure=label, drop=True).rename(f"{label} by the model")
        yield f"scores_{label}", partial(forest, values, ci_prob, max_rows)


def _convergence(fitted: xr.DataTree):
    """Effective sizes and r_hat of all entries, beside the limits of the verdict."""
    import arviz as az

    limits = {"ess_bulk": ESS_MIN, "ess_tail": ESS_MIN, "rhat": RHAT_MAX}
    drawing = az.plot_convergence_dist(
        fitted, diagnostics=list(limits), ref_line=False, figure_kwargs={"figsize": (11, 3.2)}
    )
    for axes, limit in zip(drawing.viz["figure"].item().axes, limits.values(), strict=True):
        axes.axvline(limit, color="0.5", linestyle="--")
    return drawing


def _energy(fitted: xr.DataTree):
    import arviz as az
    from matplotlib.ticker import MaxNLocator

    drawing = az.plot_energy(fitted, figure_kwargs={"figsize": (10, 3.4)})
    drawing.viz["figure"].item().axes[0].yaxis.set_major_locator(MaxNLocator(integer=True))
    return drawing


def _n_panels(fitted: xr.DataTree, names: list[str]) -> int:
    draw = fitted["posterior"].to_dataset().isel(chain=0, draw=0)
    return sum(draw[name].size for name in names)


def _grid(panels: int) -> dict[str, Any]:
    """Size of a figure of panels, four to a row."""
    rows = -(-panels // 4)
    return {"figsize": (3.2 * min(panels, 4), 2.5 * rows + 0.4)}


def _check(fitted: xr.DataTree, scores, ci_prob: float, max_rows: int) -> None:
    check_fit(fitted)
    check_ci_prob(ci_prob)
    check_whole_numbers(1, max_rows=max_rows)
    if scores is None:
        return
    dims = set(scores["estimate"].dims) if "estimate" in scores else set()
    if dims != {"chain", "draw", "measure", "run"}:
        raise ValueError(
            "scores must be over chain, draw, measure and run, as posterior_scores gives means "
            f"over topics; these are over {', '.join(sorted(map(str, dims))) or 'nothing'}"
        )
