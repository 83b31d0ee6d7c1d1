"""Models with parts left out: their scores, by hand, by approximation and from disk."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.models.relevance.blocks import Parts
from tests.posterior.handmade import collection_of_three, half_judged, handmade_fit

VARIANTS = {
    "ranks": {"topic_effects": False, "n_components": 0, "agreement": False},
    "topics": {"n_components": 0, "agreement": False},
    "runs": {"topic_effects": False, "n_topic_components": 0, "agreement": False},
    "lines": {"topic_effects": False, "n_curve_components": 0, "agreement": False},
    "runs, own": {"topic_effects": False, "agreement": False},
    "agreement": {"topic_effects": False, "n_components": 0},
    "all": {},
}

AGREED = 0.5


@pytest.fixture(scope="module")
def sampled() -> xr.DataTree:
    return half_judged(collection_of_three())


def probability(sampled, effect, along=None, bent=None, agreed=None) -> np.ndarray:
    """P@2 expected (run, topic), the predictors those of the complete judgments."""
    whole = be.models.relevance_model(collection_of_three(), n_topic_components=0)
    agreement = whole["agreement_value"].get_value()
    log_rank = whole["topic_value"].get_value()[:, 1]
    curve = whole["curve_value"].get_value()
    topic = sampled["pair_topic"].to_numpy()
    effect = np.broadcast_to(effect, (2, 2))[topic]
    logit = effect[:, 0] + effect[:, 1] * log_rank + 0.2 * curve
    logit = logit - 0.7 * whole["tail_value"].get_value()
    if agreed is not None:
        logit = logit + agreed * agreement.sum(axis=1)
    if along is not None:
        logit = logit + whole["component_value"].get_value() @ along
    if bent is not None:
        logit = logit + whole["curve_component_value"].get_value() @ bent
    grade = sampled["judgments/grade"].to_numpy()
    relevance = np.where(np.isnan(grade), 1 / (1 + np.exp(-logit)), grade >= 1)
    return relevance[sampled["rankings/ranking"].to_numpy()[:, :, :2]].mean(axis=2)


@pytest.mark.parametrize(
    ("name", "parts"),
    [("ranks", (0, False, False)), ("topics", (0, True, False)), ("runs, own", (1, False, False)),
     ("agreement", (0, False, True)), ("all", (1, True, True))],
)  # fmt: skip
def test_a_fit_on_disk_says_which_parts_it_has(sampled, name, parts, tmp_path):
    model = be.models.relevance_model(sampled, **VARIANTS[name])
    be.save_fit(be.inference.prior_fit(model, draws=2, random_seed=1), tmp_path / "fit.nc")
    constant = be.open_fit(tmp_path / "fit.nc")["constant_data"].to_dataset()
    assert Parts.kept(constant) == parts


@pytest.mark.parametrize("name", ["ranks", "topics", "runs", "agreement"])
def test_scores_rest_on_the_parts_that_the_model_has(sampled, name):
    given = {
        "population_effect": np.array([-0.4, 0.7]),
        "topic_effect": np.array([[0.8, -0.3], [-1.0, 0.4]]),
        "component_effect": np.array([0.8]),
        "curve_component_effect": np.array([-0.9]),
        "curvature": 0.2,
        "tail_effect": -0.7,
        "agreement_effect": AGREED,
    }
    model = be.models.relevance_model(sampled, **VARIANTS[name])
    post = be.posterior_scores(
        handmade_fit(model, **given), sampled, "P@2", over=None, random_seed=1
    )
    exact = probability(
        sampled,
        given["topic_effect" if name == "topics" else "population_effect"],
        given["component_effect"] if name == "runs" else None,
        given["curve_component_effect"] if name == "runs" else None,
        AGREED if name == "agreement" else None,
    )
    mean = post.estimate.mean(["chain", "draw"]).sel(measure="P@2").transpose("run", "topic")
    np.testing.assert_allclose(mean, exact, atol=4 * 0.36 / np.sqrt(2000))
    others = probability(sampled, np.array([2.0, 0.0]))
    assert np.abs(others - exact).max() > 0.1


@pytest.mark.parametrize("name", list(VARIANTS))
def test_the_approximation_has_the_variables_of_the_variant(sampled, name):
    model = be.models.relevance_model(sampled, **VARIANTS[name])
    fitted = be.fit(model, approximation="laplace", draws=20, random_seed=1)
    expected = {
        variable.name
        for variable in model.unobserved_RVs
        if variable.name != "relevance" and not variable.name.endswith("_deviation")
    }
    assert set(fitted["posterior"].data_vars) == expected
    for variable, draws in fitted["posterior"].data_vars.items():
        dims = tuple(model.named_vars_to_dims.get(variable) or ())
        assert draws.dims == ("chain", "draw", *dims)


def test_a_variant_is_reopened_and_scored_as_it_was_saved(sampled, tmp_path):
    model = be.models.relevance_model(sampled, **VARIANTS["ranks"])
    fitted = be.fit(model, approximation="laplace", draws=20, random_seed=1)
    be.save_fit(fitted, tmp_path / "fit.nc")
    before, after = (
        be.posterior_scores(part, sampled, "P@2", random_seed=1).estimate
        for part in (fitted, be.open_fit(tmp_path / "fit.nc"))
    )
    xr.testing.assert_equal(before, after)


def test_without_topic_effects_topics_differ_by_their_ranks_alone():
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.4], n_relevant=[20, 200, 20, 200], n_documents=400, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=60, n_strata=10)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    spread = {}
    for name in ("ranks", "topics"):
        model = be.models.relevance_model(sampled, **VARIANTS[name])
        fitted = be.fit(model, approximation="laplace", draws=20, random_seed=1)
        post = be.posterior_scores(fitted, sampled, "NumRel", over=None, random_seed=1)
        found = post.estimate.mean(["chain", "draw"]).sel(measure="NumRel").isel(run=0)
        spread[name] = float(found.max() - found.min())
    assert spread["topics"] > 140  # true: 180
    assert spread["ranks"] < 90  # the judged ones, 20 against 60 or so, are all that differs


def test_a_fit_that_learned_from_late_runs_keeps_the_fusion_of_the_design(tmp_path):
    """In a file, in another order of the runs, and beside runs that came since."""
    whole = be.simulate.urn_collection(
        [0.05, 0.1, 0.3, 0.2], n_topics=6, prevalence=0.1, random_seed=2
    )
    names = whole["run"].to_numpy().tolist()
    early = be.select(whole, runs=names[:2])
    design = be.designs.pps_strata(early, budget=20, n_strata=5, frame="retrieved")
    drawn = be.draw(design, random_seed=1)
    asked = be.reveal(early, design, drawn)
    runs = be.trec.runs_frame(whole)

    def with_runs(some):
        return be.add_runs(asked, runs[runs["run"].isin(some)])

    sampled = with_runs(names[2:3])
    model = be.models.relevance_model(sampled, runs=names[:3])
    assert model.coords["run"] == tuple(names[:3]) and model.coords["fused_run"] == tuple(names[:2])
    fitted = be.fit(model, approximation="laplace", draws=50, random_seed=1)
    be.save_fit(fitted, tmp_path / "fit.nc")
    post = be.posterior_scores(fitted, sampled, "P@10", random_seed=1)
    assert post["learned"].to_numpy().all()
    more = with_runs(names[2:])
    later = be.posterior_scores(be.open_fit(tmp_path / "fit.nc"), more, "P@10", random_seed=1)
    np.testing.assert_array_equal(later.estimate.sel(run=names[:3]), post.estimate)
    assert later["learned"].to_numpy().tolist() == [True] * 3 + [False]
    turned = be.select(more, runs=names[::-1])
    assert turned["run"].to_numpy().tolist() == names[::-1]
    other = be.posterior_scores(fitted, turned, "P@10", random_seed=1)
    np.testing.assert_allclose(other.estimate.sel(run=names[:3]), post.estimate, atol=1e-12)
    with pytest.raises(ValueError, match="this collection lacks"):
        be.posterior_scores(fitted, be.select(more, runs=names[1:]), "P@10", random_seed=1)
