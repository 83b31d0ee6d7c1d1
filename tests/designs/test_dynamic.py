"""Dynamic sampling: every sample of a small case, and what a stage may look at."""

import itertools
import math

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.designs.dynamic import planned, predicted_logit
from tests.designs.staged import OPTIONS, any_logit, dynamic_sample, enumerated, toy, urn_toy
from tests.estimators.test_unbiased import numerators, true_numerators

LINEAR = ["P@3", "P@8", "RBP(p=0.8)", "DCG@6", "NumRel"]
STAGE = ("external", "dynamic_sampling")
CASES = {
    "2 stages, dyn": (2, "dyn", predicted_logit),
    "2 stages, relevant": (2, "relevant", predicted_logit),
    "4 stages, stat": (4, "stat", predicted_logit),
    "2 stages, any model": (2, "relevant", any_logit),
    "4 stages, any model": (4, "relevant", any_logit),
}


@pytest.fixture(scope="module", params=CASES)
def samples(request) -> list[xr.DataTree]:
    n_stages, aim, model = CASES[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bayeseval.designs.dynamic.predicted_logit", model)
        return enumerated(toy(), n_stages, aim)


def scored(samples, estimator, predictor=None, measures=LINEAR) -> xr.Dataset:
    parts = [
        be.evaluate(tree, measures, estimator=estimator, predictor=predictor) for tree in samples
    ]
    return xr.concat([part[["estimate", "design_error"]] for part in parts], dim="replicate")


def test_the_enumeration_is_complete_and_strata_differ_between_samples(samples):
    count = sum(tree["judgments"].sizes["replicate"] for tree in samples)
    assert count == math.comb(3, 2) * math.comb(4, 2) * math.comb(6, 2)
    strata = {tuple(tree["design/stratum"].to_numpy()) for tree in samples}
    assert len(strata) > 1
    assert all((np.bincount(one) == [2, 3, 4, 6]).all() for one in map(np.array, strata))


@pytest.mark.parametrize(
    ("estimator", "predictor"), [("stat", None), ("dyn", ("constant", 0.3)), ("dyn", STAGE)]
)
def test_stat_and_dyn_are_unbiased_and_so_is_their_variance(samples, estimator, predictor):
    measures = LINEAR if predictor is None else [name for name in LINEAR if "DCG" not in name]
    truth = be.evaluate(toy(), measures, estimator="assumed").estimate
    scores = scored(samples, estimator, predictor, measures)
    xr.testing.assert_allclose(scores.estimate.mean("replicate"), truth, rtol=0, atol=1e-12)
    exact = scores.estimate.var("replicate", ddof=0)
    expected = (scores.design_error**2).mean("replicate")
    xr.testing.assert_allclose(expected, exact, rtol=0, atol=1e-12)
    assert exact.max() > 1e-3


def test_the_numerator_of_average_precision_is_unbiased_for_stat(samples):
    mean = np.concatenate([numerators(tree, "stat", None) for tree in samples], axis=-1).mean(-1)
    np.testing.assert_allclose(mean, true_numerators(toy()), rtol=0, atol=1e-12)


def test_a_prediction_that_learns_from_later_stages_leaves_a_small_bias(samples):
    truth = be.evaluate(toy(), "P@8", estimator="assumed").estimate
    with pytest.warns(UserWarning, match="the prediction learns from later stages"):
        scores = scored(samples, "dyn", "rank_logistic", "P@8")
    bias = np.abs(scores.estimate.mean("replicate") - truth).max().item()
    assert 1e-9 < bias < 0.1 * scores.estimate.std("replicate").max().item()


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return urn_toy()


@pytest.mark.parametrize("n_stages", [1, 3, 8])
def test_every_frame_pair_is_in_one_stratum_and_the_budget_is_spent(collection, n_stages):
    design = dynamic_sample(collection, budget=24, n_strata=8, n_stages=n_stages, random_seed=1)
    stratum = design.stratum.to_numpy()
    assert (stratum >= 0).all()
    np.testing.assert_array_equal(np.bincount(stratum), design.stratum_size)
    selected = design.selected.to_numpy()
    np.testing.assert_array_equal(np.bincount(stratum[selected]), design.stratum_sample_size)
    np.testing.assert_array_equal(design.selected.groupby(design.pair_topic).sum(), [24, 24, 24, 6])
    np.testing.assert_array_equal(
        design.stratum_topic.to_numpy()[stratum], collection["pair_topic"].to_numpy()
    )
    assert design.stratum_stage.max() + 1 == n_stages
    assert design.predicted_relevance.min() > 0 and design.predicted_relevance.max() < 1


def test_one_stage_is_the_stratified_design(collection):
    one = dynamic_sample(collection, budget=24, n_strata=8, n_stages=1, random_seed=1)
    plain = be.designs.pps_strata(collection, budget=24, n_strata=8)
    xr.testing.assert_equal(one[list(plain.data_vars)], plain.drop_vars("topic"))


def test_no_stage_looks_at_a_grade_that_was_not_drawn(collection):
    options = {"budget": 24, "n_strata": 8, "n_stages": 4, "random_seed": 1}
    design = dynamic_sample(collection, **options)
    flipped = collection.copy()
    grade = collection["judgments/grade"]
    flipped["judgments/grade"] = grade.where(design.selected, 1 - grade)
    xr.testing.assert_identical(dynamic_sample(flipped, **options), design)
    early = design.selected & (design.stratum_topic[design.stratum] == 1)
    flipped["judgments/grade"] = grade.where(~early, 1 - grade)
    other = dynamic_sample(flipped, **options)
    assert (other.stratum != design.stratum).any()


SIZES = {
    "dyn": lambda chance, rank: np.sqrt(chance * (1 - chance)) / rank,
    "stat": lambda chance, rank: np.sqrt(chance) / rank,
    "relevant": lambda chance, rank: chance,
}


@pytest.mark.parametrize("aim", SIZES)
def test_the_strata_of_a_stage_go_from_large_documents_to_small_ones(collection, aim):
    design = dynamic_sample(collection, budget=24, n_strata=8, n_stages=2, aim=aim, random_seed=1)
    _, plan = planned(collection, n_stages=2, aim=aim, **(OPTIONS | {"budget": 24, "n_strata": 8}))
    size = SIZES[aim](design.predicted_relevance.to_numpy(), plan.frame.fused_rank)
    stratum = design.stratum.to_numpy()
    second = np.flatnonzero(design.stratum_stage == 1)
    for upper, lower in itertools.pairwise(second):
        if design.stratum_topic[upper] == design.stratum_topic[lower]:
            assert size[stratum == upper].min() >= size[stratum == lower].max() * (1 - 1e-9)


def test_runs_that_did_not_contribute_change_nothing(collection):
    both = be.dual_runs(collection, random_seed=1)
    one, two = (
        dynamic_sample(tree, budget=24, n_strata=8, random_seed=1) for tree in (collection, both)
    )
    xr.testing.assert_identical(one, two)


def test_strata_and_stages_shrink_to_what_the_budget_allows(collection):
    with pytest.warns(UserWarning, match="n_strata is 20, and shrinks to 3: the budget has no"):
        design = dynamic_sample(collection, budget=3, random_seed=1)
    asked = dynamic_sample(collection, budget=3, n_strata=3, n_stages=3, random_seed=1)
    xr.testing.assert_identical(design, asked)
    n_topics = collection.sizes["topic"]
    assert design["stratum_sample_size"].to_numpy().tolist() == [1] * 3 * n_topics
