"""Fit the hierarchical urn to the judged tops of runs and print their posterior scores.

    python models/urn.py                                  # the shipped collection, a pool of it
    python models/urn.py collection.nc --depth 10         # yours, as be.save_collection wrote it

Prints the verdict on the sampler, how much of each parameter's posterior is its prior (logit q and
log w are hardly identified apart, their contrast is), and the scores, with the errors of the
model's own, beside their bounds. Writes the fit (fit.nc), the scores (scores.csv) and the
diagnostic plots. Written to be copied and edited.
"""

import argparse
from pathlib import Path

import bayeseval as be
from bayeseval.inference import predictive_draws, prior_overlap, verdict_text

PERSISTENCE = 0.95


def main() -> None:
    options = arguments()
    sampled = loaded(options)
    model = be.models.urn_model(sampled, depth=options.depth, frame="retrieved")
    fitted = be.fit(model, draws=options.draws, tune=options.tune, random_seed=options.seed)
    print(verdict_text(be.verdict(fitted)))
    drawn = predictive_draws(model, fitted, random_seed=options.seed)
    print(prior_overlap(drawn).to_dataframe().to_string(float_format="{:.2f}".format))
    measure = f"RBP(p={PERSISTENCE})"
    scores = be.posterior_scores(fitted, sampled, measure, random_seed=options.seed)
    summary = be.with_model_errors(scores, ci_prob=0.9)
    found = table(summary, sampled)
    print(found.to_string(float_format="{:.3f}".format))

    options.output.mkdir(parents=True, exist_ok=True)
    be.save_fit(fitted, options.output / "fit.nc")
    found.to_csv(options.output / "scores.csv")
    be.diagnostic_plots(
        fitted, options.output, model=model, scores=scores, random_seed=options.seed
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", nargs="?", help="a saved collection, judged to a depth")
    parser.add_argument("--output", type=Path, default=Path("urn-output"))
    parser.add_argument("--depth", type=int, default=10, help="ranks that are judged")
    parser.add_argument("--runs", type=int, default=40, help="of the shipped collection")
    parser.add_argument("--draws", type=int, default=500, help="kept, of each of 4 chains")
    parser.add_argument("--tune", type=int, default=1000, help="steps of adaptation")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def loaded(options):
    """The collection of the command line, or some runs of the shipped one, pooled."""
    if options.collection:
        return be.open_collection(options.collection)
    collection = be.simulate.demo_collection()
    collection = be.select(collection, runs=collection["run"].values[: options.runs].tolist())
    pool = be.designs.depth_pool(collection, options.depth)
    drawn = be.draw(pool, random_seed=options.seed)
    return be.reveal(collection, pool, drawn, unjudged="nonrelevant")


def table(summary, sampled):
    """A row for each run, the best first: posterior beside the bounds of the residual."""
    summary = summary.isel(measure=0, drop=True)
    bounds = be.residual.rbp_bounds(sampled, PERSISTENCE, over="topic", tail="nonrelevant")
    columns = {
        "estimate": summary.estimate,
        "standard_error": summary.standard_error,
        "lower": summary.interval.sel(ci_bound="lower", drop=True),
        "upper": summary.interval.sel(ci_bound="upper", drop=True),
        "lower_bound": bounds.interval.sel(ci_bound="lower", drop=True),
        "upper_bound": bounds.interval.sel(ci_bound="upper", drop=True),
    }
    runs = summary.drop_vars([*summary.data_vars, "ci_bound"])
    frame = runs.assign(columns).to_dataframe()
    return frame[list(columns)].sort_values("estimate", ascending=False)


if __name__ == "__main__":
    main()
