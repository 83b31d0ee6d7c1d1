"""What the unjudged part of an urn's list adds to RBP: enumeration, closed forms, simulation."""

import itertools

import numpy as np
import pytest
import xarray as xr

from bayeseval.models.urn.moments import contribution_moments, simulated_urn_means, urn_moments
from tests.distributions.wallenius_enumeration import count_probability


def every_list(n_documents, n_relevant, odds, length):
    """All lists of relevances that the urn can give, with their probabilities (equation 12)."""
    for relevance in itertools.product([0, 1], repeat=length):
        chance, left, other = 1.0, n_relevant, n_documents - n_relevant
        for r in relevance:
            total = left + odds * other
            chance *= (left if r else odds * other) / total if total > 0 else 0.0
            left, other = left - r, other - (1 - r)
            if left < 0 or other < 0:
                chance = 0.0
        if chance > 0:
            yield np.array(relevance), chance


@pytest.mark.parametrize("odds", [0.05, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("n_relevant", [0, 1, 3, 8, 9])
def test_moments_equal_enumeration_of_all_lists(odds, n_relevant):
    weight = 0.3 * 0.7 ** np.arange(8)
    weight[:3] = 0.0
    mean = square = total = 0.0
    for relevance, chance in every_list(9, n_relevant, odds, 8):
        gain = (weight * relevance).sum()
        mean, square, total = mean + chance * gain, square + chance * gain**2, total + chance
    assert total == pytest.approx(1.0)
    found = urn_moments(9, odds, n_relevant=n_relevant, judged_depth=3, persistence=0.7, length=8)
    assert found.unjudged_mean.item() == pytest.approx(mean, abs=1e-15)
    variance = max(square - mean**2, 0.0)
    assert found.standard_deviation.item() ** 2 == pytest.approx(variance, abs=1e-15)


@pytest.mark.parametrize("log_odds", [-3.0, -1.0, 0.5])
def test_the_count_of_many_ranks_has_the_moments_of_wallenius_distribution(log_odds):
    count, pmf = np.arange(71), count_probability(80, 70, 1000, log_odds)
    mean, square = contribution_moments(1000, 70, np.exp(log_odds), np.ones(80))
    assert mean == pytest.approx(pmf @ count, abs=1e-9)
    assert square == pytest.approx(pmf @ count**2, abs=1e-7)


@pytest.mark.parametrize("q", [0.05, 0.2, 0.5])
def test_random_order_gives_the_moments_of_independent_draws(q):
    power = 0.8 ** np.arange(10, 100)
    found = urn_moments(100, 1.0, relevant_probability=q, judged_depth=10, n_topics=50)
    assert found.unjudged_mean.item() == pytest.approx(0.2 * q * power.sum(), rel=1e-12)
    expected = 0.2 * np.sqrt(q * (1 - q) * (power**2).sum() / 50)
    assert found.standard_deviation.item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("odds", [0.05, 0.2, 0.7, 5.0, 20.0])
@pytest.mark.parametrize("q", [0.05, 0.2, 0.5])
def test_simulation_of_section_3_2_agrees(odds, q):
    exact = urn_moments(100, odds, relevant_probability=q, judged_depth=10, n_topics=50)
    drawn = simulated_urn_means(100, odds, q, judged_depth=10, n_replicates=2000, random_seed=7)
    error = exact.standard_deviation.item() / np.sqrt(2000)
    # 15 cases: 4.5 standard errors are passed by chance once in ten thousand
    assert abs(drawn.mean().item() - exact.unjudged_mean.item()) < 4.5 * error
    assert drawn.std().item() == pytest.approx(exact.standard_deviation.item(), rel=0.09)


def test_the_mean_grows_as_w_falls_under_equation_12_and_falls_with_w_on_the_relevant():
    odds = xr.DataArray([1.0, 0.7, 0.5, 0.2, 0.1, 0.05], dims="odds")
    asked = {"relevant_probability": 0.2, "judged_depth": 10, "n_topics": 50}
    printed = urn_moments(100, odds, **asked).unjudged_mean.to_numpy()
    other = urn_moments(100, 1.0 / odds, **asked)
    assert (np.diff(printed[:4]) > 0).all() and printed[3] > 1.8 * printed[0]
    assert (np.diff(other.unjudged_mean) < 0).all()
    assert (np.diff(other.standard_deviation) < 0).all()


def test_moments_are_stable_for_a_thousand_documents():
    q = xr.DataArray([0.01, 0.3], dims="q")
    found = urn_moments(
        1000, 1.0, relevant_probability=q, judged_depth=10, persistence=0.95, length=1000
    )
    power = 0.95 ** np.arange(10, 1000)
    np.testing.assert_allclose(found.unjudged_mean, q * 0.05 * power.sum(), rtol=1e-11)
    expected = 0.05 * np.sqrt(q * (1 - q) * (power**2).sum())
    np.testing.assert_allclose(found.standard_deviation, expected, rtol=1e-9)
    extreme = urn_moments(1000, 1e-6, n_relevant=30, judged_depth=10, length=100)
    sure = 0.2 * (0.8 ** np.arange(10, 30)).sum()  # all 30 relevant documents come first
    assert extreme.unjudged_mean.item() == pytest.approx(sure, rel=1e-3)


def test_shapes_follow_the_arrays_and_certain_proportions_are_allowed():
    odds = xr.DataArray([0.5, 1.0], dims="odds")
    number = xr.DataArray([0, 5, 10], dims="number")
    found = urn_moments(10, odds, n_relevant=number, judged_depth=2)
    assert dict(found.sizes) == {"odds": 2, "number": 3}
    for q, m in ((0.0, 0), (1.0, 10)):
        certain = urn_moments(10, 0.5, relevant_probability=q, judged_depth=2)
        known = found.unjudged_mean.isel(odds=0, number=m // 5).item()
        assert certain.unjudged_mean.item() == known
        assert certain.standard_deviation.item() == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"odds": 0.0}, "odds must be above 0"),
        ({"relevant_probability": 1.5}, r"relevant_probability must lie in \[0, 1\]"),
        ({"n_relevant": 3}, "give relevant_probability or n_relevant, one of the two"),
        ({"n_relevant": 11, "relevant_probability": None}, "n_relevant must lie between 0"),
        ({"judged_depth": -1}, "judged_depth is -1; allowed: a whole number, 0 or more"),
        ({"length": 11}, "length must be at most n_documents, 10, not 11"),
        ({"persistence": 1.0}, "persistence must lie between 0 and 1"),
        ({"n_documents": 0}, "n_documents is 0; allowed: a whole number, 1 or more"),
        ({"n_topics": 0}, "n_topics is 0; allowed: a whole number, 1 or more"),
        ({"n_topics": 2.5}, "n_topics is 2.5; allowed: a whole number, 1 or more"),
        (
            {"n_relevant": 2.7, "relevant_probability": None},
            "n_relevant must be a whole number of documents, not 2.7",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(change, message):
    asked = {"n_documents": 10, "odds": 0.5, "relevant_probability": 0.2, "judged_depth": 2}
    with pytest.raises(ValueError, match=message):
        urn_moments(**(asked | change))


def test_simulated_means_over_no_topic_are_refused():
    with pytest.raises(ValueError, match="n_topics is 0; allowed: a whole number, 1 or more"):
        simulated_urn_means(10, 0.5, 0.2, judged_depth=2, n_topics=0, random_seed=1)
