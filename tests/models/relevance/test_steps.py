from functools import partial

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit

import bayeseval as be
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.models.relevance.laplace import Chains
from bayeseval.models.relevance.mode import normal_start
from bayeseval.models.relevance.regression import Regression
from tests.models.relevance.posterior_slopes import (
    check_mode_and_arrow,
    check_slope_of_path,
)

PROPORTIONS = (0.5, 0.3, 0.2)


def graded(
    n_topics=6, prevalence=0.2, budget=50, odds=(0.1, 0.2, 0.4), proportions=PROPORTIONS
) -> xr.DataTree:
    given = {} if proportions is None else {"grade_proportions": proportions}
    collection = be.simulate.urn_collection(
        list(odds), n_topics=n_topics, prevalence=prevalence, random_seed=1, **given
    )
    design = be.designs.pps_strata(collection, budget=budget, n_strata=5)
    return be.reveal(collection, design, be.draw(design, random_seed=1))


@pytest.fixture(scope="module")
def sampled():
    return graded()


@pytest.fixture(scope="module")
def model(sampled):
    return be.models.grade_model(sampled)


@pytest.fixture(scope="module")
def started(model):
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    grade = model["judged_grade"].get_value()
    regression = Regression.of(data, model.coords["block"], grade, 6, 2)
    return regression, *normal_start(regression, data)


def columns_of(model) -> tuple[np.ndarray, ...]:
    """Columns of the judged pairs, as common effects (without steps) and own ones have them."""
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    grade, names = model["judged_grade"].get_value(), model.coords["block"]
    binary = Regression.of(data, names, (grade > 0).astype(int), 6)
    known = np.arange(binary.relevance.shape[1]) < binary.number[:, None]
    order = np.argsort(data["judged_topic"], kind="stable")
    topic = np.repeat(np.arange(6), binary.number)
    return binary.common[known], binary.own[known], topic, grade[order]


def minus_log_posterior(model, spreads, common, own) -> float:
    """Of effects given the spreads, by the chances of all grades; the last effects are of steps."""
    shared, apart, topic, grade = columns_of(model)
    logit = shared @ common[:-6] + (apart * own[topic, :-2]).sum(axis=1)
    level, slope, by_rank = common[-6:].reshape(3, 2)
    odds = level + own[topic, -2:] + slope * np.log1p(np.exp(logit))[:, None]
    odds += by_rank * np.minimum(apart[:, [1]], 1.0)
    reached = np.cumprod(expit(np.column_stack([logit, odds])), axis=1)
    bounds = np.column_stack([np.ones(grade.size), reached, np.zeros(grade.size)])
    row = np.arange(grade.size)
    fit = np.log(bounds[row, grade] - bounds[row, grade + 1])
    mean = np.zeros(common.size)
    mean[:4], mean[-4:-2] = model["fixed_prior"].get_value()[0], 0.5
    precision, own_precision = spreads.precisions()
    np.testing.assert_allclose(precision[-6:-2, 0] ** -0.5, [1.5, 1.5, 0.5, 0.5])
    np.testing.assert_allclose(precision[-2:, 0] ** -0.5, 1.0)
    prior = (precision[:, 0] * (common - mean) ** 2).sum()
    prior += sum(effect @ own_precision[0] @ effect for effect in own)
    return 0.5 * prior - fit.sum()


def test_the_mode_has_no_gradient_and_the_arrow_is_nearly_the_factor_of_its_curvature(
    model, started
):
    """Nearly: what the log odds of a step bend by themselves is left out."""
    _, common, own, arrow, spreads = started
    check_mode_and_arrow(partial(minus_log_posterior, model, spreads), common, own, arrow, 0.1)


def test_the_energy_of_a_path_is_that_of_the_formula_and_so_is_its_gradient(model, started):
    regression, common, own, arrow, spreads = started
    random = np.random.default_rng(2)
    moved = 0.05 * random.normal(size=(common.size, 16))
    start = common[:, None] + moved, own[:, :, None] + 0.1 * random.normal(size=(*own.shape, 1))
    start = start[0], start[1] * np.ones(16)
    chains = Chains(regression, spreads, arrow, *start, random)
    prior, scale = spreads.precisions(), spreads.scale()
    energy, _ = chains._energy(start, prior, scale)
    expected = [
        minus_log_posterior(model, spreads, start[0][:, chain], start[1][:, :, chain])
        for chain in range(16)
    ]
    np.testing.assert_allclose(energy - energy[0], np.array(expected) - expected[0], atol=1e-8)
    check_slope_of_path(chains, arrow, start, prior, scale, random)


def test_an_effect_and_its_spread_stretch_together_by_what_the_grades_say(started):
    """The likelihood that stretching goes by is that of the stretched effects, steps included."""
    regression, common, own, _, _ = started
    linear = regression.linear(common[:, None], own[:, :, None])
    columns = regression.common_spans["component"]
    part = regression.common[:, :, columns] @ common[columns, None]
    stretched = common.copy()
    stretched[columns] *= 1.5
    expected = regression.logit(stretched[:, None], own[:, :, None])
    found = regression.steps.bent(linear + 0.5 * part, common[:, None])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.abs(found - regression.logit(common[:, None], own[:, :, None])).max() > 0.01


@pytest.mark.parametrize("highest", [1.0, 2.0, 3.0])
def test_grades_that_hardly_occur_leave_no_chain_where_it_started(highest):
    """Few documents tell the steps, or none."""
    few = graded(3, 0.03, 15)
    node = few["judgments"].to_dataset(inherit=False)
    few["judgments"] = xr.DataTree(node.assign(grade=node.grade.clip(max=highest)))
    model = be.models.grade_model(few)
    for seed in range(3):
        fitted = be.fit(model, approximation="laplace", draws=100, random_seed=seed)["posterior"]
        assert fitted.sizes["grade_step"] == 2
        for name in ("curvature", "topic_step_sd"):
            drawn = fitted[name].to_numpy().ravel()
            chains = drawn[: drawn.size // 16 * 16].reshape(-1, 16)
            assert (chains.std(axis=0) > 0.0).all()


def test_a_grade_that_is_not_on_the_scale_is_refused(sampled):
    node = sampled["judgments"].to_dataset(inherit=False)
    other = sampled.copy()
    other["judgments"] = xr.DataTree(node.assign(grade=node.grade.where(node.grade != 1.0, 5.0)))
    with pytest.raises(ValueError, match="has the grade 5, which is not on the collection's scale"):
        be.models.grade_model(other)


def test_topics_differ_in_their_share_of_high_grades():
    """Half of the topics have no grade above 1, the others nothing else among the relevant."""
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.4], n_topics=8, prevalence=0.2, random_seed=1
    )
    node = collection["judgments"].to_dataset(inherit=False)
    high = (collection["pair_topic"].to_numpy() % 2).astype(np.float32)
    collection["judgments"] = xr.DataTree(node.assign(grade=node.grade * (1.0 + high)))
    design = be.designs.pps_strata(collection, budget=50, n_strata=5)
    some = be.reveal(collection, design, be.draw(design, random_seed=1))
    model = be.models.grade_model(some)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=1)
    draws = RelevanceDraws(fitted, some, 1)
    pairs = np.flatnonzero(np.isnan(draws.grade[:-1]))
    topic = some["pair_topic"].to_numpy()[pairs]
    above = draws._reached(np.zeros((pairs.size, draws.n_draws)), pairs)
    share = (above[1] / above[0]).mean(axis=1)
    assert share[topic % 2 == 0].max() < 0.15 and share[topic % 2 == 1].min() > 0.85


def test_where_runs_rank_the_highest_grade_alone_well_it_is_not_expected_deep_down():
    """Grade 1 is everywhere; without a slope over ranks twice as many have grade 2 as there are."""
    collection = be.simulate.urn_collection(
        [0.02, 0.04, 0.08], n_topics=12, n_documents=1000, prevalence=0.02, random_seed=1
    )
    node = collection["judgments"].to_dataset(inherit=False)
    high = node.grade > 0
    low = ~high & (np.random.default_rng(1).random(high.size) < 0.3)
    collection["judgments"] = xr.DataTree(node.assign(grade=2.0 * high + low))
    design = be.designs.pps_strata(collection, budget=60, n_strata=8)
    some = be.reveal(collection, design, be.draw(design, random_seed=1))
    fitted = be.fit(be.models.grade_model(some), approximation="laplace", draws=200, random_seed=1)
    slope = fitted["posterior/step_log_rank"]
    assert float(slope.mean() + 3.0 * slope.std()) < 0.0
    post = be.posterior_scores(fitted, some, "NumRel(rel=2)", random_seed=1).estimate.isel(run=0)
    truth = float(high.sum()) / 12
    assert abs(float(post.mean()) - truth) < 3.0 * float(post.std()) < truth


def test_of_two_grades_it_is_the_approximation_of_the_model_of_relevance():
    two = graded(proportions=None)
    fits = [
        be.fit(make(two), approximation="laplace", draws=50, random_seed=3)["posterior"]
        for make in (be.models.relevance_model, be.models.grade_model)
    ]
    xr.testing.assert_identical(*(fit.to_dataset() for fit in fits))


def test_labels_have_error_rates_for_every_grade(sampled):
    grade = sampled["judgments/grade"].to_numpy()
    random = np.random.default_rng(4)
    labels = np.where(random.random(grade.size) < 0.8, np.nan_to_num(grade), 0.0)
    labels[np.isnan(grade)] = np.nan
    labelled = sampled.copy()
    labelled["predictors"] = xr.DataTree(xr.Dataset({"llm": ("pair", labels)}))
    model = be.models.grade_model(labelled, external="llm")
    fitted = be.fit(model, approximation="laplace", draws=200, random_seed=1)
    rate = fitted["posterior/llm_rate"].mean(("chain", "draw"))
    assert rate.dims == ("state", "llm_value")
    right = np.diagonal(rate.to_numpy())
    assert (right > 0.55).all() and right[0] > 0.9
    post = be.posterior_scores(fitted, labelled, ["nDCG@10", "P@10"], random_seed=1)
    assert post.estimate.notnull().all()
