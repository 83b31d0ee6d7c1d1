"""What the counts of all topics cost: AP and nDCG of round 5 by either denominator.

All 126 runs of round 5, their samples of 100 judgments a topic, `dyn` with its default predictor;
processor time, so that what else the machine does hardly matters.
"""

import os
import time
import warnings

import pytest

import bayeseval as be

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "nDCG@10"]
REPLICATES = int(os.environ.get("BAYESEVAL_REPLICATES", "100"))
SLOWER = 2.0


@pytest.fixture(scope="module")
def samples(real_data, round5_runs):
    """Replicated samples of the complete judgments."""
    qrels = real_data / "trec-covid" / "qrels.covid-complete.txt.gz"
    collection = be.read_collection(qrels, f"{round5_runs}/*", score_type="float32")
    design = be.designs.pps_strata(collection, budget=100)
    selected = be.draw(design, n_replicates=REPLICATES, random_seed=1)
    return be.reveal(collection, design, selected)


def seconds(samples, denominator: str) -> float:
    """Processor time of one evaluation."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        be.evaluate(
            samples, MEASURES, estimator="dyn", estimator_options={"denominator": denominator}
        )
    return time.process_time() - began


def test_the_counts_of_all_topics_take_at_most_twice_the_time(benchmark, samples):
    few = samples["judgments"].to_dataset(inherit=False).isel(replicate=slice(0, 2))
    warm = be.collection.with_node(samples, "judgments", few)
    for name in ("topic", "counts"):
        seconds(warm, name)  # compiles
    topic = seconds(samples, "topic")
    counts = benchmark.pedantic(seconds, args=(samples, "counts"), rounds=1)
    print(f"ratios: {counts / topic:.2f} times as long as by the topic's own denominators")
    if benchmark.stats is None:  # run with --benchmark-disable
        return
    assert counts <= SLOWER * topic, f"{counts:.1f} s against {topic:.1f} s"
