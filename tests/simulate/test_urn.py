from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from bayeseval.collection import check_collection, open_collection, save_collection, topic_starts
from bayeseval.simulate import urn_collection
from bayeseval.simulate.urn import top_documents, urn_noise

LEVEL = 1e-4  # chance that a test of a distribution fails though the code is right


def colours(collection):
    """Grade at each rank (run, topic, rank)."""
    return collection["judgments/grade"].values[collection["rankings/ranking"].values]


def sequence_probabilities(n_documents, n_relevant, odds):
    """Probability of each colour sequence of a whole urn: the product of equation 12 over draws."""
    probabilities = {}
    for places in combinations(range(n_documents), n_relevant):
        probability, relevant, other = 1.0, n_relevant, n_documents - n_relevant
        for draw in range(n_documents):
            chance = relevant / (relevant + odds * other)
            probability *= chance if draw in places else 1 - chance
            relevant, other = relevant - (draw in places), other - (draw not in places)
        probabilities[places] = probability
    return probabilities


def test_each_run_by_itself_draws_the_colour_sequences_of_the_urn():
    odds = [0.2, 0.6, 1.5]
    collection = urn_collection(
        odds, n_topics=3000, n_documents=5, n_relevant=2, shared=0.7, team=["a", "a", "b"],
        team_shared=0.6, depth=5, random_seed=1,
    )  # fmt: skip
    for run, sequence in enumerate(colours(collection)):
        expected = sequence_probabilities(5, 2, odds[run])
        assert sum(expected.values()) == pytest.approx(1, abs=1e-12)
        places = [tuple(np.flatnonzero(row).tolist()) for row in sequence]
        observed = [places.count(key) for key in expected]
        chances = np.array(list(expected.values()))
        assert stats.chisquare(observed, 3000 * chances).pvalue > LEVEL


def test_the_first_document_is_relevant_with_the_probability_of_equation_9():
    collection = urn_collection(
        [0.1], n_topics=2000, n_documents=40, n_relevant=4, depth=1, random_seed=2
    )
    n_relevant_first = int(colours(collection).sum())
    assert stats.binomtest(n_relevant_first, 2000, 4 / (4 + 0.1 * 36)).pvalue > LEVEL


def test_noise_is_standard_gumbel_and_independent_between_documents():
    noise = urn_noise(np.random.default_rng(3), np.array([0, 0, 1]), 4000, 0.6, 0.5)
    for row in noise:
        assert stats.kstest(row, "gumbel_r").pvalue > LEVEL
        assert abs(np.corrcoef(row[1:], row[:-1])[0, 1]) < 4 / np.sqrt(4000)


def test_normal_scores_of_noise_correlate_as_the_shares_say():
    noise = urn_noise(np.random.default_rng(4), np.array([0, 0, 1]), 20000, 0.6, 0.5)
    score = stats.norm.ppf(stats.gumbel_r.cdf(noise))
    expected = np.array([[1, 0.61, 0.36], [0.61, 1, 0.36], [0.36, 0.36, 1]])
    np.testing.assert_allclose(np.corrcoef(score), expected, atol=4 / np.sqrt(20000))


def test_more_documents_leave_the_noise_of_the_first_ones_alone():
    team = np.array([0, 1])
    small = urn_noise(np.random.default_rng(5), team, 10, 0.5, 0.2)
    large = urn_noise(np.random.default_rng(5), team, 30, 0.5, 0.2)
    np.testing.assert_array_equal(large[:, :10], small)


def test_runs_that_share_all_their_noise_and_their_odds_are_the_same_run():
    collection = urn_collection(
        [0.1, 0.1], n_topics=4, n_documents=60, n_relevant=6, shared=1.0, depth=20, random_seed=6
    )
    first, second = collection["rankings/ranking"].values
    np.testing.assert_array_equal(first, second)


def test_runs_share_more_documents_the_more_noise_they_share():
    def n_pooled(shared):
        collection = urn_collection(
            np.full(10, 0.1), n_topics=4, n_documents=500, n_relevant=20, shared=shared, depth=20,
            random_seed=7,
        )  # fmt: skip
        return np.unique(collection["rankings/ranking"].values).size

    assert n_pooled(0.0) > n_pooled(0.5) > n_pooled(0.9)


def test_a_seed_gives_one_collection():
    def ranking(seed):
        options = {"n_topics": 3, "n_documents": 50, "n_relevant": 5, "depth": 10}
        collection = urn_collection([0.1, 0.5], **options, difficulty_sd=1.0, random_seed=seed)
        return collection["rankings/ranking"].values

    np.testing.assert_array_equal(ranking(8), ranking(8))
    assert (ranking(8) != ranking(9)).any()


def test_every_pair_is_judged_and_topics_have_their_relevant_documents():
    relevant = np.array([3, 0, 12])
    collection = urn_collection(
        [0.1], n_documents=[30, 20, 12], n_relevant=relevant, depth=25, random_seed=10
    )
    check_collection(collection)
    grade = collection["judgments/grade"].values
    assert not np.isnan(grade).any()
    starts = topic_starts(collection)
    np.testing.assert_array_equal(np.diff(starts), [30, 20, 12])
    np.testing.assert_array_equal(np.add.reduceat(grade > 0, starts[:-1]), relevant)


def test_ranks_past_the_last_document_hold_nothing():
    collection = urn_collection([0.1], n_topics=1, n_documents=4, n_relevant=1, depth=6,
                                random_seed=11)  # fmt: skip
    ranking = collection["rankings/ranking"].values[0, 0]
    np.testing.assert_array_equal(np.sort(ranking[:4]), range(4))
    np.testing.assert_array_equal(ranking[4:], -1)


def test_keeping_only_retrieved_documents_keeps_rankings_and_relevant_documents():
    options = dict(n_topics=3, n_documents=200, n_relevant=30, depth=10, random_seed=12)
    every = urn_collection([0.3, 0.9], **options)
    some = urn_collection([0.3, 0.9], **options, keep="retrieved")
    labels = [c["document"].values[c["rankings/ranking"].values] for c in (every, some)]
    np.testing.assert_array_equal(*labels)
    np.testing.assert_array_equal(colours(every), colours(some))
    assert (some["judgments/grade"] > 0).sum() == 90
    retrieved = np.unique(some["rankings/ranking"].values)
    others = np.setdiff1d(np.arange(some["document"].size), retrieved)
    assert (some["judgments/grade"].values[others] > 0).all()


def test_prevalence_draws_the_number_of_relevant_documents_per_topic():
    collection = urn_collection(
        [0.5], n_topics=400, n_documents=50, prevalence=0.2, depth=1, random_seed=13
    )
    grade = collection["judgments/grade"].values.reshape(400, 50)
    assert stats.binomtest(int(grade.sum()), 400 * 50, 0.2).pvalue > LEVEL
    spread = grade.sum(axis=1).var(ddof=1) * 399 / (50 * 0.2 * 0.8)
    assert LEVEL / 2 < stats.chi2.cdf(spread, 399) < 1 - LEVEL / 2


def test_difficulty_moves_all_runs_of_a_topic_alike():
    collection = urn_collection(
        [0.1, 0.4], n_topics=6, n_relevant=20, difficulty_sd=0.8, random_seed=14
    )
    odds = collection["odds"].values
    np.testing.assert_allclose(odds[1] / odds[0], 4.0)
    assert np.log(odds[0]).std() > 0.2


def test_labels_do_not_tell_which_documents_are_relevant():
    collection = urn_collection([0.1], n_topics=50, n_documents=100, n_relevant=20, random_seed=15)
    place = np.tile(np.arange(100), 50)[collection["judgments/grade"].values > 0]
    assert abs(place.mean() - 49.5) < 4 * np.sqrt((100**2 - 1) / 12 / place.size)


def test_grades_come_in_their_proportions():
    collection = urn_collection(
        [0.1], n_topics=50, n_documents=100, n_relevant=40, grade_proportions=[0.7, 0.0, 0.3],
        random_seed=16,
    )  # fmt: skip
    count = np.bincount(collection["judgments/grade"].values.astype(int))
    assert count[0] == 50 * 60 and count[2] == 0
    assert stats.binomtest(int(count[3]), 50 * 40, 0.3).pvalue > LEVEL


def test_a_simulated_collection_survives_a_file(tmp_path):
    collection = urn_collection([0.1, 0.3], n_topics=2, n_relevant=10, random_seed=17)
    save_collection(collection, tmp_path / "urn.nc")
    xr.testing.assert_identical(open_collection(tmp_path / "urn.nc"), collection)


def test_top_documents_sorts_by_key():
    key = np.random.default_rng(18).random((4, 30))
    np.testing.assert_array_equal(top_documents(key, 7), np.argsort(-key, axis=1)[:, :7])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"odds": [0.0]}, "odds must be numbers above 0"),
        ({"odds": [np.nan]}, "odds must be numbers above 0"),
        ({"n_topics": None}, "number of topics must be given"),
        ({"n_relevant": [1, 2]}, "number of topics must be given, once or alike"),
        ({"n_relevant": 1001}, "topic 1 has 1001 of 1000"),
        ({"n_relevant": None}, "n_relevant or prevalence, one of the two"),
        ({"prevalence": 0.1}, "n_relevant or prevalence, one of the two"),
        ({"n_relevant": None, "prevalence": 1.5}, r"prevalence must lie in \[0, 1\], not 1.5"),
        ({"n_documents": 0}, "n_documents must be whole numbers, 1 or more, not 0"),
        ({"shared": 0.9, "team_shared": 0.9}, "squares add up to at most 1"),
        ({"shared": -0.1}, "shared and team_shared must be at least 0"),
        ({"team": ["a", "b"]}, "one team per run: 1"),
        ({"grade_proportions": [0.5, 0.6]}, "grade_proportions must add up to 1, not 1.1"),
        ({"depth": 0}, "depth is 0; allowed: a whole number, 1 or more"),
        ({"keep": "some"}, "keep must be one of all, retrieved, not 'some'"),
    ],
)
def test_a_parameter_outside_its_range_is_refused(changes, message):
    options = {"odds": [0.1], "n_topics": 3, "n_relevant": 5, "random_seed": 1} | changes
    with pytest.raises(ValueError, match=message):
        urn_collection(**options)
