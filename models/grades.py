"""Fit the model of grades to a collection and print the posterior scores of its runs, nDCG too.

    python models/grades.py                 # a small simulated collection with three grades
    python models/grades.py collection.nc   # yours, as be.save_collection wrote it

Writes the fit (fit.nc), the scores (scores.csv) and the plots to look at before the scores are
believed: traces, ranks, energy, prior beside posterior, calibration of each grade, forests of the
runs' reliabilities and scores. Written to be copied and edited.
"""

import argparse
from pathlib import Path

import numpy as np

import bayeseval as be
from bayeseval.inference import judgments_verdict, predicted_judgments, verdict_text

MEASURES = ["nDCG@10", "P@10", "P(rel=2)@10"]


def main() -> None:
    options = arguments()
    sampled = be.open_collection(options.collection) if options.collection else simulated(options)
    model = be.models.grade_model(sampled)
    fitted = be.fit(model, draws=options.draws, tune=options.tune, random_seed=options.seed)
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
    parser.add_argument("collection", nargs="?", help="a saved collection with graded judgments")
    parser.add_argument("--output", type=Path, default=Path("grades-output"))
    parser.add_argument("--budget", type=int, default=40, help="judged per topic, simulated data")
    parser.add_argument("--draws", type=int, default=1000, help="kept, of each of 4 chains")
    parser.add_argument("--tune", type=int, default=1000, help="steps of adaptation")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def simulated(options):
    """A sample of a collection with grades 0, 1 and 2: 12 runs from an urn, 20 topics.

    Ranks tell its relevant documents from others but not grade 2 from grade 1: step_slope and
    step_log_rank are 0, which the model finds out.
    """
    collection = be.simulate.urn_collection(
        np.geomspace(0.02, 0.3, 12),
        n_topics=20,
        prevalence=0.06,
        difficulty_sd=0.5,
        grade_proportions=[0.7, 0.3],
        keep="retrieved",
        random_seed=options.seed,
    )
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
