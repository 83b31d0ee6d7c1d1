import matplotlib
import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.collection import with_node
from bayeseval.inference import judgments_verdict, predicted_judgments
from bayeseval.models.identity import VERSION
from bayeseval.models.relevance.draws import RelevanceDraws

BUDGET = 25


def collection():
    odds = np.geomspace(0.05, 0.5, 5)
    return be.simulate.urn_collection(
        odds, n_topics=8, n_documents=100, prevalence=0.15, depth=50, random_seed=1
    )


def sample_of(whole, seed):
    design = be.designs.pps_strata(whole, budget=BUDGET)
    return be.reveal(whole, design, be.draw(design, random_seed=seed))


def quick_fit(sampled, seed=1):
    model = be.models.relevance_model(sampled)
    return be.fit(model, approximation="laplace", draws=100, random_seed=seed)


@pytest.fixture(scope="module")
def sampled():
    return sample_of(collection(), 1)


@pytest.fixture(scope="module")
def fitted(sampled):
    return quick_fit(sampled)


def shifted(fitted, by):
    """The fit with all log odds moved."""
    posterior = fitted["posterior"].to_dataset()
    moved = posterior["topic_effect"] + xr.DataArray([by, 0.0], dims="predictor")
    wrong = fitted.copy()
    wrong["posterior"] = xr.DataTree(posterior.assign(topic_effect=moved))
    return wrong


@pytest.mark.parametrize("name", ["depth_pool", "with_replacement"])
def test_a_wrong_fit_to_documents_that_no_probability_speaks_for_is_found_too(name):
    whole = collection()
    if name == "depth_pool":
        pooled = be.reveal(whole, be.designs.depth_pool(whole, 10))
    else:
        design = be.designs.with_replacement(whole, budget=30)
        pooled = be.reveal(whole, design, be.draw(design, random_seed=1))
    wrong = shifted(quick_fit(pooled), 3.0)
    assert (predicted_judgments(wrong, pooled)["observed"] > 0).any()
    assert not judgments_verdict(predicted_judgments(wrong, pooled))["passed"].all()


def test_sums_over_all_documents_are_those_of_the_formula(sampled, fitted):
    found = predicted_judgments(fitted, sampled)
    row = found.isel(group=int(np.flatnonzero(found["kind"] == "relevant")[0]))
    draws = RelevanceDraws(fitted, sampled, 0)
    frame = draws.frame
    weight = 1.0 / frame.sample.inclusion_probability - 1.0
    judged = ~np.isnan(frame.grade[0])
    relevant = frame.grade[0] >= 1
    observed = weight[judged & relevant].sum()
    share = np.zeros((judged.size, 400))
    for topic, ranks in frame.topics():
        share[frame.topic == topic] = draws.shares(topic, np.flatnonzero(ranks.in_frame))
    each = weight[judged, None] * share[judged]
    variance = (weight[judged] ** 2 * (share * (1 - share)).mean(axis=1)[judged]).sum()
    assert row["n_judged"] == judged.sum()
    assert row["observed"].item() == pytest.approx(observed)
    assert row["predicted"].item() == pytest.approx(each.sum(axis=0).mean())
    left = max(variance - each.sum(axis=0).var(), 0.4 * variance)
    assert row["standard_error"].item() == pytest.approx(np.sqrt(left))


@pytest.mark.parametrize("kind", ["strata", "topics", "agreement"])
def test_groups_of_a_kind_that_share_no_document_add_up_to_all(sampled, fitted, kind):
    found = predicted_judgments(fitted, sampled)
    names = ["observed", "predicted", "n_judged"]
    parts = found[names].isel(group=np.flatnonzero(found["kind"] == kind)).sum("group")
    whole = found[names].isel(group=np.flatnonzero(found["kind"] == "relevant")).sum("group")
    xr.testing.assert_allclose(parts, whole)


def test_a_run_stands_for_its_first_ten_ranks(sampled, fitted):
    found = predicted_judgments(fitted, sampled)
    label = sampled["run"].to_numpy()[2]
    row = found.isel(group=np.flatnonzero(found["label"] == label))
    top = sampled["rankings/ranking"].to_numpy()[2, :, :10].ravel()
    grade = sampled["judgments/grade"].to_numpy()[top]
    probability = sampled["design/inclusion_probability"].to_numpy()[top]
    known = ~np.isnan(grade)
    assert row["n_judged"].item() == known.sum()
    expected = ((1.0 / probability - 1.0) * (grade >= 1))[known].sum()
    assert row["observed"].item() == pytest.approx(expected)


def test_without_a_design_every_judgment_counts_once(sampled):
    pool = be.select(sampled, topics=sampled["topic"].to_numpy().tolist())
    del pool["design"]
    fitted = quick_fit(pool)
    found = predicted_judgments(fitted, pool)
    row = found.isel(group=np.flatnonzero(found["kind"] == "relevant"))
    assert row["observed"].item() == (pool["judgments/grade"] >= 1).sum()
    assert "ranks 1 to 1" in found["label"].to_numpy()


def test_a_fit_that_is_right_passes_and_one_moved_does_not(sampled, fitted):
    found = be.verdict(fitted, sampled)
    assert found["check"].to_numpy().tolist() == [
        "strata", "topics", "agreement", "runs", "relevant",
    ]  # fmt: skip
    assert found["passed"].all()
    wrong = be.verdict(shifted(fitted, 2.0), sampled)
    assert not wrong["passed"].sel(check=["agreement", "runs", "relevant"]).any()
    assert "all documents" in wrong["worst"].sel(check="relevant").item()
    assert "(allowed: at most" in be.inference.verdict_text(wrong)


def test_a_fit_of_grades_has_a_verdict_on_its_judgments():
    whole = be.simulate.urn_collection(
        [0.1, 0.3], n_topics=3, n_documents=40, prevalence=0.3, grade_proportions=(0.6, 0.4),
        random_seed=1,
    )  # fmt: skip
    sampled = sample_of(whole, 1)
    prior = be.inference.prior_fit(be.models.grade_model(sampled), draws=200, random_seed=1)
    found = predicted_judgments(prior, sampled)
    row = found.isel(group=np.flatnonzero(found["kind"] == "relevant"))
    grade = sampled["judgments/grade"].to_numpy()
    weight = 1.0 / sampled["design/inclusion_probability"].to_numpy() - 1.0
    assert row["observed"].item() == pytest.approx(weight[grade >= 1].sum())


def test_scores_and_summaries_say_whether_the_judgments_speak_against_the_model(sampled, fitted):
    good = be.summarize(be.posterior_scores(fitted, sampled, "P@10", random_seed=1))
    assert good.attrs["judgments_passed"] == 1
    bad = be.summarize(be.posterior_scores(shifted(fitted, 2.0), sampled, "P@10", random_seed=1))
    assert bad.attrs["judgments_passed"] == 0
    assert "relevant" in bad.attrs["judgments_verdict"]


def test_a_fit_without_documents_is_refused(sampled):
    named = xr.Dataset({"model_version": ("model_name", [VERSION])}, {"model_name": ["urn_model"]})
    urn = xr.DataTree.from_dict(
        {"constant_data": named, "posterior": xr.Dataset({"x": (("chain", "draw"), [[0.0]])})}
    )
    with pytest.raises(ValueError, match="urn_model predicts no single documents; models that do"):
        be.verdict(urn, sampled)


def test_the_picture_marks_what_is_outside_the_band(sampled, fitted):
    with matplotlib.rc_context({"backend": "agg"}):
        axes = be.plots.plot_judgments(predicted_judgments(shifted(fitted, 2.0), sampled), "runs")
        assert len(axes.get_yticklabels()) == 6
        colors = {tuple(color) for color in axes.collections[-1].get_facecolors().round(2)}
        assert (0.84, 0.37, 0.0, 1.0) in colors
        matplotlib.pyplot.close(axes.figure)
        with pytest.raises(ValueError, match="kind"):
            be.plots.plot_judgments(predicted_judgments(fitted, sampled), "documents")


def drawn_from(fitted, sampled, whole, random):
    """The collection with grades drawn from one draw of the fit."""
    one = fitted.isel(draw=[int(random.integers(fitted["posterior"].sizes["draw"]))])
    draws = RelevanceDraws(one, sampled, 0)
    grade = whole["judgments/grade"].to_numpy().copy()
    for topic, ranks in draws.frame.topics():
        share = draws.shares(topic, np.flatnonzero(ranks.in_frame))[:, 0]
        grade[draws.frame.pair[draws.frame.topic == topic]] = random.random(share.size) < share
    judgments = whole["judgments"].to_dataset(inherit=False).assign(grade=("pair", grade))
    return with_node(whole, "judgments", judgments)


@pytest.mark.slow
def test_false_alarms_are_near_the_stated_rate(sampled, fitted):
    """40 simulations; at a rate of .1 more than 9 alarms come once in a hundred times."""
    alarms = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        again = sample_of(drawn_from(fitted, sampled, collection(), random), 1000 + seed)
        alarms += int(not be.verdict(quick_fit(again, seed), again)["passed"].all())
    assert alarms <= 9
