"""Orders: every shuffle of small ones, lists that go on, later runs, gaps, first rounds."""

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import chi2

import bayeseval as be
from tests.small import every_order, small_collection

pytestmark = pytest.mark.filterwarnings("ignore:the sample was drawn for P@1;")
LINEAR = ["P@3", "P@5", "RBP(p=0.8)", "NumRel"]
FIXED = [None, ("constant", 0.3), ("external", "llm")]
LENGTHS = [*range(3, 10), {"1": 8, "2": 4}]  # of both topics, or of each; a round is 3 or less


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return small_collection()


@pytest.fixture(scope="module")
def order(collection) -> xr.Dataset:
    """Strata of 1, 2 and 6 documents in topic 1, and of 1, 2 and 5 in topic 2."""
    return be.designs.order(collection, measures="P@1", budget=6, random_seed=1)


def runs_of(collection, names: str) -> xr.DataTree:
    """Some of the runs, without judgments."""
    runs = be.trec.runs_frame(collection)
    return be.read_collection(None, runs[runs["run"].isin(list(names))])


def scores_of(sampled, predictor, measures=LINEAR) -> xr.Dataset:
    """Scores by stat, or by dyn where there is a predictor."""
    if predictor is None:
        return be.evaluate(sampled, measures, estimator="stat")
    predictor = None if predictor == "default" else predictor
    return be.evaluate(sampled, measures, estimator="dyn", predictor=predictor)


def truth_of(collection, measures=LINEAR) -> xr.DataArray:
    return be.evaluate(collection, measures, estimator="assumed").estimate


@pytest.mark.parametrize("predictor", [*FIXED, "default"])
@pytest.mark.parametrize("budget", LENGTHS, ids=str)
def test_scores_are_unbiased_at_every_length_of_the_list(collection, order, budget, predictor):
    scores = scores_of(every_order(collection, order, budget), predictor)
    difference = scores.estimate.mean("replicate") - truth_of(collection)
    assert float(abs(difference).max()) < 1e-10
    if budget == 9:  # all is judged
        assert float(abs(scores.estimate - truth_of(collection)).max()) < 1e-12
        assert float(scores.standard_error.max()) < 1e-12
    else:
        assert scores.estimate.std("replicate").max() > 0.01


@pytest.mark.parametrize("predictor", FIXED)
@pytest.mark.parametrize("budget", [5, 6, 7, 8])
def test_the_expected_variance_is_the_variance_from_the_second_round_on(
    collection, order, budget, predictor
):
    scores = scores_of(every_order(collection, order, budget), predictor)
    exact = scores.estimate.var("replicate", ddof=0)
    expected = (scores.design_error**2).mean("replicate")
    xr.testing.assert_allclose(expected, exact, rtol=0, atol=1e-10)
    assert float(exact.max()) > 1e-4


@pytest.mark.parametrize("predictor", [*FIXED, "default"])
def test_certain_documents_stand_outside_the_list(collection, predictor):
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[[0, 4, 12]] = True
    order = be.designs.order(collection, budget=6, certain=certain, random_seed=1)
    assert not order["place"].to_numpy()[certain].any()
    assert len(be.designs.to_judge(order)) == 4 + 5
    for budget in (5, 6):  # in round 2 of topic 1, and at its end
        scores = scores_of(every_order(collection, order, budget), predictor)
        difference = scores.estimate.mean("replicate") - truth_of(collection)
        assert float(abs(difference).max()) < 1e-10


@pytest.mark.parametrize("predictor", [None, ("constant", 0.3), "default"])
def test_strata_of_later_runs_count_from_their_first_judgment(collection, predictor):
    early = be.designs.order(runs_of(collection, "c"), budget=4, random_seed=1)
    later = be.designs.extend(early, runs_of(collection, "ab"))
    assert later.sizes["pair"] == collection.sizes["pair"]
    for budget in ({"1": 6, "2": 6}, {"1": 7, "2": 8}):
        scores = scores_of(every_order(collection, later, budget), predictor)
        difference = scores.estimate.mean("replicate") - truth_of(collection)
        assert float(abs(difference).max()) < 1e-10
        assert float(scores.outside_weight.max()) < 1e-12
    # a list that was judged before they came
    judged = be.designs.to_judge(early, budget=3).merge(be.trec.qrels_frame(collection))
    waiting = be.attach_judgments(collection, later, judged)
    before = be.attach_judgments(collection, early, judged)
    scores = [scores_of(one, predictor) for one in (waiting, before)]
    if predictor != "default":  # which sees the ranks in the later runs
        xr.testing.assert_identical(scores[0].estimate, scores[1].estimate)
    assert float(scores[0].outside_weight.sel(run="a", measure="P@3").max()) > 0.3
    assert float(scores[0].outside_weight.sel(run="c", measure="P@3").max()) == 0


def test_a_topic_whose_documents_are_all_certain_keeps_its_score_where_runs_come_later(collection):
    runs = runs_of(collection, "c")
    certain = runs["pair_topic"].to_numpy() == 0
    early = be.designs.order(runs, budget=6, certain=certain, random_seed=1)
    later = be.designs.extend(early, runs_of(collection, "ab"))
    rows = np.flatnonzero(early["inclusion_probability"] > 0)
    listed = be.designs.to_judge(early)
    assert set(listed["topic"]) == {"2"}
    known = pd.DataFrame({"topic": "1", "document": runs["document"].to_numpy()[certain]})
    judged = pd.concat([known, listed]).merge(be.trec.qrels_frame(collection))
    assert rows.size == len(judged)
    before, after = (
        scores_of(be.attach_judgments(collection, design, judged), None)
        for design in (early, later)
    )
    xr.testing.assert_identical(before.estimate, after.estimate)
    assert set(be.designs.to_judge(later, judged)["topic"]) == {"1", "2"}


def places(design: xr.Dataset) -> pd.DataFrame:
    """Place of every listed pair, and the pairs of its stratum."""
    topic = design["topic"].to_numpy()[design["pair_topic"]]
    table = pd.DataFrame({"topic": topic, "document": design["document"].to_numpy()})
    table = table.assign(place=design["place"].to_numpy(), stratum=design["stratum"].to_numpy())
    return table[table["place"] > 0].set_index(["topic", "document"]).sort_index()


def test_nothing_in_the_list_moves_where_runs_come_later(collection):
    early = be.designs.order(runs_of(collection, "c"), budget=4, pool_depth=3, random_seed=1)
    later = be.designs.extend(early, runs_of(collection, "a"))
    last = be.designs.extend(later, collection)
    assert sorted(set(last["stratum_extension"].values.tolist())) == [0, 1, 2]
    for before, after in itertools.pairwise([early, later, last]):
        old, new = places(before), places(after).loc[places(before).index]
        pd.testing.assert_series_equal(old["place"], new["place"])
        pairs = pd.concat([old["stratum"].rename("old"), new["stratum"]], axis=1)
        assert len(pairs.drop_duplicates()) == old["stratum"].nunique()  # one for one
        assert len(places(after)) > len(old)
    xr.testing.assert_identical(be.designs.extend(early, runs_of(collection, "ac")), later)


def test_later_runs_bring_the_documents_of_the_rounds_that_are_judged(collection):
    early = be.designs.order(runs_of(collection, "c"), budget=4, random_seed=1)
    later = be.designs.extend(early, collection)
    new = places(later).loc[lambda table: ~table.index.isin(places(early).index)]
    judged = be.designs.to_judge(early, budget={"1": 3, "2": 4})  # one round, and two
    listed = be.designs.to_judge(later, judged).set_index(["topic", "document"])
    assert set(listed.index) <= set(new.index)
    of_topic = new.index.get_level_values("topic")
    due = new[new["place"] <= np.where(of_topic == "1", 1, 2)]
    assert set(listed.index) == set(due.index)
    total = pd.concat([judged, be.designs.to_judge(later, judged, budget=6)])
    assert total.groupby("topic").size().tolist() == [6, 6] and not total.duplicated().any()


def test_samples_with_one_seed_go_on_with_the_same_lists(order):
    before = None
    for budget in range(3, 9):
        drawn = be.draw(order, budget=budget, n_replicates=4, random_seed=3)
        assert before is None or not (before & ~drawn).any()
        before = drawn
    assert (drawn != drawn[0]).any()


def test_every_shuffle_is_as_likely_and_so_is_every_stratum_at_the_beginning(collection):
    runs, seeds = runs_of(collection, "c"), range(240)
    whole = [be.designs.order(runs, budget=2, random_seed=seed) for seed in seeds]
    shuffles = [tuple(one["place"].to_numpy()[:4]) for one in whole]  # topic 1
    counts = np.array([shuffles.count(one) for one in itertools.permutations([1, 2, 3, 4])])
    assert counts.sum() == len(seeds)
    assert ((counts - 10) ** 2 / 10).sum() < chi2(23).ppf(0.999)
    halves = [be.designs.order(runs, budget=4, random_seed=seed) for seed in seeds]
    first = [one["stratum"].to_numpy()[:4][one["judging_order"][:4] == 1].item() for one in halves]
    assert np.mean(first) == pytest.approx(0.5, abs=0.1)


def test_rounds_take_one_document_of_each_stratum(order):
    listed = be.designs.to_judge(order, budget=9)
    table = places(order).loc[pd.MultiIndex.from_frame(listed[["topic", "document"]])]
    assert (table["place"].to_numpy() == listed["round"].to_numpy()).all()
    assert listed["round"].is_monotonic_increasing
    for _, part in listed.groupby("round"):
        assert part["topic"].is_monotonic_increasing
    assert not table.reset_index().duplicated(["stratum", "place"]).any()
    every = be.designs.order(small_collection(), random_seed=1)
    assert len(be.designs.to_judge(every)) == 17 and len(be.designs.to_judge(order)) == 12


def judged_rows(collection, listed: pd.DataFrame) -> pd.DataFrame:
    return listed[["topic", "document"]].merge(be.trec.qrels_frame(collection))


def test_a_list_that_goes_on_gives_the_numbers_of_one_that_was_longer_at_once(collection, order):
    rankings = runs_of(collection, "abc")
    first = judged_rows(collection, be.designs.to_judge(order, budget=4))
    more = be.designs.to_judge(order, first, budget=7)
    assert len(more) == 6 and not first.merge(more).size
    grown = pd.concat([first, judged_rows(collection, more)])
    at_once = judged_rows(collection, be.designs.to_judge(order, budget=7))
    for measures in (LINEAR, ["AP", "nDCG@5"]):
        scores = [
            be.evaluate(be.attach_judgments(rankings, design, rows), measures, estimator="dyn")
            for design, rows in (
                (order, grown),
                (order, at_once),
                (be.designs.extend(order, budget=7), grown),
            )
        ]
        xr.testing.assert_identical(scores[0].drop_attrs(), scores[1].drop_attrs())
        xr.testing.assert_identical(scores[0].drop_attrs(), scores[2].drop_attrs())
    known = be.attach_judgments(rankings, order, first)
    pd.testing.assert_frame_equal(be.designs.to_judge(order, known, budget=7), more)
    rest = be.designs.to_judge(order, first)  # of its own budget
    assert len(rest) == 12 - 8


def test_judgments_after_a_gap_are_set_aside(collection, order):
    rankings = runs_of(collection, "abc")
    rows = judged_rows(collection, be.designs.to_judge(order, budget=9))
    place = places(order).loc[pd.MultiIndex.from_frame(rows[["topic", "document"]])]
    place = place.reset_index()
    largest = place["stratum"].value_counts().index[0]
    gap = (place["stratum"] == largest) & (place["place"] == 2)
    after = int(((place["stratum"] == largest) & (place["place"] > 2)).sum())
    warning = f"^{after} judgments? (is|are) set aside, because a document that comes before"
    missing = rows.assign(grade=rows["grade"].astype(float).mask(gap.to_numpy()))
    attached = []
    for given in (rows[~gap.to_numpy()], missing):  # left out, or without a grade
        with pytest.warns(UserWarning, match=warning):
            attached.append(be.attach_judgments(rankings, order, given))
    xr.testing.assert_identical(attached[0], attached[1])
    kept = (place["stratum"] != largest) | (place["place"] < 2)
    plain = be.attach_judgments(rankings, order, rows[kept.to_numpy()])
    xr.testing.assert_identical(attached[0], plain)
    with pytest.warns(UserWarning, match=f"^{after} judgments? cannot count yet, because"):
        left = be.designs.to_judge(order, missing, budget=9)
    assert left["document"].tolist() == rows.loc[gap.to_numpy(), "document"].tolist()


def test_a_topic_without_its_first_round_has_no_score(collection, order):
    rankings = runs_of(collection, "abc")
    listed = be.designs.to_judge(order, budget={"1": 6, "2": 2})
    rows = judged_rows(collection, listed)
    with pytest.warns(UserWarning, match=r"^the judgments of 1 topic \('2'\) are set aside"):
        sampled = be.attach_judgments(rankings, order, rows)
    with pytest.warns(UserWarning, match="1 topic has no judgment"):
        estimate = be.evaluate(sampled, "P@3", estimator="stat").estimate
    assert estimate.sel(topic="1").notnull().all() and estimate.sel(topic="2").isnull().all()
    with pytest.raises(
        ValueError, match=r"^the DataFrame has no judgment for some documents of round 1"
    ):
        be.attach_judgments(rankings, order, rows[rows["topic"] == "2"])


def test_unjudgeable_documents_are_an_error_or_not_relevant(tmp_path, collection, order):
    rankings = runs_of(collection, "abc")
    rows = judged_rows(collection, be.designs.to_judge(order, budget=6))
    relevant = rows.index[rows["grade"] > 0][:2]
    marked = rows.astype({"grade": object})
    marked.loc[relevant, "grade"] = "unjudgeable"
    zero = rows.copy()
    zero.loc[relevant, "grade"] = 0
    lines = "".join(f"{t} 0 {d} {g}\n" for t, d, g in marked.itertuples(index=False))
    (tmp_path / "qrels").write_text(lines)
    marked.to_csv(tmp_path / "table.csv", index=False)
    same = be.attach_judgments(rankings, order, zero, grades=[0, 1, 2])
    for given in (marked, tmp_path / "qrels", tmp_path / "table.csv"):
        with pytest.raises(ValueError, match=r"is marked unjudgeable; unjudgeable='nonrelevant' c"):
            be.attach_judgments(rankings, order, given)
        options = {"unjudgeable": "nonrelevant", "grades": [0, 1, 2]}
        xr.testing.assert_identical(be.attach_judgments(rankings, order, given, **options), same)
    with pytest.raises(ValueError, match="unjudgeable must be one of error, nonrelevant"):
        be.attach_judgments(rankings, order, zero, unjudgeable="skip")


def test_a_sample_beside_an_earlier_one_warns_of_what_it_costs(collection):
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[[0, 4, 12]] = True
    truth, options = be.trec.qrels_frame(collection), {"budget": 6, "certain": certain}
    design = be.designs.pps_strata(collection, n_strata=2, **options)
    design = design.assign(selected=be.draw(design, random_seed=1))
    rows = truth[design["selected"].to_numpy()]
    with pytest.warns(UserWarning, match="twice as long .*; be.designs.order gives a list"):
        be.attach_judgments(collection, design, rows)
    order = be.designs.order(collection, random_seed=1, **options)
    rows = truth[be.draw(order).to_numpy()]
    be.attach_judgments(collection, order, rows)  # no warning
    with pytest.raises(ValueError, match="no judgment for 3 certain pairs, the first is .* 'd0'"):
        be.attach_judgments(collection, order, rows[~certain[rows.index]])


def test_a_design_file_keeps_the_order(tmp_path, collection):
    early = be.designs.order(runs_of(collection, "c"), pool_depth=3, random_seed=2**62 + 5)
    design = be.designs.extend(early, runs_of(collection, "a"))
    be.save_design(design, tmp_path / "design.nc")
    read = be.read_design(tmp_path / "design.nc")
    pd.testing.assert_frame_equal(be.designs.to_judge(read), be.designs.to_judge(design))
    last = [be.designs.extend(one, runs_of(collection, "b")) for one in (read, design)]
    xr.testing.assert_equal(*last)


def test_replicates_are_shuffled_each_by_itself(collection, order):
    many = be.draw(order, budget=7, n_replicates=200, random_seed=1)
    assert (many.sum("pair") == 14).all()
    scores = be.evaluate(be.reveal(collection, order, many), "P@3", estimator="stat")
    error = scores.estimate.mean("replicate") - truth_of(collection, "P@3")
    limit = 4 * scores.estimate.std("replicate") / 200**0.5
    assert (abs(error) <= limit + 1e-12).all()
    assert len(np.unique(many.to_numpy(), axis=0)) > 20
    turned = be.reveal(collection, order, many.transpose("pair", "replicate"))
    xr.testing.assert_identical(turned, be.reveal(collection, order, many))


def test_any_seed_makes_an_order(collection):
    orders = [be.designs.order(collection, budget=2, random_seed=seed) for seed in (3, 2**70)]
    places = np.array([one["place"].to_numpy() for one in orders])
    assert (places[0] != places[1]).any()


def other_topic(collection) -> xr.DataTree:
    runs = be.trec.runs_frame(collection)
    return be.read_collection(
        None, runs[runs["topic"] == "1"].assign(topic="9", run="z" + runs["run"])
    )


PPS = {"budget": 4, "n_strata": 2}
BAD = [
    (lambda c, o: be.draw(be.designs.order(c, random_seed=1)), "has no budget of its own"),
    (lambda c, o: be.draw(be.designs.pps_strata(c, **PPS), budget=4), "budget is for orders"),
    (lambda c, o: be.designs.to_judge(be.designs.pps_strata(c, **PPS), budget=4), "is for orders"),
    (
        lambda c, o: be.designs.extend(be.designs.pps_strata(c, **PPS), c),
        "by pps_strata cannot be continued",
    ),
    (lambda c, o: be.designs.extend(o, c), "these runs are in the order already"),
    (lambda c, o: be.designs.extend(o, other_topic(c)), "no topic of the order; they have '9'"),
    (lambda c, o: be.designs.extend(o, budget=0), "budget must be a whole number"),
    (lambda c, o: be.draw(o, budget={"1": 4}), "budget has no number of judgments for topic '2'"),
    (lambda c, o: be.reveal(c, o, be.draw(o, budget=2)), "first round of an order must be whole"),
    (lambda c, o: be.reveal(c, o, be.draw(o).astype(int)), "selected must be bool"),
    (lambda c, o: be.reveal(c, o, be.draw(o)[:5]), "selected must be bool"),
    (lambda c, o: be.reveal(c, o, be.draw(o).to_dataset()), "not this Dataset"),
    (
        lambda c, o: be.designs.to_judge(o, pd.DataFrame({"topic": ["1"], "document": ["x"]})),
        "judged holds 1 document that the design does not have, the first is topic '1'",
    ),
]


@pytest.mark.parametrize(("act", "message"), BAD)
def test_what_an_order_cannot_do_is_refused(collection, order, act, message):
    with pytest.raises(ValueError, match=message):
        act(collection, order)
