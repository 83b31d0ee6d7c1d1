from functools import partial

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit
from scipy.stats import lognorm

import bayeseval as be
from bayeseval.models.relevance.chain import Chains
from bayeseval.models.relevance.gaps import Gaps
from bayeseval.models.relevance.mode import normal_start
from bayeseval.models.relevance.regression import Regression
from tests.models.relevance.posterior_slopes import check_mode_and_arrow, check_slope_of_path

PLAIN = {"topic_effects": False, "n_components": 0, "agreement": False}
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
    regression = Regression.of(data, model.coords["block"], grade, 6, 3)
    return regression, *normal_start(regression, data)


def columns_of(model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns of the judged pairs, as common effects (without cuts) and own ones have them."""
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    grade, names = model["judged_grade"].get_value(), model.coords["block"]
    binary = Regression.of(data, names, (grade > 0).astype(int), 6)
    known = np.arange(binary.relevance.shape[1]) < binary.number[:, None]
    order = np.argsort(data["judged_topic"], kind="stable")
    topic = np.repeat(np.arange(6), binary.number)
    own = np.zeros((topic.size, 6, binary.own.shape[2]))
    own[np.arange(topic.size), topic] = binary.own[known]
    return binary.common[known], own, grade[order]


def minus_log_posterior(model, spreads, common, own) -> float:
    """Of effects given the spreads, by differences of the chances to reach two grades."""
    shared, apart, grade = columns_of(model)
    logit = shared @ common[:-2] + np.einsum("dtj,tj->d", apart, own)
    reached = expit(logit[:, None] + np.array([0.0, *common[-2:]]))
    bounds = np.column_stack([np.ones(grade.size), reached, np.zeros(grade.size)])
    row = np.arange(grade.size)
    fit = np.log(bounds[row, grade] - bounds[row, grade + 1])
    gap = -np.diff([0.0, *common[-2:]])
    precision, own_precision = spreads.precisions()
    off = common - spreads.mean
    prior = (precision[:, 0] * off**2).sum()
    prior += sum(effect @ own_precision[0] @ effect for effect in own)
    return 0.5 * prior - fit.sum() - lognorm(0.75).logpdf(gap).sum()


def test_the_mode_has_no_gradient_and_the_arrow_is_the_factor_of_its_curvature(model, started):
    _, common, own, arrow, spreads = started
    assert (np.diff([0.0, *common[-2:]]) < 0).all()
    check_mode_and_arrow(partial(minus_log_posterior, model, spreads), common, own, arrow, 0.02)


def test_the_energy_of_a_path_is_that_of_the_formula_and_so_is_its_gradient(model, started):
    regression, common, own, arrow, spreads = started
    random = np.random.default_rng(2)
    moved = 0.05 * random.normal(size=(common.size, 16))
    start = common[:, None] + moved, own[:, :, None] * np.ones(16)
    chains = Chains(regression, spreads, arrow, *start, random)
    prior, scale = spreads.precisions(), spreads.scale()
    energy, _ = chains._energy(start, prior, scale)
    expected = [minus_log_posterior(model, spreads, start[0][:, chain], own) for chain in range(16)]
    np.testing.assert_allclose(energy - energy[0], np.array(expected) - expected[0], atol=1e-8)
    check_slope_of_path(chains, arrow, start, prior, scale, random)


def test_cutpoints_that_are_not_in_order_are_impossible():
    gaps = Gaps(slice(0, 2), np.array([3, 5]), 0.0, 0.75)
    np.testing.assert_array_equal(gaps.of(np.array([[-1.0], [-3.0]])), [[1.0], [2.0]])
    density, rise = gaps.density(np.array([[-1.0, -1.0, 0.5], [-3.0, -0.5, -1.0]]))
    np.testing.assert_array_equal(np.isfinite(density), [True, False, False])
    assert np.isfinite(rise).all()


@pytest.mark.parametrize("spread", [0.75, 1.5])
@pytest.mark.parametrize("highest", [1.0, 2.0, 3.0])
def test_grades_that_hardly_occur_leave_no_chain_where_it_started(highest, spread):
    """Few documents tell the cutpoints, or none: starts may be impossible, draws are not."""
    few = graded(3, 0.03, 15)
    node = few["judgments"].to_dataset(inherit=False)
    few["judgments"] = xr.DataTree(node.assign(grade=node.grade.clip(max=highest)))
    model = be.models.grade_model(few, priors={"grade_gap": (0.0, spread)})
    for seed in range(3):
        fitted = be.fit(model, approximation="laplace", draws=100, random_seed=seed)["posterior"]
        assert (fitted["grade_gap"] > 0.0).all()
        curvature = fitted["curvature"].to_numpy().ravel()
        chains = curvature[: curvature.size // 16 * 16].reshape(-1, 16)
        assert (chains.std(axis=0) > 0.0).all()


def test_a_grade_that_is_not_on_the_scale_is_refused(sampled):
    node = sampled["judgments"].to_dataset(inherit=False)
    other = sampled.copy()
    other["judgments"] = xr.DataTree(node.assign(grade=node.grade.where(node.grade != 1.0, 5.0)))
    with pytest.raises(ValueError, match="has the grade 5, which is not on the collection's scale"):
        be.models.grade_model(other)


@pytest.mark.parametrize("effects", [(-0.3, -0.8), (-2.0, -2.5), (-6.0, -7.0)])
def test_the_curvature_of_the_gaps_is_that_of_their_density(effects):
    """Where the prior is concave; nowhere is it 0 or below."""
    gaps = Gaps(slice(0, 2), np.array([30, 50]), 0.0, 0.75)
    found = gaps.curvature(np.array(effects))
    assert np.linalg.eigvalsh(found).min() > 0
    if max(gaps.of(np.array(effects)[:, None]).ravel()) < 1.5:
        steps = 1e-5 * np.eye(2)
        numeric = [
            (gaps.density((np.array(effects) - step)[:, None])[1]
             - gaps.density((np.array(effects) + step)[:, None])[1])[:, 0] / 2e-5
            for step in steps
        ]  # fmt: skip
        np.testing.assert_allclose(found, numeric, rtol=1e-4, atol=1e-6)


def test_gaps_are_drawn_from_their_posterior():
    """Exact means and standard deviations by importance sampling, effects without spreads."""
    model = be.models.grade_model(graded(2, 0.05, 30, (0.3, 0.5)), **PLAIN)
    fitted = be.fit(model, approximation="laplace", draws=2000, random_seed=1)["posterior"]
    names = ("population_effect", "curvature", "tail_effect", "grade_gap")
    draws = np.column_stack([fitted[name].to_numpy().reshape(8000, -1) for name in names])
    draws[:, 4:] = np.log(draws[:, 4:])
    values = ("population_value", "curve_value", "tail_value")
    features = np.column_stack([model[name].get_value() for name in values])
    grade = model["judged_grade"].get_value()
    mean, spread = model["fixed_prior"].get_value()
    random = np.random.default_rng(1)
    root = np.linalg.cholesky(np.cov(draws.T) * 1.5)
    noise = random.standard_t(8, size=(50_000, 6))
    tried = draws.mean(axis=0) + noise @ root.T
    cut = np.cumsum(np.exp(tried[:, 4:]), axis=1)
    reached = [expit(tried[:, :4] @ features.T)]
    reached += [expit(tried[:, :4] @ features.T - cut[:, [k]]) for k in (0, 1)]
    bounds = [np.ones_like(reached[0]), *reached, np.zeros_like(reached[0])]
    target = -0.5 * (((tried[:, :4] - mean) / spread) ** 2).sum(axis=1)
    target += -0.5 * ((tried[:, 4:] / 0.75) ** 2).sum(axis=1)
    for state in range(4):
        own = grade == state
        target += np.log(bounds[state][:, own] - bounds[state + 1][:, own]).sum(axis=1)
    target += 4.5 * np.log1p(noise**2 / 8).sum(axis=1)
    weight = np.exp(target - target.max())
    weight /= weight.sum()
    exact = weight @ tried
    sd = np.sqrt(weight @ (tried - exact) ** 2)
    np.testing.assert_allclose((draws.mean(axis=0) - exact) / sd, 0.0, atol=0.1)
    np.testing.assert_allclose(draws.std(axis=0) / sd, 1.0, atol=0.1)


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
