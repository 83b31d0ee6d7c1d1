"""The dyn paper's tables 1 to 3 on TREC-COVID round 5, with every estimator: ``make comparison``.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Truth: the complete
judgments, unjudged documents not relevant; 126 runs and their dual runs; uniform and pps strata of
the judged pairs drawn 100 times; depth pools and hedge.
"""

import argparse
import time

import xarray as xr

import bayeseval as be
from benchmarks.real_data import round5

COLUMNS = ["bias", "bias_error_paper", "bias_error", "rms_bias", "rms_sigma", "rms_error"]
TOPICS = ["rmse_topics", "rmse_more_topics"]
GROUPS = {"contributed": "real runs", "other": "dual runs"}
TABLE_3 = ["RBP(p=0.9)", "AP", "nDCG"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    both = be.dual_runs(round5(), random_seed=options.seed)
    drawn = {"n_replicates": options.replicates, "random_seed": options.seed}
    table = be.experiments.comparison(both, **drawn)
    for group, name in GROUPS.items():
        print(f"\nMP@10, {name}\n")
        print_rows(table.isel(measure=0).sel(group=group))
    print("\ndyn, pps, 400 judgments a topic (table 3)\n")
    print_table_3(both, drawn)
    print(f"\n{options.replicates} samples, {time.perf_counter() - began:.0f} s with reading")


def print_rows(table: xr.Dataset) -> None:
    """One row per method."""
    head = ["estimator", "sample", "judgments", *COLUMNS, *TOPICS]
    print("| " + " | ".join(head) + " |")
    print("| --- | --- |" + " --- |" * (len(head) - 2))
    for method in range(table.sizes["method"]):
        row = table.isel(method=method)
        cells = [row[name].item() for name in ("estimator", "sample")]
        cells += [f"{row['judgments'].item():.0f}"]
        cells += [f"{row[name].item():.4f}" for name in (*COLUMNS, *TOPICS)]
        print("| " + " | ".join(cells) + " |")


def print_table_3(both: xr.DataTree, drawn: dict) -> None:
    """RBP, MAP and nDCG by dyn beside the truth's own spread over topics."""
    result = be.experiments.replicate(
        both,
        be.designs.pps_strata(both, budget=400),
        TABLE_3,
        estimators=[("dyn", "rank_logistic")],
        **drawn,
    )
    summary = be.experiments.error_summary(result).isel(estimator=0)
    by_topic = result.truth_by_topic.isel(run=result.contributed.values.nonzero()[0])
    topics = (by_topic.var("topic") / (by_topic.sizes["topic"] - 1)).mean("run") ** 0.5
    print("| measure | runs | bias | bias_error_paper | rmse_topics | of the truth itself |")
    print("| --- | --- |" + " --- |" * 4)
    for measure in TABLE_3:
        for group, name in GROUPS.items():
            row = summary.sel(measure=measure, group=group)
            cells = [f"{row[column].item():.4f}" for column in COLUMNS[:2] + TOPICS[:1]]
            cells.append(f"{topics.sel(measure=measure).item():.4f}")
            print(f"| {measure} | {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
