"""What the counts of all topics cost: AP and nDCG of round 5 by either denominator.

All 126 runs of round 5, their samples of 100 judgments a topic, `stat`, and `dyn` with its default
predictor; processor time, so that what else the machine does hardly matters.
"""

import os
import time
import warnings

import pytest

import bayeseval as be

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "nDCG@10"]
REPLICATES = int(os.environ.get("BAYESEVAL_REPLICATES", "100"))
SLOWER = {"stat": 2.2, "dyn": 2.0}


@pytest.fixture(scope="module")
def samples(real_data, round5_runs):
    """Replicated samples of the complete judgments."""
    qrels = real_data / "trec-covid" / "qrels.covid-complete.txt.gz"
    collection = be.read_collection(qrels, f"{round5_runs}/*", score_type="float32")
    design = be.designs.pps_strata(collection, budget=100)
    selected = be.draw(design, n_replicates=REPLICATES, random_seed=1)
    return be.reveal(collection, design, selected)


def seconds(samples, estimator: str, denominator: str) -> float:
    """Processor time of one evaluation."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"denominator": denominator}
        be.evaluate(samples, MEASURES, estimator=estimator, estimator_options=options)
    return time.process_time() - began


@pytest.mark.parametrize("estimator, repeats", [("stat", 4), ("dyn", 1)])
def test_the_counts_take_about_twice_the_time_at_most(benchmark, samples, estimator, repeats):
    few = samples["judgments"].to_dataset(inherit=False).isel(replicate=slice(0, 2))
    warm = be.collection.with_node(samples, "judgments", few)
    for name in ("topic", "counts"):
        seconds(warm, estimator, name)  # compiles
    topic = min(seconds(samples, estimator, "topic") for _ in range(repeats))
    taken = []
    benchmark.pedantic(lambda: taken.append(seconds(samples, estimator, "counts")), rounds=repeats)
    counts = min(taken)
    times = f"{counts / topic:.2f} times"
    print(f"ratios by {estimator}: {times} as long as by the topic's own denominators")
    if benchmark.stats is None:  # run with --benchmark-disable
        return
    assert counts <= SLOWER[estimator] * topic, f"{counts:.1f} s against {topic:.1f} s"
