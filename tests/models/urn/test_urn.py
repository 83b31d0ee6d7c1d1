"""The hierarchical urn: which documents its urns hold, its likelihood, and what is refused."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit
from scipy.stats import binom

import bayeseval as be
from bayeseval.models.urn.tops import checked_tops, judgment_share


def three_runs():
    """One topic: a and b shown by all three runs within rank 3, each has one of its own there."""
    lists = {"r1": "abcxyz", "r2": "badycx", "r3": "eabzxd"}
    rows = [
        (run, "1", document, -rank)
        for run, documents in lists.items()
        for rank, document in enumerate(documents)
    ]
    runs = pd.DataFrame(rows, columns=["run", "topic", "document", "score"])
    grade = {"a": 1, "b": 0, "c": 1, "d": 0, "e": 1, "x": 1, "y": 0, "z": 0}
    qrels = pd.DataFrame({"topic": "1", "document": list(grade), "grade": list(grade.values())})
    return be.read_collection(qrels, runs)


@pytest.fixture(scope="module")
def pooled():
    collection = three_runs()
    pool = be.designs.depth_pool(collection, 3)
    return be.reveal(collection, pool, be.draw(pool, random_seed=1))


def tops_of(sampled, **options):
    asked = dict(depth=3, frame="retrieved", documents="unshared") | options
    return checked_tops(sampled, **(dict(runs=None, relevance_level=1, gaps="refuse") | asked))


def test_lists_are_cut_to_what_other_runs_show_and_to_what_none_shows(pooled):
    tops = tops_of(pooled)
    shared = tops.lists(tops.in_frame & (tops.shown_by >= 2))
    own = tops.lists(tops.in_frame & (tops.shown_by == 1))
    assert shared[0].tolist() == [[1, 0, -1], [0, 1, -1], [1, 0, -1]]
    assert own[0].tolist() == [[1, -1, -1], [0, -1, -1], [1, -1, -1]]
    number, relevant = tops.n_others
    assert number[0].tolist() == [4, 4, 4]  # a and b, and what each of the two others has alone
    assert relevant[0].tolist() == [2, 3, 2]


def test_a_whole_list_of_own_documents_has_no_judged_one_below_the_depth(pooled):
    colour, rank, judged = tops_of(pooled).topic_lists(0, 6, own=True)
    assert judged.tolist() == [1, 1, 1]
    assert rank[0].tolist() == [2, 3, 4, 5]  # c x y z
    assert colour[0].tolist() == [1, -1, -1, -1]
    assert colour[1].tolist() == [0, -1, -1, -2]  # d y x: c belongs to what others show
    whole, _, judged = tops_of(pooled).topic_lists(0, 6, own=False)
    assert judged.tolist() == [3, 3, 3]
    assert whole[1].tolist() == [0, 1, 0, -1, 1, -1]


def test_the_first_of_a_runs_own_documents_is_relevant_as_often_as_its_urn_says():
    collection = be.simulate.urn_collection(
        np.geomspace(0.05, 0.5, 12),
        n_topics=150,
        n_documents=150,
        prevalence=0.2,
        shared=0.0,
        depth=30,
        random_seed=4,
    )
    pool = be.designs.depth_pool(collection, 10)
    every = xr.DataArray(np.ones(collection.sizes["pair"], dtype=bool), dims="pair")
    sampled = be.reveal(collection, pool, be.draw(pool, random_seed=1))
    tops = tops_of(sampled, depth=10, frame=every)
    truth = tops_of(collection, depth=10, frame=every, documents="all")
    n_documents = tops.count(tops.in_frame)[:, None]
    n_relevant = tops.count(truth.relevance == 1)[:, None]
    number, relevant = tops.n_others
    odds = collection["odds"].to_numpy().T
    urns = {
        1: (n_relevant - relevant, n_documents - number),
        2: (relevant, number),
    }
    for shown_by, (m, n) in urns.items():
        chosen = (tops.shown_by == 1) if shown_by == 1 else (tops.shown_by >= 2)
        first = tops.lists(tops.in_frame & chosen)[:, :, 0]
        chance = m / (m + odds * (n - m))
        seen = first >= 0
        surplus = (first[seen] - chance[seen]).sum()
        assert abs(surplus) < 4 * np.sqrt((chance * (1 - chance))[seen].sum())
        assert seen.sum() > 500


def test_the_judged_ones_of_its_own_documents_begin_every_list():
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.3, 0.4], n_topics=5, n_documents=50, prevalence=0.3, random_seed=3
    )
    pool = be.designs.depth_pool(collection, 5)
    tops = tops_of(be.reveal(collection, pool, be.draw(pool, random_seed=1)), depth=5)
    for topic in range(5):
        colour, _, judged = tops.topic_lists(topic, 50, own=True)
        for line, known in zip(colour, judged, strict=True):
            assert (line[:known] >= 0).all() and (line[known:] < 0).all()


def log_likelihood_of(colours, n_documents, n_relevant, log_odds):
    left, other, total = n_relevant, n_documents - n_relevant, 0.0
    for colour in colours:
        weight = np.exp(log_odds) * other
        total += np.log((left if colour else weight) / (left + weight))
        left, other = (left - 1, other) if colour else (left, other - 1)
    return total


def test_log_likelihood_is_that_of_two_urns_a_run_with_the_shared_one_weighted(pooled):
    model = be.models.urn_model(pooled, depth=3, frame="retrieved")
    known = {
        name: model[f"judged_{name}"].get_value().astype(np.int8)
        for name in ("relevance", "shared_relevance")
    }
    log_odds, logit = np.array([-1.0, 0.5, -2.0]), 0.3
    observed = pm.observe(model, known)
    compiled = observed.compile_logp(vars=observed.observed_RVs, sum=False)
    point = observed.initial_point()
    effect = {
        "population_logit_prevalence": logit,
        "population_log_odds": 0.0,
        "topic_deviation": [0],
    }
    for name, value in effect.items():
        point[name] = np.asarray(value, dtype=float)
    point["run_sd_log__"], point["run_deviation"] = np.array(0.0), log_odds
    found = {
        rv.name: float(np.sum(v))
        for rv, v in zip(observed.observed_RVs, compiled(point), strict=True)
    }
    seen = zip([(1, 0), (0, 1), (1, 0)], (2, 3, 2), log_odds, strict=True)
    shared = sum(log_likelihood_of(colours, 4, relevant, odds) for colours, relevant, odds in seen)
    assert found["shared_relevance"] == pytest.approx(shared * 2 / 6, abs=1e-9)
    with np.errstate(divide="ignore"):
        own = [
            np.logaddexp.reduce(
                [
                    binom.logpmf(m, 4, expit(logit)) + log_likelihood_of([colour], 4, m, odds)
                    for m in range(5)
                ]
            )
            for colour, odds in zip((1, 0, 1), log_odds, strict=True)
        ]
    assert found["relevance"] == pytest.approx(sum(own), abs=1e-9)


@pytest.mark.parametrize(("n_topics", "n_runs"), [(20, 4), (19, 4), (12, 22)])
def test_effects_of_many_that_are_well_known_are_sampled_as_they_are(n_topics, n_runs):
    collection = be.simulate.urn_collection(
        np.geomspace(0.1, 0.4, n_runs),
        n_topics=n_topics,
        n_documents=400,
        prevalence=0.3,
        shared=0.6,
        random_seed=3,
    )
    pool = be.designs.depth_pool(collection, 30)
    sampled = be.reveal(collection, pool, be.draw(pool, random_seed=1))
    model = be.models.urn_model(sampled, depth=30, frame="retrieved")
    names = {variable.name for variable in model.free_RVs}
    assert ("logit_prevalence" in names) == (n_topics >= 20)
    assert ("log_odds" in names) == (n_runs >= 20)


@pytest.mark.parametrize(("depth", "known_apart"), [(10, False), (30, True)])
def test_one_urn_that_has_mostly_been_drawn_tells_its_two_parameters_apart(depth, known_apart):
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.3, 0.4], n_topics=20, n_documents=60, prevalence=0.3, random_seed=3
    )
    model = be.models.urn_model(collection, depth=depth, frame="judged", documents="all")
    names = {variable.name for variable in model.free_RVs}
    assert ("population_contrast" in names) == (not known_apart)
    assert ({"population_log_odds", "logit_prevalence"} <= names) == known_apart


def test_one_urn_weighs_every_judgment_once_unless_told_otherwise(pooled):
    share = float(
        be.models.urn_model(pooled, depth=3, frame="retrieved", documents="all")[
            "relevance_weight"
        ].get_value()
    )
    assert share == pytest.approx(5 / 9)  # a, b, c, d, e at nine places
    asked = be.models.urn_model(
        pooled, depth=3, frame="retrieved", documents="all", likelihood_weight=1.0
    )
    assert float(asked["relevance_weight"].get_value()) == 1.0
    assert judgment_share(np.array([[[1, 0]]], dtype=np.int8), 2) == 1.0


def test_lists_that_share_documents_weigh_every_judgment_of_the_frame_once(pooled):
    def weight(frame):
        model = be.models.urn_model(pooled, depth=3, frame=frame)
        return float(model["likelihood_weight"].get_value())

    assert weight("retrieved") == pytest.approx(2 / 6)  # a and b at six places
    assert weight(xr.DataArray(pooled["document"].to_numpy() != "b", dims="pair")) == 1 / 3


def test_runs_of_the_pool_that_are_not_fitted_show_their_documents_too(pooled):
    tops = tops_of(pooled, runs=["r1", "r2"])
    assert tops.coords["run"].tolist() == ["r1", "r2"]
    shown = dict(zip(pooled["document"].to_numpy(), tops.shown_by.tolist(), strict=True))
    assert shown == {"a": 3, "b": 3, "c": 1, "d": 1, "e": 1, "x": 0, "y": 0, "z": 0}
    number, relevant = tops.n_others
    # The frame, what these two retrieved, lacks e.
    assert (number.tolist(), relevant.tolist()) == ([[3, 3]], [[1, 2]])


def test_judgments_for_runs_or_ranks_that_the_model_does_not_see_are_refused(pooled):
    message = "2 judged documents of the frame, such as 'c' of topic '1', are at the first 2 ranks"
    with pytest.raises(ValueError, match=message):
        be.models.urn_model(pooled, depth=2, frame="retrieved")
    fewer = be.select(pooled, runs=["r1", "r2"])
    with pytest.raises(ValueError, match="1 judged documents .* 'e' .* the pool and all its runs"):
        be.models.urn_model(fewer, depth=3, frame="judged")
    without = xr.DataArray(fewer["document"].to_numpy() != "e", dims="pair")
    be.models.urn_model(fewer, depth=3, frame=without)
    be.models.urn_model(pooled, depth=2, frame="retrieved", documents="all")


def test_prior_draws_stay_within_the_urn(pooled):
    with be.models.urn_model(pooled, depth=3, frame="retrieved"):
        drawn = pm.sample_prior_predictive(
            200, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
        )
    shared = drawn["prior/shared_relevance"].to_numpy()
    assert set(np.unique(shared)) <= {-1, 0, 1}
    assert ((shared == 1).sum(axis=-1) <= [2, 3, 2]).all()  # relevant ones in the runs' urns


def test_a_sample_with_unequal_probabilities_is_refused():
    collection = be.simulate.urn_collection([0.1, 0.2], n_topics=3, prevalence=0.1, random_seed=1)
    design = be.designs.pps_strata(collection, budget=20, n_strata=4)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    with pytest.raises(ValueError, match="the judgments come from a stratified design"):
        be.models.urn_model(sampled, depth=5, frame="retrieved")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(depth=4), "depth must be at most 3, the depth of the pool"),
        (dict(depth=0), "depth is 0; allowed: a whole number, 1 or more"),
        (dict(depth=2.5), "depth is 2.5; allowed: a whole number, 1 or more"),
        (dict(frame="judged"), "every document of the frame is judged"),
        (dict(documents="some"), "documents must be one of unshared, all"),
        (dict(gaps="many"), "gaps must be one of refuse, ignorable"),
        (dict(gaps="ignorable"), "gaps='ignorable' is for one urn"),
        (dict(likelihood_weight=0.0), "likelihood_weight is 0.0"),
        (dict(likelihood_weight="some"), "likelihood_weight is 'some'"),
        (dict(priors={"nothing": 1.0}), "there is no prior 'nothing'"),
        (dict(priors={"run_sd": -1.0}), "prior 'run_sd' is -1.0"),
        (dict(runs=["r9"]), "runs must name runs of the collection"),
        (dict(frame="pool"), "frame must be 'judged', 'retrieved' or a bool DataArray"),
    ],
)
def test_what_cannot_be_fitted_is_refused(pooled, options, message):
    with pytest.raises(ValueError, match=message):
        be.models.urn_model(pooled, **(dict(depth=3, frame="retrieved") | options))


def test_an_unjudged_document_at_the_first_ranks_is_refused():
    collection = three_runs()
    pool = be.designs.depth_pool(collection, 3, runs=["r1", "r2"])
    sampled = be.reveal(collection, pool, be.draw(pool, random_seed=1))
    with pytest.raises(ValueError, match="run 'r3' is not among the 2 runs of the pool"):
        be.models.urn_model(sampled, depth=3, frame="retrieved", runs=["r1", "r3"])
    plain = be.read_collection(be.trec.qrels_frame(sampled), be.trec.runs_frame(sampled))
    with pytest.raises(
        ValueError, match="run 'r3' has an unjudged document of the frame at rank 1"
    ):
        be.models.urn_model(plain, depth=3, frame="retrieved")
    be.models.urn_model(plain, depth=3, frame="retrieved", documents="all", gaps="ignorable")
