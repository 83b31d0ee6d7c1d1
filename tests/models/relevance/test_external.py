import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit
from scipy.stats import beta

import bayeseval as be
from bayeseval.models.relevance.external import (
    SLOPE_SD,
    _drawn_steps,
    _mode_of_steps,
    external_values,
    label_codes,
    label_columns,
    label_edges,
    label_rate,
)
from tests.models.relevance.test_relevance import response_logp
from tests.small import small_collection


def test_few_values_are_labels_of_their_own():
    values = np.array([2.0, np.nan, 0.0, 2.0, -1.0])
    edges = label_edges(values, "llm")
    np.testing.assert_array_equal(edges, [-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(label_codes(values, edges), [2, -1, 1, 2, 0])


def test_many_values_are_cut_into_groups_of_equal_size():
    values = np.random.default_rng(1).normal(size=1000)
    edges = label_edges(values, "llm")
    codes = label_codes(values, edges)
    np.testing.assert_allclose(np.bincount(codes), np.full(10, 100), atol=1)
    assert (np.diff(codes[np.argsort(values)]) >= 0).all()


def test_many_values_that_are_nearly_all_the_least_are_two_groups():
    values = np.append(np.zeros(300), np.arange(1.0, 30.0))
    edges = label_edges(values, "llm")
    np.testing.assert_array_equal(edges, [0.0, 1.0])
    assert (label_codes(values, edges) == (values > 0)).all()


def test_rates_of_all_labels_add_up_to_1():
    random = np.random.default_rng(1)
    share, slope = random.beta(1.0, 3.0, (5, 4)), random.normal(size=5)
    logit = random.normal(0.0, 3.0, 6)
    rates = [label_rate(np.full(6, code), share, slope, logit) for code in range(5)]
    np.testing.assert_allclose(sum(rates), 1.0, rtol=1e-5)
    assert (label_rate(np.full(6, -1), share, slope, logit) == 1.0).all()


def test_with_many_labels_the_draws_are_those_of_beta_distributions():
    """Where the linear predictor is 0 the slope is the prior's, and the shares are exact."""
    random = np.random.default_rng(2)
    code = random.integers(0, 20, 60)
    share, slope = _drawn_steps(code, np.zeros(60), 19, 20_000, random)
    assert slope.std() == pytest.approx(SLOPE_SD, rel=0.05)
    for step in range(19):
        one, more = 1.0 + (code == step).sum(), 19.0 - step + (code > step).sum()
        exact = beta(one, more)
        assert abs(share[:, step].mean() - exact.mean()) < 0.05 * exact.std()
        assert share[:, step].std() == pytest.approx(exact.std(), rel=0.05)


@pytest.mark.parametrize("spread", [1.0, 10.0])
@pytest.mark.parametrize("number", [0, 1, 5, 100])
def test_the_mode_of_error_rates_is_found_where_labels_are_few_or_set_apart(number, spread):
    random = np.random.default_rng(number)
    for n_steps in (1, 3, 19):
        logit = random.normal(-4.0, spread, number)
        code = np.where(logit > -4.0, n_steps, 0)
        mode, sd = _mode_of_steps(code, logit, n_steps)
        rise = 1 - (1 + np.arange(n_steps, 0, -1)) * expit(mode[:-1])
        slope_rise = -mode[-1] / SLOPE_SD**2
        for step in range(n_steps):
            rows = code >= step
            off = (code[rows] == step) - expit(mode[step] + mode[-1] * logit[rows])
            rise[step] += off.sum()
            slope_rise += (off * logit[rows]).sum()
        np.testing.assert_allclose(np.append(rise, slope_rise) * sd, 0.0, atol=1e-4)


def test_values_below_the_least_label_count_as_the_least():
    np.testing.assert_array_equal(label_codes(np.array([-3.0, 0.0]), np.array([0.0, 1.0])), [0, 0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 1.0], "'llm' has only one value in the frame; two or more"),
        ([np.nan, np.nan], "'llm' has no value in the frame; two"),
    ],
)
def test_a_column_that_tells_no_document_apart_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        label_edges(np.array(values), "llm")


def test_infinite_values_and_unknown_columns_are_refused():
    collection = small_collection()
    values = np.full(collection.sizes["pair"], np.inf)
    collection["predictors"] = xr.DataTree(xr.Dataset({"llm": ("pair", values)}))
    with pytest.raises(ValueError, match="'llm' holds an infinite value; allowed: finite"):
        external_values(collection, "llm")
    with pytest.raises(
        ValueError, match="no external predictor 'gpt'; columns of /predictors: llm"
    ):
        external_values(collection, "gpt")
    del collection["predictors"]
    with pytest.raises(ValueError, match="columns of /predictors: none"):
        external_values(collection, "llm")


def test_two_columns_have_rates_and_labels_of_their_own():
    model = be.models.grade_model(small_collection(), external=["labels", "llm"])
    assert list(model.coords["state"]) == ["0", "1", "2"]
    assert model.named_vars_to_dims["labels_rate"] == ("state", "labels_value")
    assert model.named_vars_to_dims["llm_rate"] == ("state", "llm_value")
    assert len(model.coords["labels_value"]) == 3
    codes = model["judged_llm_label"].get_value()
    assert codes.size == 17  # of 17 different probabilities: few enough to be labels
    assert len(set(codes.tolist())) == len(model.coords["llm_value"])


def test_the_columns_are_those_that_a_fit_names_whatever_its_other_data_are_called(tmp_path):
    collection = small_collection()
    model = be.models.relevance_model(collection, external=["labels", "llm"])
    plain = be.fit(model, approximation="laplace", draws=5, random_seed=1)
    with model:
        pm.Data("bin_edges", 0.5)
    fitted = be.fit(model, approximation="laplace", draws=5, random_seed=1)
    be.save_fit(fitted, tmp_path / "fit.nc")
    opened = be.open_fit(tmp_path / "fit.nc")
    for kept in (model, *(tree["constant_data"] for tree in (plain, fitted, opened))):
        assert label_columns(kept.coords) == ["labels", "llm"]
    expected, *found = (
        be.posterior_scores(tree, collection, "P@5", random_seed=1).estimate
        for tree in (plain, fitted, opened)
    )
    for scores in found:
        np.testing.assert_array_equal(scores, expected)
    assert label_columns(be.models.relevance_model(collection).coords) == []


def test_labels_say_nothing_of_the_coefficients_of_judged_pairs():
    collection = small_collection()
    alone = be.models.relevance_model(collection)
    labelled = be.models.relevance_model(collection, external="labels")
    known = {"relevance": alone["judged_relevance"].get_value()}
    both = known | {"labels_label": labelled["judged_labels_label"].get_value()}
    extra = []
    for curvature in (0.0, 1.5):
        point = {"curvature": np.array(curvature)}
        logps = [
            response_sum(model, values, point)
            for model, values in ((labelled, both), (alone, known))
        ]
        extra.append(logps[0] - logps[1])
    assert extra[0] == pytest.approx(extra[1], rel=1e-12)
    grade = np.asarray(known["relevance"])
    half = np.log([[0.5, 1.0]] * 2)  # log odds of 1/3, and of half of what is left
    found = response_logp(labelled, both, "labels_label", labels_share_logodds__=half)
    np.testing.assert_allclose(found, np.full(grade.size, -np.log(3)), rtol=1e-12)


def test_a_judge_who_finds_the_best_documents_does_not_hide_the_others():
    """Of what is ranked high, which the design judges, more is found: R is not too low for it."""
    off, apart = [], []
    for seed in range(2):
        whole = be.simulate.urn_collection(
            [0.2, 0.25], n_topics=30, n_documents=200, prevalence=0.25, depth=80, random_seed=seed
        )
        rank = np.full(whole.sizes["pair"], 999)
        for order in whole["rankings/ranking"].to_numpy().reshape(-1, 80):
            rank[order] = np.minimum(rank[order], np.arange(80))
        random = np.random.default_rng(seed)
        relevant = whole["judgments/grade"].to_numpy() >= 1
        seen = random.random(rank.size) < 1 / (1 + np.exp(np.log2(1.0 + rank) - 5.5))
        labels = np.where(relevant, seen, random.random(rank.size) < 0.05).astype(float)
        whole["predictors"] = xr.DataTree(xr.Dataset({"llm": ("pair", labels)}))
        design = be.designs.pps_strata(whole, budget=40, n_strata=8)
        sampled = be.reveal(whole, design, be.draw(design, random_seed=seed))
        model = be.models.relevance_model(sampled, external="llm")
        fitted = be.fit(model, approximation="laplace", draws=250, random_seed=1)
        truth = be.evaluate(whole, "NumRelRet", estimator="assumed").estimate.mean("topic")
        for found, slope in ((off, None), (apart, 0.0)):
            if slope is not None:  # rates of all judged pairs, whatever stood where
                fitted["posterior/llm_slope"][:] = slope
                count = np.ones((2, 2))
                judged = ~np.isnan(sampled["judgments/grade"].to_numpy())
                np.add.at(count, (relevant[judged].astype(int), labels[judged].astype(int)), 1)
                fitted["posterior/llm_share"][:] = count[:, :1] / count.sum(axis=1)[:, None]
            post = be.posterior_scores(fitted, sampled, "NumRelRet", random_seed=1).estimate
            found.append(float((post.mean(("chain", "draw")) / truth).mean()) - 1.0)
    assert abs(np.mean(off)) < 0.7 * abs(np.mean(apart)), (off, apart)


def test_error_rates_are_uniform_over_all_that_are_possible():
    model = be.models.relevance_model(small_collection(), external="labels")
    draws = pm.draw(model["labels_rate"], 4000, random_seed=1)
    assert draws.shape == (4000, 2, 3)
    np.testing.assert_allclose(draws.sum(axis=-1), 1.0)
    pairs = np.cov(draws[:, 0].T)  # Dirichlet(1, 1, 1): variance 1/18, covariance -1/36
    expected = np.full((3, 3), -1 / 36) + np.eye(3) * (1 / 18 + 1 / 36)
    np.testing.assert_allclose(draws.mean(axis=0), np.full((2, 3), 1 / 3), atol=0.015)
    np.testing.assert_allclose(pairs, expected, atol=0.004)


def response_sum(model, known, given) -> float:
    """Log posterior density, up to a constant, with some parameters given."""
    conditioned = pm.observe(model, known)
    logp = conditioned.compile_logp(mode="FAST_COMPILE")
    return float(logp(conditioned.initial_point() | given))


@pytest.mark.parametrize("make", [be.models.relevance_model, be.models.grade_model])
def test_labels_that_made_the_design_belong_into_the_model(make):
    labels = {"1": {"d8": 3, "d0": 0, "d5": 1}, "2": {"d7": 1}}
    collection = be.add_predictions(small_collection(), "judge", labels)
    design = be.designs.pps_strata(collection, budget=6, n_strata=2, labels="judge")
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    with pytest.warns(UserWarning, match="followed the labels 'judge', of which the model knows"):
        make(sampled, external="llm")
    make(sampled, external=["llm", "judge"])


def test_labels_may_be_named_as_what_a_model_has_not_and_else_are_refused():
    collection = small_collection()
    columns = collection["predictors"].to_dataset(inherit=False)
    names = ("grade", "agreement", "judged")
    named = columns.assign({name: columns["llm"] for name in names})
    collection["predictors"] = xr.DataTree(named)
    model = be.models.relevance_model(collection, external="grade")
    fitted = be.fit(model, approximation="laplace", draws=5, random_seed=1)
    assert be.posterior_scores(fitted, collection, "P@2", random_seed=1).estimate.notnull().all()
    for name in names[1:]:
        with pytest.raises(ValueError, match=f"labels cannot be named '{name}' .* another name"):
            be.models.relevance_model(collection, external=name)
    with pytest.raises(ValueError, match="'grade' .* a part 'grade_step' already"):
        be.models.grade_model(collection, external="grade")
    with pytest.raises(ValueError, match="names the labels 'llm' twice"):
        be.models.relevance_model(collection, external=["llm", "llm"])


def test_a_fit_is_scored_with_the_labels_that_it_learned_from():
    collection = small_collection()
    model = be.models.relevance_model(collection, external="labels")
    fitted = be.fit(model, approximation="laplace", draws=5, random_seed=1)
    columns = collection["predictors"].to_dataset(inherit=False)
    other = columns.assign(labels=columns["labels"].max() - columns["labels"])
    collection["predictors"] = xr.DataTree(other)
    with pytest.raises(ValueError, match="the labels 'labels' of judged documents are other ones"):
        be.posterior_scores(fitted, collection, "P@2", random_seed=1)
