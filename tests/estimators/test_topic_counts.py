"""What a ratio is divided by on one topic, and the error that this leaves."""

from types import SimpleNamespace

import numpy as np
import pytest
from bayeseval.estimators.denominators import by_counts
from bayeseval.estimators.r_precision import _over_counts

from bayeseval.estimators.counts import TopicCounts
from bayeseval.estimators.topic_scores import TopicScore


def counted(draw, own_share) -> TopicCounts:
    """Posterior draws (replicate, draw) of a denominator, without hyperparameters."""
    draw = np.asarray(draw, dtype=float)
    own = np.full(len(draw), own_share)
    return TopicCounts(
        draw,
        np.zeros((draw.shape[1], 1)),
        own,
        draw.std(axis=1) / draw.mean(),
        np.zeros(len(draw), dtype=bool),
    )


@pytest.mark.parametrize(
    ("number", "slope"),
    [
        ([0.0, 0.5, 1.0 - 1e-15, 1.0 + 1e-15], 1.0),  # a score of 1 or none at all
        ([1.0 - 1e-15, 1.0, 1.0 + 1e-15, 1.0], 0.0),
        ([1.0, 1.0, 2.0, 2.0], 1.0),  # precision of .5 at rank 2
    ],
)
def test_the_slope_of_r_precision_is_not_that_of_rounding(number, slope):
    value = np.array([[1.0], [0.0]])  # the first of two documents is relevant
    counts = counted(np.repeat(number, 4)[None], 0.5)
    mean, found = _over_counts(np.array([[0, 1]], dtype=np.int32), value, counts)
    assert found.item() == pytest.approx(slope, abs=1e-9)
    assert 0.7 < mean.item() <= 1.0


def by_hand(counts, *, numerator, above, below):
    """Score of one run and replicate by the posterior of the denominator."""
    plain = SimpleNamespace(score=lambda e, d: TopicScore(e, d, None, np.zeros(e.shape, bool)))
    estimate = np.array([[numerator]]) * counts.inverse
    deviation = np.array([[above]]) * counts.inverse[:, None]
    return by_counts(
        plain,  # type: ignore[arg-type]
        counts,
        estimate=estimate,
        deviation=deviation,
        slope=np.array([[numerator]]),
        below=np.array([below]),
    )


def test_a_denominator_that_the_topic_tells_by_itself_gives_the_linear_error_of_a_ratio():
    above, below = np.array([0.3, -0.2, 0.0]), np.array([0.4, 0.1, -0.5])
    score = by_hand(counted([[8.0] * 4], 1.0), numerator=2.0, above=above, below=below)
    expected = (above - 0.25 * below) / 8.0
    np.testing.assert_allclose(score.deviation[0, 0], [*expected, 0.0], atol=1e-15)
    assert score.estimate.item() == 0.25


def test_the_error_of_the_denominator_is_never_less_than_that_of_its_posterior():
    above, below = np.zeros(2), np.array([0.6, -0.8])
    counts = counted([[6.0, 10.0, 7.0, 9.0]], 0.5)
    inverse = 1.0 / counts.draw[0]
    score = by_hand(counts, numerator=2.0, above=above, below=below)
    least = 4.0 * inverse.var()
    assert score.variance.item() == pytest.approx(least, rel=1e-12)
    strong = by_hand(counts, numerator=2.0, above=above, below=20.0 * below)
    own = (2.0 * 0.5 * inverse.mean() / 8.0) ** 2 * 400.0
    assert strong.variance.item() == pytest.approx(own + 0.5 * least, rel=1e-12)


def test_the_posterior_follows_a_better_estimate_by_the_weight_of_the_topic_s_own_sample():
    counts = counted([[6.0, 10.0], [6.0, 10.0], [6.0, 10.0]], 0.5)
    moved = counts.following(
        np.array([11.0, -20.0, 1.0]), np.array([9.0, 9.0, 9.0]), np.array([2.0, 2.0, 7.0])
    )
    np.testing.assert_allclose(moved.draw.mean(axis=1), [9.0, 4.0, 7.0])
    np.testing.assert_allclose(moved.draw[0], [6.75, 11.25])


def test_beside_labels_the_posterior_follows_the_estimate_as_far_as_its_error_allows():
    draw = np.r_[np.linspace(6.0, 18.0, 8), np.linspace(18.0, 6.0, 8)]
    counts = counted([draw] * 4, 0.75)
    estimate, expanded, seen = np.full(4, 15.0), np.full(4, 13.0), np.full(4, 2.0)
    quality = np.array(
        [1.0, 0.2, 0.01, 0.0]
    )  # variance of the estimate by that of the sample's sum
    found = counts.following(estimate, expanded, seen, quality)
    # the normal posterior by hand: what other topics say, and the estimate, by their precisions
    of_sum = draw.var() / 0.75
    others, other_variance = (draw.mean() - 0.75 * 13.0) / 0.25, 3.0 * of_sum
    weight = other_variance / (other_variance + quality * of_sum)
    np.testing.assert_allclose(found.draw.mean(axis=1), weight * 15.0 + (1.0 - weight) * others)
    np.testing.assert_allclose(found.own_share, weight)
    factor = (draw.mean() + 0.75 * 2.0) / draw.mean()  # draws are moved in proportion
    variance = quality * weight * of_sum * factor**2
    np.testing.assert_allclose(found.draw.var(axis=1), variance, rtol=0.1, atol=1e-12)
    error = found.draw.std(axis=1) / found.draw.mean(axis=1)
    np.testing.assert_allclose(found.relative_error, error)
    plain = counts.following(estimate, expanded, seen)
    np.testing.assert_allclose(found.draw[0], plain.draw[0])
    np.testing.assert_allclose(found.draw[3], 15.0)


def test_an_estimate_that_may_be_half_as_large_or_none_does_not_lead():
    counts = counted([[0.0, 0.0, 0.0, 8.0], [0.0, 0.0, 0.0, 8.0]], 0.9)
    none, one = np.array([-3.0, 0.9]), np.array([2.0, 2.0])
    found = counts.following(none, one, np.zeros(2), np.array([0.5, 1e-3]))
    plain = counts.following(none, one, np.zeros(2))
    np.testing.assert_array_equal(found.draw[0], plain.draw[0])
    assert found.own_share[0] == 0.9
    assert (found.draw[1] > 0.9).all()  # nothing divides by less than a document
