"""Topics in groups: the groups are what is random, and nobody is told less than is known."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.evaluation.problem import Problem
from bayeseval.evaluation.topic_groups import members, variance_of_groups
from tests.small import sample

TURNS = [f"{group}_{turn}" for group in range(1, 9) for turn in range(1, 4)]
GROUPS = {name: name.split("_")[0] for name in TURNS}


def scores(values, topics):
    """Scores (run, topic) as `evaluate` returns them, without errors of their own."""
    names = [f"run{number}" for number in range(len(values))]
    dims = ("run", "topic")
    return xr.Dataset(
        {
            "estimate": (dims, np.asarray(values)),
            "standard_error": (dims, np.zeros(np.shape(values))),
            "outside_weight": (dims, np.zeros(np.shape(values))),
        },
        coords={"run": names, "topic": list(topics)},
    )


def turned(spread, seed=1, n_runs=3):
    """Scores of turns whose groups differ by a deviation ``spread``, and turns by .1."""
    random = np.random.default_rng(seed)
    of_group = np.repeat(random.normal(0.4, spread, (n_runs, 8)), 3, axis=1)
    return of_group + 0.1 * random.normal(size=of_group.shape)


def test_groups_of_one_topic_change_nothing():
    values = np.random.default_rng(1).random((3, 7))
    values[0, 2] = np.nan
    topics = list("abcdefg")
    alone = be.mean_over_topics(scores(values, topics), population="topics")
    grouped = be.mean_over_topics(
        scores(values, topics), population="topics", topic_groups={name: name for name in topics}
    )
    xr.testing.assert_allclose(grouped, alone)


def test_groups_of_one_size_have_the_error_of_their_means():
    values = turned(0.2)
    mean = be.mean_over_topics(scores(values, TURNS), population="topics", topic_groups=GROUPS)
    of_groups = values.reshape(3, 8, 3).mean(axis=2)
    np.testing.assert_allclose(mean.standard_error, of_groups.std(axis=1, ddof=1) / 8**0.5)
    np.testing.assert_allclose(mean.degrees_of_freedom, 7.0)
    np.testing.assert_allclose(mean.estimate, values.mean(axis=1))


def test_the_variance_of_unequal_groups_is_unbiased_where_scores_are_independent():
    topics = np.array(list("abcdefghi"))
    of_group = members(dict(zip(topics, "xxxxyyzzw", strict=True)), topics)
    known = xr.DataArray(np.arange(9) != 4, dims="topic", coords={"topic": topics})
    number = int(known.sum())
    centred = (np.eye(number) - 1.0 / number) @ np.eye(number)
    away = np.zeros((number, 9))
    away[:, known.to_numpy()] = centred
    # V is a sum of squares of linear forms in the scores, so that its mean is their sum of squares
    rows = xr.DataArray(away, dims=("score", "topic"), coords={"topic": topics})
    variance, freedom = variance_of_groups(rows, known, of_group)
    assert float(variance.sum()) == pytest.approx(1.0 / number)
    total = away @ of_group.to_numpy()
    size = of_group.to_numpy()[known.to_numpy()].sum(axis=0)
    form = total / np.sqrt(1.0 - size / number) / number
    square = form.T @ form
    expected = np.trace(square) ** 2 / np.square(square).sum()
    np.testing.assert_allclose(freedom.broadcast_like(variance), expected)


def test_topics_that_are_repeated_tell_no_more_than_once():
    random = np.random.default_rng(3)
    topics = [f"t{number}" for number in range(6)]
    relevant = random.random((6, 10)) < 0.4
    runs, qrels, more_runs, more_qrels = {}, {}, {}, {}
    for name in ("a", "b", "c"):
        runs[name], more_runs[name] = {}, {}
        for number, topic in enumerate(topics):
            order = random.permutation(10)[:6]
            ranked = {f"d{document}": 10.0 - rank for rank, document in enumerate(order)}
            judged = {f"d{document}": int(relevant[number, document]) for document in range(10)}
            runs[name][topic], qrels[topic] = ranked, judged
            for copy in "xyz":
                more_runs[name][topic + copy], more_qrels[topic + copy] = ranked, judged
    groups = pd.Series({topic + copy: topic for topic in topics for copy in "xyz"})
    options = {"estimator": "assumed", "n_permutations": 200}
    once = be.compare(be.read_collection(qrels, runs), ["P@5", "AP"], **options)
    thrice = be.compare(
        be.read_collection(more_qrels, more_runs), ["P@5", "AP"], topic_groups=groups, **options
    )
    for name in ("estimate", "standard_error", "interval", "p_value", "p_tukey", "p_holm"):
        xr.testing.assert_allclose(thrice[name], once[name])


def test_turns_whose_scores_go_together_are_told():
    with pytest.warns(UserWarning, match="such as 1_1 of 1, and their scores go together"):
        be.mean_over_topics(scores(turned(0.3), TURNS), population="topics")


@pytest.mark.parametrize(
    ("spread", "topics"),
    [
        (0.0, TURNS),  # named like turns, but independent
        (0.3, [f"{number}" for number in range(24)]),
        (0.3, [f"web-{number}" for number in range(24)]),  # of one track
        (0.3, [f"{2001 + number // 12}_{number % 12}" for number in range(24)]),  # of two
    ],
)
def test_other_topics_are_not_suspected(spread, topics):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        be.mean_over_topics(scores(turned(spread), topics), population="topics")
        be.mean_over_topics(scores(turned(0.3), TURNS), population="sample")


def test_scores_that_are_all_alike_tell_of_no_groups():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "topics show no spread")
        for score in np.random.default_rng(1).random((60, 1)):
            values = np.repeat(score[None], 24, axis=1)
            be.mean_over_topics(scores(values, TURNS), population="topics")


def test_turns_that_are_all_alike_are_told():
    for seed in range(20):
        of_group = np.random.default_rng(seed).random((1, 8))
        with pytest.warns(UserWarning, match="their scores go together"):
            values = np.repeat(of_group, 3, axis=1)
            be.mean_over_topics(scores(values, TURNS), population="topics")


def test_suspicions_are_rarely_raised_where_turns_are_independent():
    found = 0
    for seed in range(200):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            be.mean_over_topics(scores(turned(0.0, seed), TURNS), population="topics")
        found += len(said)
    assert found <= 2  # each with a chance of .002 at most


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({name: "x" for name in TURNS}, "2 groups or more"),
        ({name: name for name in TURNS[1:]}, "it lacks 1_1"),
        ({name: (np.nan if name == "2_1" else name) for name in TURNS}, "NaN of 2_1"),
        (pd.Series(TURNS, index=[*TURNS[1:], "2_1"]), "names the topic '2_1' twice"),
        (TURNS, "not this list"),
    ],
)
def test_groups_that_are_none_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        be.mean_over_topics(scores(turned(0.2), TURNS), population="topics", topic_groups=groups)


def test_groups_say_nothing_of_these_very_topics():
    with pytest.raises(ValueError, match=r"topic_groups is for population='topics'"):
        be.mean_over_topics(scores(turned(0.2), TURNS), topic_groups=GROUPS)


@pytest.mark.parametrize(
    ("population", "groups", "message"),
    [("sample", {"1": "x", "2": "y"}, "is for"), ("topics", {"1": "x"}, "it lacks 2")],
)
def test_groups_are_refused_before_anything_is_estimated(monkeypatch, population, groups, message):
    runs = {name: {topic: {"d": 1.0} for topic in "12"} for name in "ab"}
    collection = be.read_collection({topic: {"d": 1} for topic in "12"}, runs)
    sampled = sample(collection, "poisson", budget=1)
    monkeypatch.setattr(Problem, "prepared", lambda *_, **__: pytest.fail("has estimated"))
    options = {"estimator": "stat", "population": population, "topic_groups": groups}
    with pytest.raises(ValueError, match=message):
        be.compare(sampled, "P@5", **options)
