"""Fit the relevance model to a collection and print the posterior scores of its runs.

    python models/relevance.py                 # the shipped collection, a sample of it judged
    python models/relevance.py collection.nc   # yours, as be.save_collection wrote it

Writes the fit (fit.nc), the scores (scores.csv) and the plots to look at before the scores are
believed: traces, ranks, energy, prior beside posterior, calibration, forests of the runs'
reliabilities and scores. Written to be copied and edited.
"""

import argparse
from pathlib import Path

import bayeseval as be
from bayeseval.inference import judgments_verdict, predicted_judgments, verdict_text

MEASURES = ["P@10", "RBP(p=0.8)", "AP"]


def main() -> None:
    options = arguments()
    sampled = loaded(options)
    model = be.models.relevance_model(sampled)
    fitted = be.fit(
        model,
        draws=options.draws,
        tune=options.tune,
        approximation=options.approximation,
        random_seed=options.seed,
    )
    if not options.approximation:
        print(verdict_text(be.verdict(fitted)))
    print(verdict_text(judgments_verdict(predicted_judgments(fitted, sampled))))
    scores = be.posterior_scores(fitted, sampled, MEASURES, random_seed=options.seed)
    summary = be.with_model_errors(scores, ci_prob=0.9)
    print(table(summary).to_string(float_format="{:.3f}".format))

    options.output.mkdir(parents=True, exist_ok=True)
    be.save_fit(fitted, options.output / "fit.nc")
    table(summary).to_csv(options.output / "scores.csv")
    be.diagnostic_plots(
        fitted, options.output, model=model, scores=scores, random_seed=options.seed
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", nargs="?", help="a saved collection with judgments")
    parser.add_argument("--output", type=Path, default=Path("relevance-output"))
    parser.add_argument("--budget", type=int, default=40, help="judged per topic, shipped data")
    parser.add_argument("--draws", type=int, default=1000, help="kept, of each of 4 chains")
    parser.add_argument("--tune", type=int, default=1000, help="steps of adaptation")
    parser.add_argument("--approximation", choices=["laplace"], help="seconds instead of minutes")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def loaded(options):
    """The collection of the command line, or a sample of the shipped one."""
    if options.collection:
        return be.open_collection(options.collection)
    collection = be.simulate.demo_collection()
    design = be.designs.pps_strata(collection, budget=options.budget)
    return be.reveal(collection, design, be.draw(design, random_seed=options.seed))


def table(summary):
    """A row for each measure and run, the best first: posterior mean, deviation, interval."""
    bounds = summary.interval.to_dataset("ci_bound")
    rows = bounds.assign(estimate=summary.estimate, standard_error=summary.standard_error)
    frame = rows.to_dataframe(dim_order=["measure", "run"])
    order = ["estimate", "standard_error", "lower", "upper"]
    return frame[order].sort_values("estimate", ascending=False).loc[MEASURES]


if __name__ == "__main__":
    main()
