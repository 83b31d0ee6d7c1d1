"""Designs and judgments joined to collections by label, and designs as files."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.collection import with_node
from tests.small import ORDERS, small_collection


@pytest.fixture
def collection() -> xr.DataTree:
    return small_collection()


def run_frame(names) -> pd.DataFrame:
    return pd.DataFrame(
        [
            (run, t, f"d{i}", -rank)
            for run in names
            for t, order in ORDERS[run].items()
            for rank, i in enumerate(order)
        ],
        columns=["run", "topic", "document", "score"],
    )


def qrels_of(collection, selected) -> pd.DataFrame:
    where = np.flatnonzero(selected)
    topic = collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()[where]]
    return pd.DataFrame(
        {
            "topic": topic,
            "document": collection["document"].to_numpy()[where],
            "grade": collection["judgments/grade"].to_numpy()[where].astype(int),
        }
    )


def by_document(judged: pd.DataFrame) -> dict:
    return dict(zip(judged["document"], judged["grade"], strict=True))


def test_design_judge_add_a_run_evaluate_equals_reading_all_runs_at_once(tmp_path, collection):
    rankings = be.read_collection(None, run_frame("ab"))
    design = be.designs.pps_strata(rankings, budget=5, n_strata=2)
    selected = be.draw(design, random_seed=3)
    be.save_design(design.assign(selected=selected), tmp_path / "design.nc")
    back = be.read_design(tmp_path / "design.nc")
    judged = qrels_of(collection, np.isin(*_labels(collection, design, selected)))
    late = be.add_runs(be.attach_judgments(rankings, back, judged), run_frame("c"))
    order = np.random.default_rng(1).permutation(len(run_frame("abc")))
    at_once = be.attach_judgments(
        be.read_collection(None, run_frame("abc").iloc[order]),
        back.isel(pair=np.s_[::-1]),
        judged.sample(frac=1.0, random_state=2),
    )
    at_once = be.select(at_once, runs=["a", "b", "c"])
    for estimator, predictor in (
        ("assumed", None),
        ("stat", None),
        ("dyn", "rank_logistic"),
        ("dyn", "pooled"),
    ):
        measures = ["P@3", "AP", "nDCG@5"]
        one = be.evaluate(late, measures, estimator=estimator, predictor=predictor)
        two = be.evaluate(at_once, measures, estimator=estimator, predictor=predictor)
        assert not one["contributed"].sel(run="c")  # what comes later did not contribute
        one, two = (found.drop_vars("contributed") for found in (one, two))
        xr.testing.assert_allclose(one, two, rtol=0, atol=1e-14)


def _labels(collection, design, selected):
    def named(tree, mask):
        topic = tree["pair_topic"].to_numpy()[mask]
        return np.char.add(
            np.char.add(tree["topic"].to_numpy()[topic], "/"), tree["document"].to_numpy()[mask]
        )

    everything = np.ones(collection.sizes["pair"], dtype=bool)
    return named(collection, everything), named(design, selected.to_numpy())


def test_a_design_survives_its_file(tmp_path, collection):
    for design in (
        be.designs.pps_strata(collection, budget=5, n_strata=2),
        be.designs.uniform_strata(collection, budget=5, n_strata=2, random_seed=3),
        be.designs.poisson(collection, budget=5),
    ):
        be.save_design(design, tmp_path / "design.nc")
        xr.testing.assert_identical(be.read_design(tmp_path / "design.nc"), design)


def test_reveal_hides_what_was_not_selected_and_keeps_the_seeds(collection):
    design = be.designs.uniform_strata(collection, budget=5, n_strata=2, random_seed=11)
    selected = be.draw(design, n_replicates=4, random_seed=12)
    sampled = be.reveal(collection, design, selected)
    grade = sampled["judgments/grade"]
    truth = collection["judgments/grade"].to_numpy()
    np.testing.assert_array_equal(~np.isnan(grade), selected)
    np.testing.assert_array_equal(grade, np.where(selected, truth, np.nan))
    assert sampled["judgments"].attrs["draw_seed"] == 12
    assert sampled["design"].attrs["seed"] == 11
    assert not np.isnan(collection["judgments/grade"]).any(), "the truth must stay as it was"


def test_late_runs_may_bring_several_topics_that_the_design_lacks(collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2, pool_depth=3)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=3))
    late = pd.DataFrame(
        {"run": "late", "topic": list("1089"), "document": "d0", "score": [1.0, 1.0, 1.0, 1.0]}
    )
    grown = be.add_runs(sampled, late)
    topics = grown["topic"].to_numpy()
    assert {"0", "8", "9"} <= set(topics.tolist())
    strata = topics[grown["design/stratum_topic"].to_numpy()]
    before = sampled["topic"].to_numpy()[sampled["design/stratum_topic"].to_numpy()]
    assert strata.tolist() == before.tolist()
    with pytest.warns(UserWarning, match="no judgment yet"):
        score = be.evaluate(grown, "P@3", estimator="dyn").estimate
    own = be.evaluate(sampled, "P@3", estimator="dyn").estimate
    kept = score.sel(topic=own.topic, run=own.run)
    np.testing.assert_allclose(kept, own, atol=1e-12)


def test_a_collection_is_no_mask_of_certain_pairs(collection):
    with pytest.raises(ValueError, match=r"such as collection\['judg.*notnull.., not a collection"):
        be.designs.pps_strata(collection, budget=5, certain=collection)


def test_grades_of_spam_that_are_left_out_are_told(collection):
    design = be.designs.poisson(collection, budget=5)
    judged = qrels_of(collection, be.draw(design, random_seed=3))
    judged["grade"] = [-2, *judged["grade"][1:]]
    with pytest.warns(UserWarning) as said:
        be.attach_judgments(collection, design, judged)
    assert any("1 of" in str(one.message) and "below -1" in str(one.message) for one in said)


def test_a_deterministic_design_needs_no_draw(collection):
    pool = be.designs.depth_pool(collection, 2)
    pooled = be.reveal(collection, pool)
    assert (pooled["judgments/grade"].notnull() == (pool.inclusion_probability > 0)).all()
    with pytest.raises(ValueError, match="design is deterministic; estimators that exist"):
        be.evaluate(pooled, "P@3", estimator="stat")


def test_a_design_that_holds_its_sample_needs_none_beside_it(collection):
    drawn = be.designs.pps_strata(collection, budget=4, n_strata=2)
    counted = be.designs.with_replacement(collection, budget=4)
    for design, name in ((drawn, "selected"), (counted, "draw_count")):
        with pytest.raises(ValueError, match="the design has no sample; give selected"):
            be.reveal(collection, design)
        sample = be.draw(design, random_seed=1)
        held = be.reveal(collection, design.assign({name: sample}))
        xr.testing.assert_identical(
            held["judgments"].to_dataset(),
            be.reveal(collection, design, sample)["judgments"].to_dataset(),
        )
    options = {"budget": 4, "n_strata": 2, "n_stages": 1}
    staged = be.designs.dynamic_stage(collection, **options, random_seed=1)
    assert int(be.reveal(collection, staged)["judgments/grade"].notnull().sum()) == int(
        staged["selected"].sum()
    )


def test_judgments_that_are_not_those_of_the_sample_are_refused(collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2, pool_depth=3)
    selected = be.draw(design, random_seed=3)
    good = qrels_of(collection, selected)
    known = design.assign(selected=selected)
    told = "no judgment for 1 of the selected pairs.*: judge them .* that is not finished$"
    with pytest.raises(ValueError, match=told):
        be.attach_judgments(collection, known, good.iloc[1:])
    junk = good.assign(grade=[-2, *good["grade"][1:]])
    told = "judge them .*; 1 of these have a negative grade, which counts as not judged"
    told += " unless negative_grades='judged'"
    with pytest.raises(ValueError, match=told):
        be.attach_judgments(collection, known, junk)
    spam = be.attach_judgments(collection, known, junk, negative_grades="judged")
    assert np.nanmin(spam["judgments/grade"]) == -2
    zero = be.attach_judgments(collection, known, junk.replace({"grade": {-2: 0}}))
    for estimator in ("stat", "dyn"):
        scores = [be.evaluate(one, ["P@3", "RBP"], estimator=estimator) for one in (spam, zero)]
        xr.testing.assert_equal(scores[0]["estimate"], scores[1]["estimate"])
    other = be.draw(design, random_seed=4)
    assert not other.identical(selected)
    with pytest.raises(ValueError, match="pairs that were"):
        be.attach_judgments(collection, known, qrels_of(collection, other))
    with pytest.raises(ValueError, match=r"stratum \d+ .topic '1'. where\s+the design drew"):
        be.attach_judgments(collection, design, good.iloc[1:])
    near = good.assign(document=[good["document"].iloc[0].upper() + " ", *good["document"][1:]])
    with pytest.raises(ValueError, match="; it is 'd[0-9]' but for blanks, zeros at its"):
        be.attach_judgments(collection, known, near)
    stray = pd.DataFrame({"topic": ["1"], "document": ["elsewhere"], "grade": [1]})
    with pytest.raises(ValueError, match="inclusion probability 0.*'elsewhere'.*another sample"):
        be.attach_judgments(collection, design, pd.concat([good, stray]))
    for given in ([good.iloc[1:]], good.iloc[1:].groupby("topic").apply(by_document).to_dict()):
        with pytest.raises(ValueError, match="^the set of judgments has no judgment for 1 of"):
            be.attach_judgments(collection, known, given)


@pytest.mark.parametrize(
    ("scheme", "options", "n_others", "told"),
    [
        ("pps_strata", {"n_strata": 2}, 0, "; 3 of these came with certain: give both files"),
        ("poisson", {"budget": 4}, 1, "; at least 2 of these came with certain: give both files"),
        ("poisson", {"budget": 6}, 3, ": judge them .* not finished$"),
    ],
)
def test_judgments_that_lack_the_certain_pairs_are_told_so(
    collection, scheme, options, n_others, told
):
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[[3, 8, 12]] = True
    options = {"budget": 6, "certain": certain} | options
    design = getattr(be.designs, scheme)(collection, **options)
    if scheme == "poisson":  # others are as sure as the certain ones, and no stratum tells
        assert int((design.inclusion_probability == 1).sum()) == 3 + n_others
    selected = be.draw(design, random_seed=3)
    new = qrels_of(collection, selected.to_numpy() & ~certain)
    with pytest.raises(ValueError, match=f"no judgment for 3 .*{told}"):
        be.attach_judgments(collection, design.assign(selected=selected), new)


def test_a_design_of_another_collection_is_refused(collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2)
    judged = qrels_of(collection, be.draw(design, random_seed=3))
    runs = run_frame("ab")
    foreign = be.read_collection(None, runs.assign(topic="9" + runs.topic))
    with pytest.raises(ValueError, match="does not belong to this collection: none of its topics"):
        be.attach_judgments(foreign, design, judged)
    mixed = pd.concat([runs, runs.assign(run="z" + runs.run, topic="0" + runs.topic)])
    with pytest.raises(
        ValueError, match="run 'za' has no topic in common with the design; it has "
    ):
        be.attach_judgments(be.read_collection(None, mixed), design, judged)
    with pytest.raises(ValueError, match="run 'za' has no topic in common with the judgments"):
        be.read_collection(judged, mixed)
    floating = "; the column topic with '1.0' holds floating-point numbers"
    with pytest.raises(ValueError, match=f"no topic in common with the design; .*{floating}"):
        other = judged.assign(topic=judged.topic.astype(float).map(str))
        be.attach_judgments(be.read_collection(None, runs), design, other)
    for kept, told in ((runs.iloc[:0], "none of its topics"), (runs, "run 'za' has no topic")):
        late = runs.assign(run="z" + runs.run).astype({"topic": float})
        both = pd.concat([kept, late.assign(topic=late.topic.map(str))])
        with pytest.raises(ValueError, match=f"{told}.*{floating}"):
            be.attach_judgments(be.read_collection(None, both), design, judged)
    foreign = be.read_collection(None, runs.assign(document="x" + runs.document))
    with pytest.raises(ValueError, match="no document of its frame occurs"):
        be.attach_judgments(foreign, design, judged)
    with pytest.raises(ValueError, match="selected must be bool with the pairs of the design last"):
        be.reveal(collection, design, be.draw(design, random_seed=1).isel(pair=np.s_[1:]))


def test_a_damaged_design_file_is_refused(tmp_path, collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2)
    path = tmp_path / "design.nc"
    be.save_design(design.assign(stratum_size=design.stratum_size + 1), path)
    with pytest.raises(
        ValueError, match="stratum 0 of topic .* is said to have 4 documents, .* but has 3 rows"
    ):
        be.read_design(path)
    for factor, told in (
        (2, r"must lie in \(0, 1\]; topic '1' document"),
        (0.5, "3 of 3 documents are drawn from stratum 0, so .* topic '1' document 'd0' has 0.5"),
    ):
        changed = design.inclusion_probability * factor
        be.save_design(design.assign(inclusion_probability=changed), path)
        with pytest.raises(ValueError, match=told):
            be.read_design(path)
    path.write_text("topic document\n")
    with pytest.raises(ValueError, match="not a design file"):
        be.read_design(path)
    with pytest.raises(FileNotFoundError, match="no design file"):
        be.read_design(tmp_path / "absent.nc")


def test_selected_pairs_without_a_grade_are_refused_or_counted_as_not_relevant(collection):
    truth = collection["judgments/grade"].to_numpy().copy()
    truth[4] = np.nan
    judgments = collection["judgments"].to_dataset(inherit=False).assign(grade=("pair", truth))
    tree = with_node(collection, "judgments", judgments)
    design = be.designs.pps_strata(tree, budget=17, n_strata=1, frame="retrieved")
    with pytest.raises(ValueError, match="1 selected pairs have no grade.*topic '1' document 'd4'"):
        be.reveal(tree, design, be.draw(design, random_seed=1))
    filled = be.reveal(tree, design, be.draw(design, random_seed=1), unjudged="nonrelevant")
    assert filled["judgments/grade"].to_numpy()[4] == 0


def test_a_run_added_later_does_not_move_the_others(collection):
    rankings = be.read_collection(None, run_frame("ab"))
    design = be.designs.pps_strata(rankings, budget=5, n_strata=2)
    selected = be.draw(design, random_seed=3)
    judged = qrels_of(collection, np.isin(*_labels(collection, design, selected)))
    early = be.attach_judgments(rankings, design, judged)
    late = be.add_runs(early, run_frame("c"))
    assert late["contributed"].to_numpy().tolist() == [True, True, False]
    for predictor in ("rank_logistic", "pooled"):
        one = be.evaluate(early, ["P@3", "AP"], estimator="dyn", predictor=predictor)
        two = be.evaluate(late, ["P@3", "AP"], estimator="dyn", predictor=predictor)
        two = two.sel(run=["a", "b"])
        xr.testing.assert_allclose(one.estimate, two.estimate, rtol=0, atol=1e-14)
    fewer = be.attach_judgments(be.read_collection(None, run_frame("ac")), design, judged)
    with pytest.warns(UserWarning, match="1 of the 2 runs that the design was made from"):
        be.evaluate(fewer, "P@3", estimator="dyn")
    others = be.attach_judgments(be.read_collection(None, run_frame("c")), design, judged)
    with pytest.warns(UserWarning, match="none of the runs that the design was made from is in"):
        be.evaluate(others, "P@3", estimator="dyn")


def test_a_topic_not_judged_yet_is_nan_and_the_rest_goes_on(collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2)
    selected = be.draw(design, random_seed=3)
    judged = qrels_of(collection, selected).query("topic == '1'")
    rankings = be.read_collection(None, run_frame("abc"))
    sampled = be.attach_judgments(rankings, design.assign(selected=selected), judged)
    with pytest.warns(UserWarning, match="1 topic has no judgment"):
        scores = be.evaluate(sampled, "P@3", estimator="stat")
    assert scores.estimate.sel(topic="1").notnull().all()
    assert scores.estimate.sel(topic="2").isnull().all()


def test_grades_that_cannot_be_given_are_refused_and_those_that_can_are_kept(collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2)
    judged = qrels_of(collection, be.draw(design, random_seed=3))
    rankings = be.read_collection(None, run_frame("abc"))
    sampled = be.attach_judgments(rankings, design, judged, grades=[0, 1, 2, 3])
    assert sampled["judgments"].attrs["grade_scale"] == "[0.0, 1.0, 2.0, 3.0]"
    with pytest.raises(ValueError, match="has grade 2 for topic '1' document.*allowed: 0, 1"):
        be.attach_judgments(rankings, design, judged, grades=[0, 1])


def test_a_sample_may_be_an_array_in_any_order_of_dims(collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2)
    many = be.draw(design, n_replicates=17, random_seed=1)
    straight = be.reveal(collection, design, many)
    turned = be.reveal(collection, design, many.transpose("pair", "replicate"))
    xr.testing.assert_identical(straight["judgments/grade"], turned["judgments/grade"])
    plain = be.reveal(collection, collection_design(straight), many.to_numpy()[0])
    np.testing.assert_array_equal(plain["judgments/grade"], straight["judgments/grade"][0])


def collection_design(sampled) -> xr.Dataset:
    return sampled.children["design"].to_dataset(inherit=False)


def test_a_topic_of_a_poisson_sample_that_waits_for_its_judgments_scores_nan(collection):
    design = be.designs.poisson(collection, budget=4)
    selected = be.draw(design, random_seed=3)
    both = qrels_of(collection, selected)
    assert set(both["topic"]) == {"1", "2"}
    known = design.assign(selected=selected)
    rankings = be.read_collection(None, run_frame("ab"))
    partly = be.attach_judgments(rankings, known, both[both["topic"] == "1"])
    with pytest.warns(
        UserWarning,
        match="1 topic has no judgment yet and is left out: '2'; means are over 1 topic$",
    ):
        scores = be.evaluate(partly, "P@3", estimator="stat").estimate
    assert scores.sel(topic="1").notnull().all() and scores.sel(topic="2").isnull().all()
    whole = be.attach_judgments(rankings, known, both)
    assert be.evaluate(whole, "P@3", estimator="stat").estimate.notnull().all()
    with pytest.warns(UserWarning, match="does not record which pairs were selected"):
        be.attach_judgments(rankings, design, both.iloc[1:])
