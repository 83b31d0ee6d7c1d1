"""Model, ``dyn`` and the two combined on TREC-COVID round 5: error, coverage, time, the verdict.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Truth: the complete
judgments; frame: the judged pairs; 20 pps strata; 126 runs, from which the model learns, and their
dual runs, from which it does not. Run it with ``python benchmarks/bayes_round5.py``.
"""

import argparse
import time
import warnings

import numpy as np
import xarray as xr

import bayeseval as be
from benchmarks.held import held
from benchmarks.real_data import round5

MEASURES = ["P@10", "RBP(p=0.8)", "AP"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--replicates", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--components", type=int, default=60)
    parser.add_argument("--topic-components", type=int, default=16)
    parser.add_argument("--curve-components", type=int, default=30)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--score-draws", type=int, default=2000, help="of the sampler's draws")
    parser.add_argument("--approximation", choices=["laplace"])
    options = parser.parse_args()
    both = be.dual_runs(round5(), random_seed=options.seed)
    truth = be.evaluate(both, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(both, budget=options.budget)
    selected = be.draw(design, n_replicates=options.replicates, random_seed=options.seed)
    parts: dict[str, list[xr.Dataset]] = {"model": [], "dyn": [], "combined": []}
    for number in range(options.replicates):
        sampled = be.reveal(both, design, selected.isel(replicate=number))
        post, times = _posterior(sampled, options, number)
        mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn"))
        parts["model"].append(be.summarize(post))
        parts["dyn"].append(mean)
        parts["combined"].append(be.combine(mean, post))
        print(f"sample {number}: {times}", flush=True)
    print("| measure | runs | answer | bias | rms_error | error stated | coverage | its error |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, found in parts.items():
        kept = [one[["estimate", "standard_error", "interval"]] for one in found]
        whole = xr.concat(kept, dim="replicate", join="override", coords="minimal")
        _print_rows(name, whole, truth, both["contributed"].to_numpy())


def _posterior(sampled: xr.DataTree, options, number: int) -> tuple[xr.Dataset, str]:
    """Scores under one sample, and the time of each step with the verdict."""
    model = be.models.relevance_model(
        sampled,
        n_components=options.components,
        n_topic_components=options.topic_components,
        n_curve_components=options.curve_components,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the verdict is printed for every sample
        began = time.perf_counter()
        fitted = be.fit(
            model,
            draws=options.draws,
            random_seed=options.seed + number,
            approximation=options.approximation,
        )
        fit = time.perf_counter() - began
    began = time.perf_counter()
    thinned = fitted if options.approximation else _thinned(fitted, options.score_draws)
    post = be.posterior_scores(thinned, sampled, MEASURES, random_seed=options.seed + number)
    sampling = float(fitted["posterior"].attrs.get("sampling_time", np.nan))
    scores = time.perf_counter() - began
    text = f"fit {fit:.0f} s (sampling {sampling:.0f} s), scores {scores:.0f} s"
    if not options.approximation:
        verdict = be.verdict(fitted)
        pairs = zip(verdict["check"].values, verdict["value"].values, strict=True)
        text += "; " + ", ".join(f"{check} {value:.4g}" for check, value in pairs)
    return post, text


def _thinned(fitted: xr.DataTree, n_draws: int) -> xr.DataTree:
    """Every k-th draw of each chain, so that about n_draws are left."""
    posterior = fitted["posterior"].to_dataset()
    step = max(1, posterior.sizes["chain"] * posterior.sizes["draw"] // n_draws)
    thinned = fitted.copy()
    thinned["posterior"] = xr.DataTree(posterior.isel(draw=slice(None, None, step)))
    return thinned


def _print_rows(
    name: str, summary: xr.Dataset, truth: xr.DataArray, contributed: np.ndarray
) -> None:
    error = summary["estimate"] - truth
    lower, upper = (summary["interval"].sel(ci_bound=bound) for bound in ("lower", "upper"))
    covered = held(truth, lower, upper)
    for measure in MEASURES:
        for group, runs in ((contributed, "real"), (~contributed, "dual")):
            part = {"run": np.flatnonzero(group)}
            chosen = error.sel(measure=measure).isel(part)
            share = covered.sel(measure=measure).isel(part).mean("run")
            spread = summary["standard_error"].sel(measure=measure).isel(part)
            numbers = [
                float(chosen.mean()),
                float(np.sqrt((chosen**2).mean())),
                float(np.sqrt((spread**2).mean())),
                float(share.mean()),
                float(share.std(ddof=1) / np.sqrt(share.size)) if share.size > 1 else np.nan,
            ]
            cells = " | ".join(f"{number:.4f}" for number in numbers)
            print(f"| {measure} | {runs} | {name} | {cells} |")


if __name__ == "__main__":
    main()
