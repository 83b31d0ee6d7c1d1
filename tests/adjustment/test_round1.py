"""A real second stage: round 1 of TREC-COVID, whose documents were judged further later."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayeseval as be

MEASURES = ["P@10", "RBP(p=0.8)@10"]
NAMES = ("unadjusted", "adjusted", "common_mean")


def judgments(path):
    return be.trec.qrels_frame(be.read_collection(path))


@pytest.fixture(scope="module")
def stages(real_data, round1_runs):
    """Collection with all judgments, and those of round 1."""
    folder = real_data / "trec-covid"
    official = pd.read_csv(folder / "round1-official.csv")
    contributed = official["contributed judgments"] == "yes"
    known = pd.read_csv(folder / "docids.covid.round1.txt.gz", header=None)[0]
    first = judgments(folder / "qrels.covid-round1.txt.gz")
    later = judgments(folder / "qrels.covid-complete.txt.gz")
    later = later[later["document"].isin(known) & later["topic"].isin(first["topic"])]
    every = pd.concat([first, later]).drop_duplicates(["topic", "document"])
    table = official[["run", "team"]].assign(contributed=contributed)
    collection = be.read_collection(every, f"{round1_runs}/*", run_table=table, depth=20)
    return collection, first


@pytest.fixture(scope="module")
def scores(stages):
    """Scores by the judgments of round 1 and by all of them."""
    collection, first = stages
    early = be.read_collection(first, be.trec.runs_frame(collection))
    return [
        be.evaluate(judged, MEASURES, estimator="assumed").estimate
        for judged in (early, collection)
    ]


def test_the_later_judgments_are_those_that_were_counted(stages, scores):
    collection, first = stages
    assert len(first) == 8691
    assert int(collection["judgments/grade"].notnull().sum()) == 21020
    assert int(collection["contributed"].sum()) == 56
    means = [float(score.sel(measure="P@10").mean()) for score in scores]
    assert np.round(means, 3).tolist() == [0.397, 0.437]


def test_ten_common_topics_halve_the_error_of_the_runs_that_were_not_pooled(stages, scores):
    collection, first = stages
    early, true = (score.mean("topic") for score in scores)
    errors = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        common = random.choice(collection["topic"].values, size=10, replace=False)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*have no judgment and count")
            warnings.filterwarnings("ignore", message="the adjustment has no error for")
            result = be.adjust_scores(
                collection,
                common_topics=common,
                measures=MEASURES,
                judged_before=first,
            )
        target = true.sel(run=result.run)
        np.testing.assert_allclose(result.unadjusted, early.sel(run=result.run), atol=1e-12)
        errors.append([abs(result[name] - target).mean("run") for name in NAMES])
    unadjusted, adjusted, common_mean = np.mean(errors, axis=0)
    assert (adjusted < 0.6 * unadjusted).all()
    assert (adjusted < common_mean).all()


def test_leaving_out_pooled_runs_overshoots_where_teammates_were_pooled(stages, scores):
    collection, first = stages
    with pytest.warns(UserWarning, match="every document that 1 of.*depth 7 is.*'BBGhelani1'"):
        before = be.adjust_scores(
            collection,
            MEASURES,
            unpooled=collection["run"].values[~collection["contributed"].values][:12],
            judged_before=first,
            pool_depth=7,
        )
    true = scores[1].mean("topic").sel(run=before.run)
    assert (before.adjustment > 0).all()
    assert ((before.unadjusted - true).mean("run") < 0).all()
    assert ((before.adjusted - true).mean("run") > 0).all()
