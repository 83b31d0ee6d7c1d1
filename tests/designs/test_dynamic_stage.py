"""One stage of a dynamic sample at a time, and what a staged design says where it is placed."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from tests.designs.staged import dynamic_sample, urn_toy


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return urn_toy()


def test_stages_judged_one_by_one_make_the_simulated_sample(collection, tmp_path):
    options = {"budget": 24, "n_strata": 8, "n_stages": 3, "random_seed": 5}
    simulated = dynamic_sample(collection, frame="retrieved", **options)
    truth = be.trec.qrels_frame(collection)
    unjudged = collection.copy()
    del unjudged["judgments"]
    judged, design = unjudged, None
    for stage in range(3):
        design = be.designs.dynamic_stage(judged, design, **options)
        assert design.stratum_stage.max() == stage
        be.save_design(design, tmp_path / "design.nc")
        design = be.read_design(tmp_path / "design.nc")
        topic = design.topic.to_numpy()[design.pair_topic.to_numpy()]
        asked = pd.DataFrame({"topic": topic, "document": design.document})[design.selected.values]
        judged = be.attach_judgments(unjudged, design, asked.merge(truth))
    frame = simulated.isel(pair=np.flatnonzero(simulated.stratum >= 0))
    assert frame.attrs == design.attrs
    xr.testing.assert_equal(frame, design)
    scores = be.evaluate(judged, "P@10", estimator="stat")
    whole = be.reveal(collection, simulated, simulated.selected)
    xr.testing.assert_equal(scores.estimate, be.evaluate(whole, "P@10", estimator="stat").estimate)
    with pytest.raises(ValueError, match="previous has all of its 3 stages"):
        be.designs.dynamic_stage(judged, design, **options)


def test_a_stage_that_does_not_fit_the_one_before_is_refused(collection):
    options = {"budget": 24, "n_strata": 8, "n_stages": 3, "random_seed": 5}
    first = be.designs.dynamic_stage(collection, **options)
    blind = collection.copy()
    blind["judgments/grade"] = collection["judgments/grade"].where(~first.selected)
    with pytest.raises(ValueError, match="selected pairs have no grade yet, the first is topic"):
        be.designs.dynamic_stage(blind, first, **options)
    with pytest.raises(ValueError, match="previous was planned with aim='dyn' and now aim"):
        be.designs.dynamic_stage(collection, first, aim="stat", **options)
    with pytest.raises(ValueError, match="must be a design that dynamic_stage returned"):
        be.designs.dynamic_stage(collection, be.designs.depth_pool(collection, 2), **options)
    fewer = be.select(collection, topics=["1", "2"])
    with pytest.raises(ValueError, match="previous does not fit the collection"):
        be.designs.dynamic_stage(fewer, first, **options)
    two = first.selected.expand_dims(replicate=2)
    with pytest.raises(ValueError, match="this collection holds replicates"):
        be.designs.dynamic_stage(be.reveal(collection, first, two), first, **options)


def test_a_design_in_stages_cannot_be_drawn_again(collection):
    design = dynamic_sample(collection, budget=40, n_strata=8, random_seed=1)
    with pytest.raises(ValueError, match="follow its own judgments.*another random_seed"):
        be.draw(design, random_seed=1)


def test_predictions_join_those_that_are_there_already(collection):
    design = dynamic_sample(collection, budget=24, n_strata=8, random_seed=1)
    one = be.designs.with_stage_predictions(collection, design, name="first")
    two = be.designs.with_stage_predictions(one, design.isel(pair=slice(5, None)))
    np.testing.assert_array_equal(two["predictors/first"], design.predicted_relevance)
    assert two["predictors/dynamic_sampling"].isnull().sum() == 5
    with pytest.raises(ValueError, match="'pps_strata' has no predicted_relevance"):
        plain = be.designs.pps_strata(collection, budget=24, n_strata=8)
        be.designs.with_stage_predictions(collection, plain)


@pytest.mark.parametrize(
    ("n_documents", "options", "n_stages"),
    [
        ([8], {"budget": 20, "n_strata": 20, "n_stages": 5}, 2),
        ([8], {"budget": 100, "n_strata": 20, "n_stages": 5}, 1),
        ([15, 9], {"budget": 20, "n_strata": 20, "n_stages": 5}, 4),
    ],
)
def test_stages_come_to_an_end_where_the_budget_covers_the_frame(n_documents, options, n_stages):
    small = be.simulate.urn_collection(
        [0.1, 0.5],
        n_topics=len(n_documents),
        n_documents=n_documents,
        n_relevant=[3] * len(n_documents),
        random_seed=1,
    )
    design, left = None, []
    while design is None or design.attrs["stages_left"]:
        design = be.designs.dynamic_stage(small, design, random_seed=2, **options)
        left.append(design.attrs["stages_left"])
    assert left == list(range(n_stages))[::-1]
    assert design.selected.all() and design.stratum_stage.max() + 1 == n_stages
    whole = dynamic_sample(small, frame="retrieved", random_seed=2, **options)
    xr.testing.assert_identical(whole, design)
    with pytest.raises(ValueError, match=f"previous has all of its {n_stages} stages"):
        be.designs.dynamic_stage(small, design, random_seed=2, **options)


@pytest.fixture(scope="module")
def revealed(collection) -> xr.DataTree:
    design = dynamic_sample(collection, budget=24, n_strata=8, random_seed=1)
    return be.reveal(collection, design, design.selected)


def reopened(tree, folder) -> xr.DataTree:
    be.save_collection(tree, folder / "collection.nc")
    return be.open_collection(folder / "collection.nc")


def grown(tree, folder) -> xr.DataTree:
    run = pd.DataFrame({"run": "new", "topic": "2", "document": ["never seen"], "score": [1.0]})
    return be.add_runs(tree, run)


CHANGES = {
    "as revealed": lambda tree, folder: tree,
    "topics left out": lambda tree, folder: be.select(tree, topics=["2", "4"]),
    "a run with a new document": grown,
    "saved and opened": reopened,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_placed_design_knows_its_stages_and_predictions(revealed, change, tmp_path):
    changed = CHANGES[change](revealed, tmp_path)
    design = changed["design"].to_dataset()
    with pytest.raises(ValueError, match="drawn in stages follow its own judgments"):
        be.draw(design, random_seed=1)
    with pytest.warns(UserWarning, match="learns from later stages"):
        be.evaluate(changed, "P@10", estimator="dyn")
    stage = np.append(design.stratum_stage, -1)[design.stratum]
    first = design.predicted_relevance.to_numpy()[stage == 0]
    assert (first == 0.5).all() and first.size
    np.testing.assert_array_equal(design.predicted_relevance.isnull(), stage < 0)


def test_a_judged_design_keeps_its_stages(collection, revealed):
    design = dynamic_sample(collection, budget=24, n_strata=8, random_seed=1)
    judged = be.attach_judgments(collection, design, be.trec.qrels_frame(revealed))
    xr.testing.assert_equal(judged["design/stratum_stage"], design.stratum_stage)


@pytest.mark.parametrize("predictor", [None, "rank_logistic", "constant", ("pooled", "judge")])
def test_dyn_warns_once_of_a_prediction_that_learns_from_later_stages(revealed, predictor):
    judge = revealed["design/predicted_relevance"].fillna(0.0).variable
    tree = be.collection.with_node(revealed, "predictors", xr.Dataset({"judge": judge}))
    message = "learns from later stages.*with be.designs.with_stage_predictions"
    with pytest.warns(UserWarning, match=message) as told:
        be.evaluate(tree, ["P@5", "P@10"], estimator="dyn", predictor=predictor)
    assert len(told) == 1


@pytest.mark.parametrize("predictor", [("constant", 0.3), ("external", "dynamic_sampling")])
def test_dyn_says_nothing_of_a_prediction_that_does_not_learn(collection, revealed, predictor):
    design = dynamic_sample(collection, budget=24, n_strata=8, random_seed=1)
    tree = be.designs.with_stage_predictions(revealed, design)
    be.evaluate(tree, "P@10", estimator="dyn", predictor=predictor)  # warnings are errors here


def test_dyn_says_nothing_of_one_stage(collection):
    one = dynamic_sample(collection, budget=24, n_strata=8, n_stages=1, random_seed=1)
    be.evaluate(be.reveal(collection, one, one.selected), "P@10", estimator="dyn")


def test_a_pool_that_is_placed_knows_the_order_of_judging(collection):
    pool = be.designs.move_to_front(collection, 5)
    placed = be.reveal(collection, pool)["design/judging_order"]
    np.testing.assert_array_equal(placed, pool.judging_order)
    assert placed.max() == 5
