import numpy as np
import pytest

import bayeseval as be
from bayeseval.models.relevance.laplace import _mode, _problem


@pytest.fixture(scope="module")
def sampled():
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.4, 0.6], n_topics=8, prevalence=0.2, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=60, n_strata=10)
    return be.reveal(collection, design, be.draw(design, random_seed=1))


@pytest.fixture(scope="module")
def model(sampled):
    return be.models.relevance_model(sampled)


@pytest.fixture(scope="module")
def fitted(model):
    return be.fit(model, approximation="laplace", draws=500, random_seed=1)


def test_the_mode_has_no_gradient_and_the_draws_its_curvature(model):
    problem, _ = _problem(model, model["judged_relevance"].get_value().astype(float))
    mode, factor, variance = _mode(problem)
    learned = problem.group >= 0
    precision = np.where(learned, 1 / variance[problem.group], problem.precision)

    def log_posterior(coefficients):
        logit = problem.features @ coefficients
        likelihood = problem.relevance * logit - np.logaddexp(0, logit)
        return likelihood.sum() - 0.5 * (precision * (coefficients - problem.mean) ** 2).sum()

    step = 1e-4
    for direction in np.eye(mode.size)[:: mode.size // 10] * step:
        up, here, down = (log_posterior(mode + k * direction) for k in (1, 0, -1))
        assert abs(up - down) / (2 * step) < 1e-2
        curvature = -(up - 2 * here + down) / step**2
        row = (direction / step) @ factor
        assert curvature == pytest.approx(row @ row, rel=1e-3)


def test_draws_carry_the_names_and_dims_of_the_model(model, fitted):
    posterior = fitted["posterior"].to_dataset()
    for variable in model.unobserved_RVs:
        if variable.name == "relevance" or variable.name.endswith("_deviation"):
            continue
        dims = tuple(model.named_vars_to_dims.get(variable.name) or ())
        assert posterior[variable.name].dims == ("chain", "draw", *dims)
        assert np.isfinite(posterior[variable.name]).all()
    assert fitted.attrs["approximation"] == "laplace"


def test_probabilities_match_the_share_of_relevant_documents(sampled, fitted):
    post = be.posterior_scores(fitted, sampled, "NumRel", random_seed=1).estimate
    truth = 0.2 * 1000
    assert abs(float(post.mean()) - truth) < 4 * float(post.std())
    assert float(post.std()) < 0.2 * truth


def test_what_the_approximation_cannot_do_is_refused(sampled, model, fitted):
    with pytest.raises(ValueError, match="'laplace' or None"):
        be.fit(model, approximation="advi", random_seed=1)
    grades = be.models.grade_model(sampled)
    with pytest.raises(ValueError, match="another model, which observes grade"):
        be.fit(grades, approximation="laplace", random_seed=1)
    collection = be.simulate.urn_collection([0.2], n_topics=2, prevalence=0.2, random_seed=1)
    urn = be.models.urn_model(collection, depth=5, frame="judged", documents="all")
    with pytest.raises(ValueError, match="another model, which observes relevance"):
        be.fit(urn, approximation="laplace", random_seed=1)
    with pytest.raises(ValueError, match="an approximation has no verdict"):
        be.verdict(fitted)
