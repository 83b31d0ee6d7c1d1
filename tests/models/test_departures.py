"""Departures of runs that the model did not learn from, on a collection whose truth is known."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, log_expit

import bayeseval as be
from bayeseval.models.relevance.departure_prior import Grid, learned_prior
from bayeseval.models.relevance.departures import (
    BANDS,
    Departures,
    Judged,
    departing_columns,
    unjudged_weight,
)
from bayeseval.models.relevance.draws import RelevanceDraws, TopicDraws
from bayeseval.models.relevance.external import label_rate

MEASURES = ["P@10", "AP", "R@20"]
TOP, ALONE, MIDDLE, MIDDLE_ALONE, DEEP, DEEP_ALONE = BANDS

ODD = "odd"  # a run that begins with relevant documents of any fused rank


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    odds = np.full((10, 25), 0.05)
    made = be.simulate.urn_collection(
        odds, n_topics=25, n_relevant=40, n_documents=1500, depth=60, shared=0.6, random_seed=3
    )
    known = be.trec.qrels_frame(made)
    chance = np.random.default_rng(1).random(len(known))
    odd = known[["topic", "document"]].assign(run=ODD, score=known.grade + chance)
    both = be.add_runs(made, odd)
    runs = both["run"].to_numpy().tolist()
    contributed = [run in sorted(set(runs) - {ODD})[:7] for run in runs]
    return both.assign(contributed=xr.DataArray(np.array(contributed), dims="run"))


@pytest.fixture(scope="module")
def sampled(collection) -> xr.DataTree:
    design = be.designs.pps_strata(collection, budget=40, n_strata=8)
    return be.reveal(collection, design, be.draw(design, random_seed=2))


@pytest.fixture(scope="module")
def fitted(sampled) -> xr.DataTree:
    model = be.models.relevance_model(sampled)
    return be.fit(model, approximation="laplace", draws=80, random_seed=1)


@pytest.fixture(scope="module")
def scores(sampled, fitted) -> dict[str, xr.Dataset]:
    return {
        how: be.posterior_scores(fitted, sampled, MEASURES, departures=how, random_seed=4)
        for how in ("learned", "none")
    }


def test_runs_that_the_model_learned_from_do_not_depart(sampled, scores):
    known = sampled["contributed"].to_numpy()
    learned, none = (scores[how].estimate.isel(run=known) for how in ("learned", "none"))
    np.testing.assert_array_equal(learned, none)
    assert scores["learned"].modelled_mean.isel(run=known).isnull().all()


def test_what_the_model_would_say_without_departures_is_kept(scores):
    learned, none = scores["learned"], scores["none"].estimate
    there = learned.modelled_mean.notnull()
    mean, error = none.mean(("chain", "draw")), none.std(("chain", "draw"), ddof=1)
    np.testing.assert_allclose(learned.modelled_mean.where(there, 0), mean.where(there, 0))
    np.testing.assert_allclose(learned.modelled_error.where(there, 0), error.where(there, 0))


def test_a_run_unlike_the_others_is_judged_better_by_its_departure(collection, scores):
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    error = {
        how: np.abs(post.estimate.mean(("chain", "draw")) - truth).sel(run=ODD)
        for how, post in scores.items()
    }
    for measure in ("P@10", "AP"):
        of_measure = {how: found.sel(measure=measure) for how, found in error.items()}
        assert of_measure["learned"] < 0.8 * of_measure["none"]


def test_scores_stay_between_0_and_1(scores):
    estimate = scores["learned"].estimate
    assert float(estimate.min()) >= 0.0
    assert float(estimate.max()) <= 1.0 + 1e-9


def test_a_departure_is_found_again(sampled, fitted):
    draws = RelevanceDraws(fitted, sampled, 1)
    runs = np.setdiff1d(np.arange(sampled.sizes["run"]), draws.frame.run)
    found = Departures.learned(draws)
    np.testing.assert_array_equal(found.run, runs)
    odd = sampled["run"].to_numpy()[runs] == ODD
    top = found.effect[0].sum(axis=0)
    assert top[odd].mean() > top[~odd].mean() + 1.0


def test_lists_that_end_before_the_ranks_that_tell_a_departure_do_not_have_it(sampled, fitted):
    found = Departures.learned(RelevanceDraws(fitted, sampled, 1))
    longest = (sampled["rankings/ranking"] >= 0).sum("rank").max("topic").to_numpy()[found.run]
    short = longest < 81
    assert short.any() and not short.all()
    assert (found.effect[4:, :, short] == 0.0).all()
    assert (found.effect[:4, 0] != 0.0).all() and (found.effect[4:, 0, ~short] != 0.0).all()


def test_no_departure_adds_nothing():
    assert Departures.none().run.size == 0
    still = one_departure()
    seen = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    assert not moved(still, np.array([1, 2, 300]), seen).any()


def test_departures_of_the_top_fade_with_the_rank_and_grow_with_the_fused_rank():
    one = one_departure(top=(1.0, 2.0))
    by_rank = moved(one, np.array([1, 10, 100, 200]), np.tile([1.0, 0.0], (4, 1)))
    assert (np.diff(by_rank) < 0).all()
    assert by_rank[-1] == 0.0
    seen = np.array([[-0.5, 0.0], [0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    by_fusion = moved(one, np.array([1, 1, 1, 1]), seen)
    np.testing.assert_allclose(by_fusion, [0.5, 1.0, 2.0, 5.0])  # steeper from 1 on


def test_what_no_run_of_the_model_found_departs_by_itself_and_by_one_level():
    seen = np.array([[2.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    first = np.array([1, 1, 1])
    found = moved(one_departure(top=(1.0, 2.0)), first, seen)
    np.testing.assert_allclose(found, [5, 0, 0])
    found = moved(one_departure(alone=(1.5, 2.0)), first, seen)
    np.testing.assert_allclose(found, [0, 1.5, 1.5])


@pytest.mark.parametrize(
    ("name", "ranks"),
    [("middle", [1, 10, 40, 160, 400, 900]), ("deep", [1, 40, 160, 500, 700, 900])],
)
def test_departures_below_the_top_are_whole_at_one_rank(name, ranks):
    one = one_departure(**{name: (1.0, 2.0), f"{name}_alone": (0.5, 0.0)})
    whole = np.array([0, 0, 1, 0, 0, 0])
    seen = np.zeros((6, 2))
    np.testing.assert_allclose(moved(one, np.array(ranks), seen), whole, atol=1e-6)
    seen[:, 0] = 1.0
    np.testing.assert_allclose(moved(one, np.array(ranks), seen), 2 * whole, atol=1e-6)
    seen[:, 1] = 1.0
    np.testing.assert_allclose(moved(one, np.array(ranks), seen), whole / 2, atol=1e-6)


def test_every_rank_but_the_first_ten_is_reached_from_below_the_top():
    between = np.arange(11, 500)
    assert (MIDDLE.share[between] + DEEP.share[between] > 0.0).all()
    np.testing.assert_allclose((MIDDLE.share + DEEP.share)[40:161], 1.0)
    judged = sum(band.judged.astype(int) for band in (TOP, MIDDLE, DEEP))
    np.testing.assert_array_equal(judged, [0, *[1] * 500, 0])


NONE = (0.0, 0.0)


def one_departure(
    top=NONE, alone=NONE, middle=NONE, middle_alone=NONE, deep=NONE, deep_alone=NONE
) -> Departures:
    """One run with one draw of its effects."""
    effect = np.array([top, alone, middle, middle_alone, deep, deep_alone])
    return Departures(np.array([0]), effect[:, :, None, None], np.zeros(0, int))


def moved(departures: Departures, rank, seen) -> np.ndarray:
    """What the first run adds to the linear predictor of documents (document,)."""
    return (departing_columns(rank, seen) @ departures.of_run(0))[:, 0]


@pytest.mark.parametrize("labelled", [False, True])
def test_documents_drawn_again_have_their_grade_where_their_chance_lets_them(labelled):
    """By the compiled way, in log odds, and by the other one, in probabilities."""
    random = np.random.default_rng(2)

    def relevance(logit, pairs, before):
        np.testing.assert_array_equal(before, drawn.logit[[0, 3, 5]])
        return expit(logit)

    draws = SimpleNamespace(n_draws=40, labelled=labelled, relevance=relevance)
    drawn = TopicDraws.empty(draws, np.zeros((8, 40), np.uint8), np.arange(8), np.arange(2, 8))
    assert (drawn.relevant == 1).all()
    drawn.logit[:] = random.normal(0.0, 2.0, (6, 40))
    drawn.uniform[:] = random.random((6, 40))
    drawn.uniform[0, 0] = 0.0  # as likely as any other number
    drawn.relevant[:] = random.integers(1, 4, (6, 40))
    rows = np.array([2, 5, 7])
    columns = random.normal(size=(3, 4)).astype(np.float32) * [1, 0, 1, 1]
    effect = random.normal(size=(4, 40)).astype(np.float32)
    share = expit(drawn.logit[[0, 3, 5]] + columns @ effect)
    expected = np.where(drawn.uniform[[0, 3, 5]] < share, drawn.relevant[[0, 3, 5]], 0)
    found = drawn.again(rows, columns.astype(np.float32), effect)
    np.testing.assert_array_equal(found, expected)
    assert set(np.unique(found)) == {0, 1, 2, 3} and found.dtype == np.uint8


def test_what_a_judgment_itself_said_is_left_out(sampled, fitted):
    """Draws that did not expect a judgment count for more: importance sampling, by hand."""
    draws = RelevanceDraws(fitted, sampled, 1)
    runs = np.setdiff1d(np.arange(sampled.sizes["run"]), draws.frame.run)
    judged = Judged.of(draws, runs)
    topic = 3
    rows = np.flatnonzero(np.isin(judged.pair, pairs_of(sampled, topic)))
    local = judged.pair[rows] - draws.frame.rankings.start[topic]
    share = draws.shares(topic, local)
    own = np.where(judged.grade[rows, None] > 0, share, 1.0 - share)
    left = (share / own).sum(axis=1) / (1.0 / own).sum(axis=1)
    np.testing.assert_allclose(expit(judged.logit[rows]), left, rtol=1e-6)
    mean = share.mean(axis=1)
    assert (np.where(judged.grade[rows] > 0, mean - left, left - mean) > 0).all()
    one = Judged.of(draws.at_mean(), runs)  # of one draw nothing can be left out
    at_mean = draws.at_mean().shares(topic, local)[:, 0]
    np.testing.assert_allclose(expit(one.logit[rows]), at_mean, rtol=1e-6)


def pairs_of(sampled, topic: int) -> np.ndarray:
    return np.flatnonzero(sampled["pair_topic"].to_numpy() == topic)


def test_of_a_grade_the_very_grade_is_left_out(collection):
    """A high grade speaks for draws that say relevant more than relevance alone would."""
    graded = collection.copy()
    grade = graded["judgments/grade"]
    odd = xr.DataArray(np.arange(grade.size) % 2 == 1, dims=grade.dims)
    judged = graded["judgments"].to_dataset().assign(grade=xr.where(odd, 2.0 * grade, grade))
    graded["judgments"] = xr.DataTree(judged)
    design = be.designs.pps_strata(graded, budget=40, n_strata=8)
    some = be.reveal(graded, design, be.draw(design, random_seed=2))
    fitted = be.inference.prior_fit(be.models.grade_model(some), draws=40, random_seed=1)
    draws = RelevanceDraws(fitted, some, 1)
    draws._draws = {name: 0.2 * values for name, values in draws._draws.items()}  # no extremes
    ranks = draws.frame.ranks(0)
    pair = draws.frame.pair[(draws.frame.topic == 0) & ~np.isnan(draws.frame.grade[0])]
    grade = np.array([draws.scale[-1]] * pair.size)
    odds, _ = draws.leave_one_out(0, ranks, pair, grade)
    logit, seen = draws.logit(0, ranks, pair - draws.frame.rankings.start[0])
    lowest, log_rank = expit(logit), np.minimum(seen[:, :1] - 1.0, 1.0)
    odds_of_next = (
        draws._draws["step_intercept"][:, 0]
        + draws._draws["topic_step_effect"][:, 0, 0]
        + draws._draws["step_slope"][:, 0] * np.logaddexp(0.0, logit)
        + draws._draws["step_log_rank"][:, 0] * log_rank
    )
    highest = lowest * expit(odds_of_next)
    expected = (lowest / highest).sum(axis=1) / (1.0 / highest).sum(axis=1)
    np.testing.assert_allclose(expit(odds), expected, rtol=1e-6)
    by_relevance = 1.0 / (1.0 / lowest).mean(axis=1)
    assert np.abs(expected - by_relevance).max() > 0.01


@pytest.mark.parametrize("external", [(), "llm"])
def test_a_departure_is_of_relevance_and_leaves_the_grades_of_what_is_relevant(external):
    graded = be.simulate.urn_collection(
        [0.1, 0.2, 0.3], n_topics=4, prevalence=0.2, grade_proportions=[0.6, 0.4], random_seed=1
    )
    label = (graded["judgments/grade"].to_numpy() > 0) ^ (np.arange(graded.sizes["pair"]) % 7 == 0)
    graded["predictors"] = xr.DataTree(xr.Dataset({"llm": ("pair", label * 1.0)}))
    design = be.designs.pps_strata(graded, budget=30, n_strata=5)
    some = be.reveal(graded, design, be.draw(design, random_seed=2))
    model = be.models.grade_model(some, external=external)
    draws = RelevanceDraws(be.fit(model, approximation="laplace", draws=20, random_seed=1), some, 1)
    pairs = np.arange(draws.frame.rankings.start[1])
    logit = draws.logit(0, draws.frame.ranks(0), pairs)[0]
    moved = logit + 1.5
    before, after = draws._above(logit, pairs), draws._above(moved, pairs, logit)
    assert (after[0] > before[0]).all()
    np.testing.assert_allclose(after[1] / after[0], before[1] / before[0], rtol=1e-6)
    grade = np.where(pairs % 2, 2.0, 0.0)
    one, known = draws.at_mean(), logit.mean(axis=1)
    tried = known[:, None] + np.array([[0.0, 1.5, -3.0]])  # departures on a grid
    share = expit(tried)
    if external:  # of grades 1 and 2, by Bayes; the steps are those without a departure
        above = one._reached(known[:, None], pairs)
        high = above[1] / above[0]
        share_of, slope = one._draws["llm_share"], one._draws["llm_slope"]
        rates = [
            label_rate(
                label[pairs].astype(int), share_of[:, k], slope[:, k], one._label_logit[pairs]
            )
            for k in range(3)
        ]
        told = share * ((1.0 - high) * rates[1] + high * rates[2])
        share = told / (told + (1.0 - share) * rates[0])
    wanted = np.log(np.where(grade[:, None] > 0, share, 1.0 - share)).sum(axis=0)
    for given in (grade, grade / 2):
        found = one.log_probability(tried, pairs, given, np.ones(pairs.size), known)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_impossible_judgments_have_finite_odds(sampled, fitted):
    draws = RelevanceDraws(fitted, sampled, 1)
    pair = draws.frame.pair[(draws.frame.topic == 0) & ~np.isnan(draws.frame.grade[0])]
    draws._draws = {k: 200.0 * v for k, v in draws._draws.items()}
    for grade in (0.0, 1.0):
        odds, _ = draws.leave_one_out(0, draws.frame.ranks(0), pair, np.full(pair.size, grade))
        assert np.isfinite(odds).all() and np.abs(odds).max() < 30.0


@pytest.mark.parametrize(
    ("name", "band"),
    [
        ("middle", MIDDLE),
        ("middle_alone", MIDDLE_ALONE),
        ("deep", DEEP),
        ("deep_alone", DEEP_ALONE),
    ],
)
def test_a_run_whose_lower_ranks_are_better_than_their_documents_say_is_found(name, band):
    """Below the top of a run what the fusion puts far behind is relevant more often."""
    random = np.random.default_rng(1)
    n_rows = 4000
    seen = np.column_stack([random.normal(size=n_rows), np.full(n_rows, float(band.unseen))])
    rank = random.integers(21, 400, n_rows)
    logit = random.normal(-2.0, 1.0, n_rows)
    shifted = logit + moved(one_departure(**{name: (0.5, 1.5)}), rank, seen)
    grade = (random.random(n_rows) < expit(shifted)).astype(float)
    likelihood = of_one_run(rank, grade, logit, np.ones(n_rows), seen).likelihood(
        band, NOTHING, WHOLE
    )
    best = likelihood[0].argmax()
    assert abs(band.grid.level[best] - 0.5) <= 0.5
    assert band.unseen or abs(band.grid.slope[best] - 1.5) <= 0.5


class Bernoulli:
    """Likelihood of relevance given the linear predictor (pair, column)."""

    def log_probability(self, logit, pairs, grade, weight, before):
        return weight @ log_expit(np.where(grade > 0, 1.0, -1.0)[:, None] * logit)


NOTHING = np.zeros((1, 2, 1))  # effects of the band before
WHOLE = np.ones(1)  # share of its departures that a run has


def of_one_run(rank, grade, logit, weight, seen) -> Judged:
    """Judged documents of one run."""
    number, pair = np.zeros(rank.size, dtype=int), np.arange(rank.size)
    return Judged(Bernoulli(), 1, number, rank, pair, grade, logit, weight, seen)


def test_documents_judged_for_certain_tell_where_no_sampled_one_does():
    random = np.random.default_rng(5)
    rank, logit = random.integers(1, 21, 60), random.normal(size=60)
    grade, seen = random.integers(0, 2, 60).astype(float), np.zeros((60, 2))

    def told(inclusion, some):
        weight = unjudged_weight(inclusion)
        one = of_one_run(*(part[some] for part in (rank, grade, logit, weight, seen)))
        found = one.likelihood(TOP, NOTHING, WHOLE)[0]
        return found - found[0]

    every, sampled = np.ones(60, dtype=bool), np.arange(60) < 10
    beside = told(np.where(sampled, 0.2, 1.0), every)
    np.testing.assert_allclose(beside, told(np.full(60, 0.2), sampled), rtol=0.02, atol=0.02)
    np.testing.assert_allclose(told(np.ones(60), every), told(np.full(60, 0.2), every))


def test_weights_of_a_run_add_up_to_their_effective_number():
    random = np.random.default_rng(2)
    rank, logit = random.integers(1, 21, 60), random.normal(size=60)
    grade, seen = (random.random(60) < 0.5).astype(float), np.zeros((60, 2))
    seen[:, 0] = random.normal(size=60)
    weight = random.gamma(1.0, size=60)
    one = of_one_run(rank, grade, logit, weight, seen)
    found = one.likelihood(TOP, NOTHING, WHOLE)[0]
    scaled = weight * weight.sum() / (weight**2).sum()
    for point in (0, 1500, found.size - 1):
        level, slope = TOP.grid.level[point], TOP.grid.slope[point]
        behind = 0.5 * seen[:, 0] + np.maximum(seen[:, 0] - 1.0, 0.0)
        moved = logit + TOP.share[rank] * (level + slope * behind)
        share = np.where(grade > 0, expit(moved), expit(-moved))
        np.testing.assert_allclose(found[point], scaled @ np.log(share))
    alike = of_one_run(rank, grade, logit, np.full(60, 3.0), seen)
    plain = of_one_run(rank, grade, logit, np.ones(60), seen)
    np.testing.assert_allclose(
        alike.likelihood(TOP, NOTHING, WHOLE), plain.likelihood(TOP, NOTHING, WHOLE)
    )


def test_a_line_that_is_not_right_is_nearer_on_average_over_what_was_not_judged():
    """What was hardly judged is relevant more often than the line of what nearly all was."""
    random = np.random.default_rng(3)
    n_documents = 30_000
    deep = np.abs(random.normal(1.0, 1.0, n_documents))
    share = expit(-3.0 + 3.0 * np.sqrt(deep))  # no line
    relevant = (random.random(n_documents) < share).astype(float)
    inclusion = np.exp(-1.5 * deep)
    judged = random.random(n_documents) < inclusion
    seen = np.column_stack([deep, np.zeros(n_documents)])
    ranks, logit = np.ones(n_documents, dtype=int), np.full(n_documents, -2.0)

    def off(weight) -> float:
        """How many more relevant documents the likeliest line expects than there are."""
        columns = (part[judged] for part in (ranks, relevant, logit, weight, seen))
        best = of_one_run(*columns).likelihood(TOP, NOTHING, WHOLE)[0].argmax()
        behind = 0.5 * deep + np.maximum(deep - 1.0, 0.0)
        line = TOP.grid.level[best] + TOP.grid.slope[best] * behind
        return float((expit(logit + line) - relevant)[~judged].mean())

    weighted, plain = off(unjudged_weight(inclusion)), off(np.ones(n_documents))
    assert abs(plain) > 0.02
    assert abs(weighted) < 0.6 * abs(plain)


def test_judged_documents_weigh_by_their_inclusion_probability(sampled, fitted):
    draws = RelevanceDraws(fitted, sampled, 1)
    runs = np.setdiff1d(np.arange(sampled.sizes["run"]), draws.frame.run)
    judged = Judged.of(draws, runs)
    inclusion = sampled["design"]["inclusion_probability"].to_numpy()
    np.testing.assert_allclose(judged.weight, unjudged_weight(inclusion[judged.pair]))
    assert np.ptp(judged.weight) > 0.5


def test_a_weight_of_two_is_two_documents(sampled, fitted):
    draws = RelevanceDraws(fitted, sampled, 1)
    logit, pairs = np.array([[0.3, -1.0], [2.0, 0.5]]), np.array([0, 1])
    grade, once = np.array([1.0, 0.0]), np.ones(2)
    wanted = np.log(expit(logit[0])) + np.log(expit(-logit[1]))
    np.testing.assert_allclose(draws.log_probability(logit, pairs, grade, once, pairs), wanted)
    np.testing.assert_allclose(
        draws.log_probability(logit, pairs, grade, 2 * once, pairs), 2 * wanted
    )


def test_a_design_with_replacement_weighs_all_alike(collection):
    design = be.designs.with_replacement(collection, budget=60)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=40, random_seed=1)
    draws = RelevanceDraws(fitted, sampled, 1)
    runs = np.setdiff1d(np.arange(sampled.sizes["run"]), draws.frame.run)
    assert np.ptp(Judged.of(draws, runs).weight) == 0.0
    assert np.isfinite(Departures.learned(draws).effect).all()


def test_documents_that_some_run_found_say_nothing_of_the_others():
    random = np.random.default_rng(2)
    rank, logit = random.integers(1, 21, 60), random.normal(size=60)
    grade, seen = np.ones(60), np.column_stack([np.ones(60), np.repeat([0.0, 1.0], 30)])
    every = of_one_run(rank, grade, logit, np.ones(60), seen)
    some = of_one_run(*(part[30:] for part in (rank, grade, logit, np.ones(60), seen)))
    assert np.ptp(some.likelihood(TOP, NOTHING, WHOLE)) == 0.0
    np.testing.assert_allclose(
        every.likelihood(ALONE, NOTHING, WHOLE), some.likelihood(ALONE, NOTHING, WHOLE)
    )


def test_the_number_of_relevant_documents_is_the_same_for_all_runs(sampled, fitted):
    scores = be.posterior_scores(fitted, sampled, ["NumRel", "NumRelRet", "R@60"], random_seed=4)
    number = scores.estimate.sel(measure="NumRel")
    np.testing.assert_allclose(number, number.isel(run=[0]).values.repeat(number.sizes["run"], -1))


def test_the_prior_learns_where_the_runs_are():
    grid = Grid.of_size()
    off = (grid.level - 2.0) / 0.2, (grid.slope - 1.0) / 0.2
    likelihood = np.tile(-0.5 * (off[0] ** 2 + off[1] ** 2), (12, 1))
    best = learned_prior(likelihood, grid).argmax()
    assert abs(grid.level[best] - 2.0) <= 0.5
    assert abs(grid.slope[best] - 1.0) <= 0.5


def test_an_unknown_way_is_refused(sampled, fitted):
    with pytest.raises(ValueError, match="departures must be"):
        be.posterior_scores(fitted, sampled, "P@10", departures="some")
