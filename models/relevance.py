"""Fit the relevance model to a collection and print the posterior scores of its runs.

    python models/relevance.py                 # the shipped collection, a sample of it judged
    python models/relevance.py collection.nc   # yours, as be.save_collection wrote it

Writes fit.nc and, with matplotlib, the plots of ArviZ: trace, rank, energy and the runs'
reliabilities. Written to be copied and edited.
"""

import argparse
from pathlib import Path

import arviz as az

import bayeseval as be
from bayeseval.inference import verdict_text

MEASURES = ["P@10", "RBP(p=0.8)", "AP"]
SHOWN = ["population_effect", "curvature", "topic_sd", "reliability_sd"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", nargs="?", help="a saved collection with judgments")
    parser.add_argument("--output", type=Path, default=Path("relevance-output"))
    parser.add_argument("--budget", type=int, default=40, help="judged per topic, shipped data")
    parser.add_argument("--approximation", choices=["laplace"], help="seconds instead of minutes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    sampled = loaded(options)
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, random_seed=options.seed, approximation=options.approximation)
    post = be.posterior_scores(fitted, sampled, MEASURES, random_seed=options.seed)
    if not options.approximation:
        print(verdict_text(be.verdict(fitted)))
    print(table(be.summarize(post)))

    options.output.mkdir(parents=True, exist_ok=True)
    be.save_fit(fitted, options.output / "fit.nc")
    if not options.approximation:
        plots(fitted, options.output)


def loaded(options):
    """The collection of the command line, or a sample of the shipped one."""
    if options.collection:
        return be.open_collection(options.collection)
    collection = be.simulate.demo_collection()
    design = be.designs.pps_strata(collection, budget=options.budget)
    return be.reveal(collection, design, be.draw(design, random_seed=options.seed))


def table(summary) -> str:
    """Runs by P@10, with 90 % intervals."""
    order = summary.estimate.sel(measure=MEASURES[0]).argsort().values[::-1]
    lines = [f"{'run':<24}" + "".join(f"{measure:>24}" for measure in MEASURES)]
    for run in order:
        row = summary.isel(run=run)
        cells = [
            f"{row.estimate.sel(measure=m).item():.3f} "
            f"[{row.interval.sel(measure=m, ci_bound='lower').item():.3f}, "
            f"{row.interval.sel(measure=m, ci_bound='upper').item():.3f}]"
            for m in MEASURES
        ]
        lines.append(f"{row.run.item():<24}" + "".join(f"{cell:>24}" for cell in cells))
    return "\n".join(lines)


def plots(fitted, folder: Path) -> None:
    """What to look at before the scores are believed."""
    az.plot_trace_dist(fitted, var_names=SHOWN).savefig(folder / "trace.png")
    az.plot_rank(fitted, var_names=SHOWN).savefig(folder / "rank.png")
    az.plot_energy(fitted).savefig(folder / "energy.png")
    forest = az.plot_forest(
        fitted, var_names=["reliability"], combined=True, ci_probs=[0.5, 0.9], ci_kind="eti"
    )
    forest.savefig(folder / "reliability.png")


if __name__ == "__main__":
    main()
