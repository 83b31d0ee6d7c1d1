"""The view of a collection: whose ranks, and whose fusion, are predictors."""

import numpy as np
import pandas as pd

import bayeseval as be
from bayeseval.frame.frame import Frame


def three_runs(contributed):
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.3], n_topics=3, prevalence=0.1, n_documents=60, depth=30, random_seed=2
    )
    runs = be.trec.runs_frame(collection)
    table = pd.DataFrame({"run": np.unique(runs["run"]), "contributed": contributed})
    return be.read_collection(be.trec.qrels_frame(collection), runs, run_table=table)


def sampled_from(collection):
    design = be.designs.pps_strata(collection, budget=12, n_strata=3)
    return be.reveal(collection, design, be.draw(design, random_seed=1))


def test_the_fusion_stays_that_of_the_runs_that_ordered_the_design():
    sampled = sampled_from(three_runs([True, True, False]))
    every = sampled["run"].to_numpy().tolist()
    early, all_runs, late = (Frame.of(sampled, runs) for runs in (None, every, every[2:]))
    assert early.run.tolist() == [0, 1] and all_runs.run.tolist() == [0, 1, 2]
    assert late.run.tolist() == [2]
    for frame in (all_runs, late):
        np.testing.assert_array_equal(
            frame.ranked_sample.fused_rank, early.ranked_sample.fused_rank
        )
    np.testing.assert_array_equal(
        all_runs.ranked_sample.run_rank[:, :2], early.ranked_sample.run_rank
    )
    np.testing.assert_array_equal(
        all_runs.ranked_sample.run_rank[:, 2:], late.ranked_sample.run_rank
    )


def test_without_a_design_the_runs_that_are_predictors_are_fused():
    collection = three_runs([True, True, False])
    assert Frame.of(collection).fused_run.tolist() == [0, 1]
    named = Frame.of(collection, collection["run"].to_numpy()[1:].tolist())
    assert named.fused_run.tolist() == named.run.tolist() == [1, 2]
