"""Error and coverage of estimators on TREC-COVID round 5 as a table: ``make table``.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Truth: the complete
judgments; frame: the judged pairs; 20 pps strata, and orders; 100 samples; 126 runs and their dual
runs.
"""

import argparse

import bayeseval as be
from benchmarks.real_data import round5

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "nDCG@10"]
ESTIMATORS = ["assumed", "stat", ("dyn", "rank_logistic"), ("dyn", "pooled")]
COLUMNS = [
    "bias",
    "bias_error",
    "bias_error_paper",
    "rms_bias",
    "rms_sigma",
    "rms_error",
    "rmse_topics",
    "rmse_more_topics",
    "variance_ratio",
    "coverage",
    "coverage_error",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    both = be.dual_runs(round5(), random_seed=options.seed)
    designs = {
        "pps": be.designs.pps_strata(both, budget=options.budget),
        "order": be.designs.order(both, budget=options.budget, random_seed=options.seed),
    }
    print("| measure | estimator | sample | runs | " + " | ".join(COLUMNS) + " |")
    print("| --- | --- | --- | --- |" + " --- |" * len(COLUMNS))
    for sample, design in designs.items():
        result = be.experiments.replicate(
            both,
            design,
            MEASURES,
            estimators=ESTIMATORS,
            n_replicates=options.replicates,
            random_seed=options.seed,
        )
        summary = be.experiments.error_summary(result)
        for measure in summary.measure.values:
            for estimator in summary.estimator.values:
                for group, name in (("contributed", "real"), ("other", "dual")):
                    row = summary.sel(measure=measure, estimator=estimator, group=group)
                    cells = " | ".join(f"{row[column].item():.4f}" for column in COLUMNS)
                    print(f"| {measure} | {estimator} | {sample} | {name} | {cells} |")


if __name__ == "__main__":
    main()
