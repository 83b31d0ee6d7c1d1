"""Draws of unjudged ranks, against enumeration of every filling and of every M."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from bayeseval.distributions.wallenius_sequence_draws import filled_runs, filled_topic
from bayeseval.distributions.wallenius_sequence_kernel import (
    joint_terms,
    number_range,
    topic_log_likelihood,
)
from bayeseval.models.urn.moments import contribution_moments
from tests.distributions.wallenius_enumeration import (
    chi_square_tail,
    run_probability,
    sequence_probability,
)

# Colours, depths and N of small topics.
SMALL = {
    "gaps in the middle": ([[-1, 1, -1, 0, -1], [1, -1, -1, 1, -2]], [5, 5], 7),
    "judged after the depth": ([[0, -1, 1, 1, -1], [-1, 1, 0, -1, 0]], [3, 1], 6),
    "judged from an empty urn": ([[-1, 1, 1, 1, -1], [0, -1, -1, 1, 1]], [1, 2], 5),
    "nothing judged": ([[-1, -1, -1], [-1, -1, -2]], [3, 3], 6),
    "all judged": ([[1, 0, 1], [0, 0, 1]], [3, 3], 6),
    "longer than the urn": ([[-1, 0, -1, -1, -1], [1, -1, -1, -1, -1]], [5, 2], 4),
}
LOG_ODDS = np.array([-1.2, 0.6])


def fillings(colour, depth, log_odds, n_documents, n_relevant):
    """Probability of every filling of a run, straight from its definition."""
    judged = [rank for rank in range(min(depth, len(colour))) if colour[rank] >= 0]
    informed = judged[-1] + 1 if judged else 0
    options = [(0, 1) if seen < 0 else (seen,) for seen in colour[:informed]]
    states = {
        prefix: sequence_probability(prefix, log_odds, n_documents, n_relevant)
        for prefix in itertools.product(*options)
    }
    total = sum(states.values())
    states = {prefix: chance / total for prefix, chance in states.items() if chance > 0}
    for seen in colour[informed:]:
        following = {}
        for prefix, chance in states.items():
            left, other = n_relevant, n_documents - n_relevant
            for found in prefix:
                left, other = max(left - (found == 1), 0), max(other - (found == 0), 0)
            share = left / (left + np.exp(log_odds) * other) if left else 0.0
            options = {1: share, 0: 1 - share} if seen == -1 else {seen: 1.0}
            following |= {(*prefix, x): chance * p for x, p in options.items() if p > 0}
        states = following
    return states


def shown_colours(colour, depth):
    """Colours that inform, -1 elsewhere."""
    below = np.arange(len(colour[0])) < np.array(depth)[:, None]
    return np.where(below, colour, -1).astype(np.int8)


def joint_fillings(colour, depth, n_documents, number_chance):
    """Probability of every M and filling of a topic, M having the given probabilities."""
    cells = {}
    for number, chance in enumerate(number_chance):
        if chance == 0:
            continue
        runs = [
            fillings(*x, n_documents, number) for x in zip(colour, depth, LOG_ODDS, strict=True)
        ]
        for rows in itertools.product(*runs):
            probability = np.prod([run[row] for run, row in zip(runs, rows, strict=True)])
            cells[number, *rows] = chance * probability
    return cells


def number_chance(colour, depth, n_documents, prevalence, likelihood_weight):
    """Distribution of M given the colours above the depths."""
    chance = stats.binom(n_documents, expit(prevalence)).pmf(np.arange(n_documents + 1))
    for row, deepest, log_odds in zip(colour, depth, LOG_ODDS, strict=True):
        judged = [rank for rank in range(min(deepest, len(row))) if row[rank] >= 0]
        shown = row[: judged[-1] + 1] if judged else []
        seen = [run_probability(shown, log_odds, n_documents, m) for m in range(n_documents + 1)]
        chance *= np.array(seen) ** likelihood_weight
    return chance / chance.sum()


def tail_of(filled, number, cells):
    """Chi-square tail of drawn topics (draw, run, rank) and M (draw,) against the cells."""
    drawn = Counter(
        (int(m), *(tuple(row) for row in runs))
        for m, runs in zip(number, filled.tolist(), strict=True)
    )
    assert not drawn.keys() - cells.keys()
    expected = np.array(list(cells.values()))
    assert expected.sum() == pytest.approx(1.0)
    return chi_square_tail(np.array([drawn[cell] for cell in cells]), len(filled) * expected)


@pytest.mark.parametrize("likelihood_weight", [1.0, 0.3])
@pytest.mark.parametrize("case", SMALL)
def test_draws_follow_the_posterior_of_m_and_every_filling(case, likelihood_weight):
    # Level 1e-5 in 12 tests: one false alarm in some 8000 seeds.
    colour, depth, n_documents = SMALL[case]
    n_draws = 20000
    filled, number = filled_topic(
        1, np.array(colour, np.int8), np.array(depth), np.tile(LOG_ODDS, (n_draws, 1)),
        np.full(n_draws, -0.4), n_documents, likelihood_weight,
    )  # fmt: skip
    chance = number_chance(colour, depth, n_documents, -0.4, likelihood_weight)
    cells = joint_fillings(colour, depth, n_documents, chance)
    assert (tail_of(filled, number, cells) if len(cells) > 1 else 1.0) > 1e-5


@pytest.mark.parametrize("case", SMALL)
def test_draws_with_m_known_follow_every_filling(case):
    # Level 1e-5 in 6 tests.
    colour, depth, n_documents = SMALL[case]
    shown = shown_colours(colour, depth)
    lowest, highest = number_range(shown, n_documents)
    known = (lowest + highest) // 2
    filled = filled_runs(
        np.random.default_rng(2), np.array(colour, np.int8), shown,
        np.tile(LOG_ODDS, (20000, 1)), n_documents, np.full(20000, known),
    )  # fmt: skip
    cells = joint_fillings(colour, depth, n_documents, np.arange(n_documents + 1) == known)
    number = np.full(20000, known)
    assert len(cells) == 1 or tail_of(filled, number, cells) > 1e-5


def test_every_draw_has_its_own_parameters():
    # Level 1e-5 twice. The odd draws have log w and q at which M and the fillings are others.
    colour, depth, n_documents = SMALL["gaps in the middle"]
    odds = np.where(np.arange(20000)[:, None] % 2, 5.0, LOG_ODDS)
    prevalence = np.where(np.arange(20000) % 2, 3.0, -0.4)
    filled, number = filled_topic(
        3, np.array(colour, np.int8), np.array(depth), odds, prevalence, n_documents, 1.0
    )
    cells = joint_fillings(
        colour, depth, n_documents, number_chance(colour, depth, n_documents, -0.4, 1.0)
    )
    assert tail_of(filled[::2], number[::2], cells) > 1e-5
    assert abs(number[1::2].mean() - number[::2].mean()) > 0.5


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_m_of_large_urns_has_the_mean_that_the_gradient_says(gaps):
    rng = np.random.default_rng(4)
    colour = (rng.random((20, 10)) < 0.4).astype(np.int8)
    colour[rng.random(colour.shape) < gaps] = -1
    log_odds = rng.normal(-2, 0.3, 20)
    change = topic_log_likelihood(colour, log_odds, -3.0, 1000, 0.5, np.empty(20))[1]
    expected = change + 1000 * expit(-3.0)
    number = filled_topic(
        5, colour, np.full(20, 10), np.tile(log_odds, (2000, 1)), np.full(2000, -3.0), 1000, 0.5
    )[1]
    # Five standard errors: one false alarm in some two million seeds.
    assert number.mean() == pytest.approx(expected, abs=5 * number.std() / np.sqrt(2000))


@pytest.mark.parametrize("shift", [-40.0, -3.0, 0.0, 40.0, 100.0])
def test_terms_without_derivatives_are_those_with_them(shift):
    rng = np.random.default_rng(6)
    colour = rng.integers(0, 2, (30, 15)).astype(np.int8)
    colour[::3][rng.random((10, 15)) < 0.3] = -1
    log_odds = shift + rng.normal(0, 1, 30)
    for n_documents in (30, 300):
        number, value, _ = joint_terms(colour, log_odds, -1.0, n_documents, 0.7, True)
        plain = joint_terms(colour, log_odds, -1.0, n_documents, 0.7, False)
        np.testing.assert_array_equal(plain[0], number)
        np.testing.assert_allclose(plain[1], value, rtol=1e-11)
        assert plain[2].shape[1] == 0


def test_ranks_of_a_long_unjudged_run_have_the_means_of_the_urn():
    # Four hundred ranks, each within five standard errors: one false alarm in some 4000 seeds.
    mean = [contribution_moments(600, 90, np.exp(-1.5), of_rank)[0] for of_rank in np.eye(400)]
    filled = filled_runs(
        np.random.default_rng(7), np.full((1, 400), -1, np.int8), np.empty((1, 0), np.int8),
        np.full((4000, 1), -1.5), 600, np.full(4000, 90),
    )  # fmt: skip
    error = np.sqrt(np.multiply(mean, np.subtract(1, mean)) / 4000)
    assert (abs(filled[:, 0].mean(axis=0) - mean) < 5 * error).all()


@pytest.mark.parametrize("relevant", [0, 1])
def test_a_filling_is_right_where_the_likely_states_are_ruled_out(relevant):
    # All 60 documents of one kind come after 300 unjudged ranks of a run that likes this kind.
    log_odds, n_relevant = (-6.0, 60) if relevant else (6.0, 940)
    colour = np.r_[np.full(300, -1), np.full(60, relevant), np.full(20, -1)].astype(np.int8)
    filled = filled_runs(
        np.random.default_rng(8), colour[None], colour[None], np.full((5, 1), log_odds), 1000,
        np.full(5, n_relevant),
    )  # fmt: skip
    assert (filled[:, 0, :300] == 1 - relevant).all()
    assert (filled[:, 0, 300:360] == relevant).all()
    assert (filled[:, 0, 360:] == 1 - relevant).all()


def test_judgments_after_the_depth_do_not_inform():
    colour = np.array([[1, 0, -1, 1, 1, 1], [0, 0, -1, -1, 1, 1]], np.int8)
    hidden = np.where(np.arange(6) < 2, colour, -1).astype(np.int8)
    rest = np.array([2, 2]), np.tile(LOG_ODDS, (500, 1)), np.full(500, -1.0), 40, 1.0
    number = filled_topic(9, colour, *rest)[1]
    np.testing.assert_array_equal(number, filled_topic(9, hidden, *rest)[1])


def test_the_same_seed_gives_the_same_draws():
    colour, depth, n_documents = SMALL["gaps in the middle"]
    rest = np.tile(LOG_ODDS, (50, 1)), np.zeros(50), n_documents, 1.0
    one, same, other = (
        filled_topic(seed, np.array(colour, np.int8), np.array(depth), *rest) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one[0], same[0])
    np.testing.assert_array_equal(one[1], same[1])
    assert (one[0] != other[0]).any()


def test_where_no_m_is_possible_nothing_is_filled():
    colour = np.array([[1, 1, -1], [0, 0, -1]], np.int8)
    filled, number = filled_topic(
        1, colour, np.array([3, 3]), np.zeros((4, 2)), np.zeros(4), 3, 1.0
    )
    assert (number == -1).all()
    np.testing.assert_array_equal(filled, np.tile(colour, (4, 1, 1)))
    assert number_range(colour, 3) == (2, 1)
    assert number_range(np.array([[-1, -1, -1, 0]], np.int8), 3) == (0, -1)
