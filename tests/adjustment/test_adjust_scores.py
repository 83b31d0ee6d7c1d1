"""Both algorithms on small collections, against the paper's pseudocode written out with sets."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.adjustment.algorithms import adjusted_by_runs
from bayeseval.collection import pair_positions
from tests.adjustment.toy import (
    POOL_DEPTH,
    POOLED,
    TEAMS,
    TOPICS,
    UNPOOLED,
    algorithm_1,
    algorithm_2,
    random_grades,
    random_lists,
    top,
    toy_collection,
)

WEIGHTS = {"P@3": np.repeat(1 / 3, 3), "RBP(p=0.8)@4": 0.2 * 0.8 ** np.arange(4)}
SEEDS = range(4)
SPREAD = (11, 17, 26, 27)  # topics 1 and 3 do not show the same bias, of either run on either base


def drawn(seed, common=()):
    lists, grades = random_lists(seed), random_grades(seed)
    return lists, grades, toy_collection(lists, grades, common)


@pytest.mark.parametrize("leave_out", ["run", "team"])
@pytest.mark.parametrize("base", ["nonrelevant", "condensed"])
@pytest.mark.parametrize("seed", SEEDS)
def test_algorithm_1_is_the_papers_pseudocode(seed, base, leave_out):
    lists, grades, collection = drawn(seed)
    measures = ["P@3", "RBP(p=0.8)@4"]
    result = be.adjust_scores(
        collection, measures=measures, pool_depth=POOL_DEPTH, base=base, leave_out=leave_out
    )
    for measure in measures:
        for r in UNPOOLED:
            expected = algorithm_1(lists, grades, r, WEIGHTS[measure], base, leave_out)
            place = {"measure": measure, "run": r}
            found = result.bias.sel(place).sel(left_out=list(POOLED))
            assert found.values == pytest.approx(list(expected.values()), abs=1e-12)
            mean = np.mean(list(expected.values()))
            assert result.adjustment.sel(place).item() == pytest.approx(mean, abs=1e-12)
    xr.testing.assert_allclose(result.adjusted, result.unadjusted + result.adjustment)


@pytest.mark.parametrize("base", ["nonrelevant", "condensed"])
@pytest.mark.parametrize("seed", SPREAD)
def test_algorithm_2_is_the_papers_pseudocode(seed, base):
    common = ("1", "3")
    lists, grades, collection = drawn(seed, common)
    result = be.adjust_scores(
        collection,
        common_topics=common,
        measures=["P@3", "RBP(p=0.8)@4"],
        pool_depth=POOL_DEPTH,
        base=base,
    )
    for measure in result.measure.values:
        for r in UNPOOLED:
            expected = algorithm_2(lists, grades, r, WEIGHTS[measure], base, common)
            for name, value in expected.items():
                found = result[name].sel(measure=measure, run=r).item()
                assert found == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("base", ["nonrelevant", "condensed"])
def test_the_adjusted_score_is_unbiased_over_every_pair_of_common_topics(base):
    lists, grades = random_lists(8), random_grades(8)
    full = toy_collection(lists, grades, TOPICS)
    truth = be.evaluate(full, "RBP(p=0.8)@4", estimator="assumed").estimate.mean("topic")
    pairs = [(a, b) for i, a in enumerate(TOPICS) for b in TOPICS[i + 1 :]]
    found = [
        be.adjust_scores(
            toy_collection(lists, grades, pair),
            common_topics=pair,
            measures="RBP(p=0.8)@4",
            pool_depth=POOL_DEPTH,
            base=base,
        ).adjusted
        for pair in pairs
    ]
    mean = sum(found) / len(found)
    expected = truth.sel(run=list(UNPOOLED)).values
    assert mean.values == pytest.approx(expected, abs=1e-12)
    assert be.adjust_scores(  # nothing random is left when every topic is common
        full,
        common_topics=TOPICS,
        measures="RBP(p=0.8)@4",
        pool_depth=POOL_DEPTH,
        base=base,
    ).adjusted.values == pytest.approx(expected, abs=1e-12)


def lacking_topics():
    """Runs a and b have both judged topics, c and new the first, late the second; P@2 by hand."""
    lists = {
        ("a", "1"): "pqx", ("b", "1"): "qrx", ("c", "1"): "pqx", ("new", "1"): "psx",
        ("a", "2"): "tux", ("b", "2"): "vwx", ("late", "2"): "tsx", ("a", "3"): "x",
    }  # fmt: skip
    runs = pd.DataFrame(
        [(run, topic, d, -i) for (run, topic), ds in lists.items() for i, d in enumerate(ds)],
        columns=["run", "topic", "document", "score"],
    )
    qrels = pd.DataFrame(
        [(topic, d, 1) for topic, ds in {"1": "pqr", "2": "tuvw"}.items() for d in ds],
        columns=["topic", "document", "grade"],
    )
    names = ["a", "b", "c", "new", "late"]
    table = pd.DataFrame({"run": names, "contributed": [True, True, True, False, False]})
    return be.read_collection(qrels, runs, run_table=table)


@pytest.mark.filterwarnings("ignore:.*ha(ve|s) no judgment:UserWarning")
def test_skipped_topics_of_an_unpooled_run_do_not_count_in_the_biases_either():
    options = {"measures": "P@2", "pool_depth": 2}
    result = be.adjust_scores(lacking_topics(), missing_topics="skip", **options).squeeze()
    bias = result.bias.sel(left_out=["a", "b", "c"])
    # topic 1: a and c share all, b alone has r; topic 2: late has t, so a loses u and b both
    assert bias.sel(run="new").values.tolist() == [0.0, 0.5, 0.0]
    assert bias.sel(run="late").values == pytest.approx([0.5, 1.0, np.nan], nan_ok=True)
    assert result.unadjusted.sel(run=["new", "late"]).values.tolist() == [0.5, 0.5]
    assert result.adjusted.sel(run=["new", "late"]).values == pytest.approx([0.5 + 0.5 / 3, 1.25])
    late = result.sel(run="late")
    assert late.standard_error.item() == pytest.approx(np.sqrt(0.125 * (1 + 1 / 2)))
    assert late.adjustment_error.item() == pytest.approx(np.sqrt(0.125 / 2))
    half = 6.313752 * late.standard_error.item()  # Student's t with 1 degree of freedom
    assert late.interval.values == pytest.approx([1.25 - half, 1.25 + half], abs=1e-5)
    zero = be.adjust_scores(lacking_topics(), **options).squeeze()
    assert zero.bias.sel(run="new", left_out=["a", "b", "c"]).values.tolist() == [0.5, 0.75, 0.0]


@pytest.mark.filterwarnings("ignore:.*ha(ve|s) no judgment:UserWarning")
def test_a_run_without_any_score_has_no_adjustment_and_no_confidence():
    lone = pd.DataFrame({"run": ["lone"], "topic": "3", "document": "y", "score": [1.0]})
    collection = be.add_runs(lacking_topics(), lone, contributed=False)
    options = {"measures": "P@2", "pool_depth": 2, "missing_topics": "skip"}
    result = be.adjust_scores(collection, **options).squeeze()
    for name in ("unadjusted", "adjustment", "adjusted", "standard_error", "confidence", "helps"):
        assert np.isnan(result[name].sel(run="lone").item()), name
    before = be.adjust_scores(lacking_topics(), **options).squeeze()
    xr.testing.assert_allclose(result.sel(run=["new", "late"]), before)


def test_judgments_that_exist_anyway_are_treated_alike_on_common_and_other_topics():
    lists, grades = random_lists(5), random_grades(5)
    options = {"common_topics": ["2", "4"], "pool_depth": POOL_DEPTH}
    few = be.adjust_scores(toy_collection(lists, grades, ["2", "4"]), **options)
    all_known = be.adjust_scores(toy_collection(lists, grades, TOPICS), **options)
    xr.testing.assert_allclose(few, all_known)


def test_judgments_made_before_can_be_named():
    lists, grades = random_lists(5), random_grades(5)
    full = toy_collection(lists, grades, TOPICS)
    first = be.trec.qrels_frame(toy_collection(lists, grades))
    before = np.zeros(full.sizes["pair"], dtype=bool)
    before[pair_positions(full, first["topic"], first["document"])] = True
    mask = xr.DataArray(before, dims="pair")
    options = {"common_topics": ["2", "4"], "pool_depth": POOL_DEPTH}
    xr.testing.assert_allclose(
        be.adjust_scores(full, judged_before=mask, **options), be.adjust_scores(full, **options)
    )
    xr.testing.assert_allclose(
        be.adjust_scores(full, judged_before=first, **options), be.adjust_scores(full, **options)
    )
    first_only = be.adjust_scores(toy_collection(lists, grades), pool_depth=POOL_DEPTH)
    restricted = be.adjust_scores(full, judged_before=mask, pool_depth=POOL_DEPTH)
    xr.testing.assert_allclose(first_only, restricted)
    with pytest.raises(ValueError, match="judged_before must be a bool array"):
        be.adjust_scores(full, judged_before=mask.astype(float), **options)


def test_ratios_count_the_relevant_documents_that_the_pool_still_holds():
    lists, grades, collection = drawn(3)
    result = be.adjust_scores(collection, unpooled="x", measures="AP", pool_depth=POOL_DEPTH)
    for s in POOLED:  # by hand: judge without the documents that s alone pools, x beside it
        rows = be.trec.qrels_frame(collection)
        others = [run for run in POOLED if run != s] + ["x"]
        kept = [
            any(d in lists[run, t][:POOL_DEPTH] for run in others)
            for t, d in zip(rows["topic"], rows["document"], strict=True)
        ]
        runs = be.trec.runs_frame(be.select(collection, runs=[s]))
        means = [
            be.evaluate(be.read_collection(q, runs), "AP", estimator="assumed").estimate.mean()
            for q in (rows, rows[kept])
        ]
        bias = result.bias.sel(measure="AP", run="x", left_out=s).item()
        assert bias == pytest.approx((means[0] - means[1]).item(), abs=1e-12)


def test_rbp_weights_are_cut_at_ten_and_not_renormalised():
    documents = [f"d{i:02d}" for i in range(20)]
    runs = pd.DataFrame(
        {"run": "a", "topic": "1", "document": documents, "score": -np.arange(20.0)}
    )
    runs = pd.concat([runs, runs.assign(run="b"), runs.assign(run="new")])
    qrels = pd.DataFrame({"topic": "1", "document": documents, "grade": 1})
    table = pd.DataFrame({"run": ["a", "b", "new"], "contributed": [True, True, False]})
    with pytest.warns(UserWarning, match="every document that 1 of the unpooled.*'new'"):
        result = be.adjust_scores(be.read_collection(qrels, runs, run_table=table))
    assert result.measure.values.tolist() == ["RBP(p=0.8)@10"]
    assert result.unadjusted.item() == pytest.approx(1 - 0.8**10, abs=1e-12)
    assert (result.adjustment.item(), result.helps.item()) == (0.0, False)


def test_assessed_documents_from_beyond_the_evaluation_depth_move_up():
    rankings = {"a": "pq", "b": "rs", "new": "uvpqrw"}
    runs = pd.DataFrame(
        [(run, "1", d, -i) for run, ds in rankings.items() for i, d in enumerate(ds)],
        columns=["run", "topic", "document", "score"],
    )
    qrels = pd.DataFrame({"topic": "1", "document": list("pqrs"), "grade": [1, 0, 1, 1]})
    table = pd.DataFrame({"run": list(rankings), "contributed": [True, True, False]})
    collection = be.read_collection(qrels, runs, run_table=table)
    options = {"measures": ["P@2", "P@4"], "pool_depth": 2}
    plain = be.adjust_scores(collection, **options).unadjusted.values.ravel()
    condensed = be.adjust_scores(collection, base="condensed", **options).unadjusted.values.ravel()
    assert plain.tolist() == [0.0, 0.25]
    assert condensed.tolist() == [0.5, 0.5]  # p, q and p, q, r, nothing


def test_an_adjustment_that_equals_its_error_does_not_help():
    """One of three runs has a bias: the mean is a third of it, and so is its error."""
    random = np.random.default_rng(1)
    bias = xr.DataArray(random.random((50, 1, 3)), dims=("measure", "run", "left_out"))
    unadjusted = xr.zeros_like(bias.isel(left_out=0))
    alone = bias * xr.DataArray([0.0, 0.0, 1.0], dims="left_out")
    result = adjusted_by_runs(unadjusted, alone, np.arange(3), ci_prob=0.9)
    off = result.adjustment_error - result.adjustment
    assert (off < 0).any() and (off > 0).any() and (abs(off) < 1e-15).all()
    assert (result.helps == 0).all()
    more = alone + xr.DataArray([0.0, 1e-6, 0.0], dims="left_out")
    assert (adjusted_by_runs(unadjusted, more, np.arange(3), ci_prob=0.9).helps == 1).all()


def test_the_error_of_algorithm_1_is_that_of_predicting_one_more_run():
    lists, grades, collection = drawn(1)
    result = be.adjust_scores(collection, unpooled="x", pool_depth=POOL_DEPTH).squeeze()
    bias = result.bias.values
    assert result.standard_error.item() == pytest.approx(bias.std(ddof=1) * np.sqrt(1 + 1 / 4))
    assert result.adjustment_error.item() == pytest.approx(bias.std(ddof=1) / 2)
    assert result.helps.item() == (bias.std(ddof=1) / 2 < abs(bias.mean()))
    teams = be.adjust_scores(
        collection, unpooled="x", pool_depth=POOL_DEPTH, leave_out="team"
    ).squeeze()
    bias = teams.bias.to_series()
    centred = (bias - bias.mean()) / 4
    of_team = centred.groupby([TEAMS[run] for run in bias.index]).sum()
    of_mean = 3 / 2 * (of_team**2).sum()
    assert teams.adjustment_error.item() == pytest.approx(np.sqrt(of_mean))
    spread = ((bias - bias.mean()) ** 2).mean()
    assert teams.standard_error.item() == pytest.approx(np.sqrt(spread + 2 * of_mean))


def test_a_run_is_adjusted_alike_alone_and_among_others():
    lists, grades, collection = drawn(5)
    both = be.adjust_scores(collection, pool_depth=POOL_DEPTH)
    alone = be.adjust_scores(collection, unpooled=["y"], pool_depth=POOL_DEPTH)
    assert both.run.values.tolist() == list(UNPOOLED)
    xr.testing.assert_allclose(both.sel(run=["y"]), alone)


def test_a_topic_without_judgment_is_left_out_with_one_warning():
    lists, grades, collection = drawn(5)
    rows = be.trec.qrels_frame(collection)
    table = pd.DataFrame(
        {"run": [*POOLED, *UNPOOLED], "contributed": [run in POOLED for run in POOLED + UNPOOLED]}
    )
    runs = be.trec.runs_frame(collection)
    less = be.read_collection(rows[rows["topic"] != "2"], runs, run_table=table)
    with pytest.warns(
        UserWarning, match="1 topic has no judgment yet and is left out: '2'"
    ) as said:
        result = be.adjust_scores(less, pool_depth=POOL_DEPTH)
    assert len(said) == 1
    without = be.read_collection(
        rows[rows["topic"] != "2"], runs[runs["topic"] != "2"], run_table=table
    )
    xr.testing.assert_allclose(result, be.adjust_scores(without, pool_depth=POOL_DEPTH))


def exchangeable(seed, names, n_unpooled):
    """Runs alike of which all 8 were judged to depth 5, those named kept, the last unpooled."""
    random = np.random.default_rng(seed)
    relevant = random.random((12, 40)) < 0.3
    key = random.normal(size=(8, 12, 40)) + relevant
    lists = np.argsort(-key)[:, :, :10]
    rows = [
        (str(t), f"d{d}", int(relevant[t, d])) for t in range(12) for d in {*lists[:, t, :5].flat}
    ]
    qrels = pd.DataFrame(rows, columns=["topic", "document", "grade"])
    ranked = [
        (f"r{r}", str(t), f"d{d}", -rank)
        for r in names for t in range(12) for rank, d in enumerate(lists[r, t])
    ]  # fmt: skip
    runs = pd.DataFrame(ranked, columns=["run", "topic", "document", "score"])
    table = pd.DataFrame({"run": [f"r{r}" for r in names]})
    table["contributed"] = table.index < len(table) - n_unpooled
    return be.read_collection(qrels, runs, run_table=table)


@pytest.mark.parametrize(("names", "n_unpooled"), [(range(8), 2), (range(4), 1)])
def test_runs_that_were_judged_after_all_are_warned_of_and_not_paid_twice(names, n_unpooled):
    errors = []
    for seed in range(6):  # all runs in sight, or half of those that were pooled
        collection = exchangeable(seed, names, n_unpooled)
        with pytest.warns(UserWarning, match=f"every document that {n_unpooled} of the unpooled"):
            result = be.adjust_scores(collection, measures="P@5", pool_depth=5)
        true = be.evaluate(collection, "P@5", estimator="assumed").estimate.mean("topic")
        true = true.sel(run=result.run)
        assert (result.unadjusted < true).all()
        assert result.attrs["judged_set_aside"] > 0
        errors.append(
            [(part - true).mean().item() for part in (result.adjusted, result.unadjusted)]
        )
    (adjusted, unadjusted), spread = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1)
    assert abs(adjusted) < 3 * spread[0] / np.sqrt(6)
    assert unadjusted < -3 * spread[0] / np.sqrt(6)


def test_named_judgments_that_leave_no_gap_are_warned_of_and_none_is_set_aside():
    collection = exchangeable(0, range(4), 1)
    every = be.trec.qrels_frame(collection)
    with pytest.warns(UserWarning, match="adjusted ones can lie beyond"):
        result = be.adjust_scores(collection, judged_before=every, measures="P@5", pool_depth=5)
    true = be.evaluate(collection, "P@5", estimator="assumed").estimate.mean("topic")
    assert result.unadjusted.item() == pytest.approx(true.sel(run="r3").item())
    assert result.adjusted.item() > result.unadjusted.item()
    assert result.attrs["judged_set_aside"] == 0


@pytest.mark.parametrize("base", ["nonrelevant", "condensed"])
def test_judgments_of_unpooled_runs_are_no_part_of_the_pool_in_either_algorithm(base):
    lists, grades = random_lists(4), random_grades(4)
    options = {"pool_depth": POOL_DEPTH, "base": base, "measures": ["P@3", "AP"]}
    few = be.adjust_scores(toy_collection(lists, grades), **options)
    more = be.adjust_scores(toy_collection(lists, grades, ["1", "3"]), **options)
    xr.testing.assert_allclose(few, more)
    assert few.attrs["judged_set_aside"] == 0 < more.attrs["judged_set_aside"]
    alone = be.adjust_scores(toy_collection(lists, grades, ["1", "3"]), unpooled=["y"], **options)
    xr.testing.assert_allclose(more.sel(run=["y"]), alone)


def test_documents_that_the_common_topics_lack_are_counted():
    lists, grades, collection = drawn(5)  # nobody judged the unpooled runs anywhere
    known = {t: set().union(*(lists[r, t][:POOL_DEPTH] for r in POOLED)) for t in TOPICS}
    lacking = [len(set(lists[r, t][:POOL_DEPTH]) - known[t]) for r in UNPOOLED for t in ("1", "2")]
    with pytest.warns(UserWarning, match=f"^{sum(lacking)} documents that unpooled runs return"):
        be.adjust_scores(collection, common_topics=["1", "2"], pool_depth=POOL_DEPTH)


def test_a_pool_depth_below_what_was_judged_is_warned_of_with_the_depth_that_was():
    lists, grades, collection = drawn(1)
    known = {t: set().union(*(lists[r, t][:POOL_DEPTH] for r in POOLED)) for t in TOPICS}
    lacking = [lists[r, t][i] not in known[t] for i in range(6) for r in POOLED for t in TOPICS]
    assert sum(lacking) >= 0.1 * len(lacking)
    said = f"^{sum(lacking)} of 96 documents that pooled runs return to depth 6.*down to depth 3,"
    with pytest.warns(UserWarning, match=said) as warned:
        be.adjust_scores(collection, pool_depth=6)
    assert len(warned) == 1
    be.adjust_scores(collection, pool_depth=3)  # warnings are errors: no word where all is judged


def test_holes_of_a_few_per_cent_in_the_pool_are_not_warned_of():
    lists, grades, collection = drawn(1)
    rows = be.trec.qrels_frame(collection)
    tops = [(t, d) for r in POOLED for t in TOPICS for d in lists[r, t][:POOL_DEPTH]]
    times = pd.Series(tops).value_counts()
    once = [pair for pair in times.index if times[pair] == 1]
    runs, table = be.trec.runs_frame(collection), pd.DataFrame({"run": [*POOLED, *UNPOOLED]})
    table["contributed"] = table["run"].isin(POOLED)

    def without(number):
        gone = pd.MultiIndex.from_tuples(once[:number])
        kept = rows[~pd.MultiIndex.from_frame(rows[["topic", "document"]]).isin(gone)]
        return be.read_collection(kept, runs, run_table=table)

    be.adjust_scores(without(4), pool_depth=POOL_DEPTH)  # 4 of 48
    with pytest.warns(UserWarning, match="^5 of 48 documents that pooled runs return"):
        be.adjust_scores(without(5), pool_depth=POOL_DEPTH)


def test_a_pool_without_judgments_at_rank_1_has_no_depth_to_name():
    lists, grades, collection = drawn(1)
    first = {(t, lists[r, t][0]) for r in POOLED for t in TOPICS}
    rows = be.trec.qrels_frame(collection)
    kept = [pair not in first for pair in zip(rows["topic"], rows["document"], strict=True)]
    with pytest.warns(UserWarning, match="not even at rank 1 are they judged"):
        be.adjust_scores(collection, judged_before=rows[kept], pool_depth=POOL_DEPTH)


def test_judgments_made_before_may_have_whole_numbers_for_labels_and_must_match_some():
    lists, grades = random_lists(5), random_grades(5)
    full = toy_collection(lists, grades, TOPICS)
    runs, rows = be.trec.runs_frame(full), be.trec.qrels_frame(full)
    runs["document"], rows["document"] = (f["document"].str[1:].astype(int) for f in (runs, rows))
    table = pd.DataFrame({"run": [*POOLED, *UNPOOLED]})
    table["contributed"] = table["run"].isin(POOLED)
    numbered = be.read_collection(rows, runs, run_table=table)
    first = be.trec.qrels_frame(toy_collection(lists, grades))
    by_number = pd.DataFrame(
        {"topic": first["topic"].astype(int), "document": first["document"].str[1:].astype(int)}
    )
    options = {"common_topics": ["2", "4"], "pool_depth": POOL_DEPTH}
    expected = be.adjust_scores(full, judged_before=first, **options)
    found = be.adjust_scores(numbered, judged_before=by_number, **options)
    xr.testing.assert_allclose(found, expected)
    assert found.judged_set_aside == expected.judged_set_aside > 0
    with pytest.raises(ValueError, match="no document that the collection has; its first row is"):
        be.adjust_scores(full, judged_before=by_number, **options)
    with pytest.raises(ValueError, match="judged_before DataFrame has no column 'document'"):
        be.adjust_scores(full, judged_before=first[["topic"]], **options)


MISTAKES = [
    ({"unpooled": "z"}, "unknown: z"),
    ({"unpooled": []}, "none given"),
    ({"unpooled": "a"}, "run 'a' contributed to the pool"),
    ({"common_topics": ["9"]}, "unknown: 9"),
    ({"base": "bpref"}, "base must be one of nonrelevant, condensed"),
    ({"leave_out": "topic"}, "leave_out must be one of run, team"),
    ({"measures": "Bpref"}, "Bpref is no sum of relevances"),
    ({"pool_depth": 0}, "pool_depth is 0; allowed: a whole number, 1 or more"),
    ({"missing_topics": "drop"}, "missing_topics must be one of"),
]


@pytest.mark.parametrize(("options", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_mistakes_are_named(options, said):
    collection = drawn(0)[2]
    with pytest.raises(ValueError, match=said):
        be.adjust_scores(collection, **{"pool_depth": POOL_DEPTH} | options)


def test_collections_that_cannot_be_adjusted_are_refused():
    lists, grades, collection = drawn(0)
    runs, rows = be.trec.runs_frame(collection), be.trec.qrels_frame(collection)
    everyone = be.read_collection(rows, runs)
    with pytest.raises(ValueError, match="every run of the collection contributed"):
        be.adjust_scores(everyone)
    nobody = pd.DataFrame({"run": [*POOLED, *UNPOOLED], "contributed": False})
    with pytest.raises(ValueError, match="no run of the collection contributed"):
        be.adjust_scores(be.read_collection(rows, runs, run_table=nobody))
    one = nobody.assign(contributed=nobody["run"] == "a")
    with pytest.raises(ValueError, match="at least two runs in the pool"):
        be.adjust_scores(be.read_collection(rows, runs, run_table=one), pool_depth=POOL_DEPTH)
    two = be.read_collection(rows, runs, run_table=nobody.assign(contributed=nobody["run"] < "e"))
    with pytest.raises(ValueError, match="run 'a' has none"):
        be.adjust_scores(two, leave_out="team", pool_depth=POOL_DEPTH)
    design = be.designs.uniform_strata(collection, budget=4, n_strata=2, random_seed=1)
    sample = be.reveal(collection, design, be.draw(design, random_seed=1))
    with pytest.raises(ValueError, match="random sample \\(stratified\\)"):
        be.adjust_scores(sample)
    with pytest.raises(ValueError, match="no runs to evaluate"):
        be.adjust_scores(be.read_collection(rows))


@pytest.mark.parametrize("base", ["nonrelevant", "condensed"])
def test_common_topics_on_which_nothing_of_a_run_was_judged_anew_give_it_no_error(base):
    lists, grades = random_lists(SPREAD[0]), random_grades(SPREAD[0])
    both, one = toy_collection(lists, grades, ("1", "3")), toy_collection(lists, grades)
    options = {"common_topics": ("1", "3"), "measures": "P@3", "pool_depth": POOL_DEPTH}
    options |= {"base": base}
    known = be.adjust_scores(both, **options)
    assert known["standard_error"].notnull().all()
    assert known["interval"].attrs["ci_prob"] == 0.9
    with pytest.warns(UserWarning, match="has no error for 2 of the runs, .* the first is 'x'"):
        unknown = be.adjust_scores(one, **options)
    errors = ("standard_error", "interval", "helps", "confidence")
    for name in (*errors, "bootstrap_interval", "bootstrap_confidence"):
        assert unknown[name].isnull().all(), name
        assert unknown[name].dims == known[name].dims
        assert unknown[name].attrs == known[name].attrs
    assert unknown["adjusted"].notnull().all()


def test_a_run_whose_documents_were_all_judged_before_has_an_error_of_nothing():
    lists, grades = random_lists(0), random_grades(0)
    for topic in TOPICS:
        lists["x", topic] = lists["a", topic]
    options = {"common_topics": ("1", "3"), "measures": "P@3", "pool_depth": POOL_DEPTH}
    with pytest.warns(UserWarning, match="has no error for 1 of the runs, .* the first is 'y'"):
        found = be.adjust_scores(toy_collection(lists, grades), **options)
    assert found["standard_error"].sel(run="x").item() == 0
    assert found["standard_error"].sel(run="y").isnull().all()


ERRORS = ("standard_error", "interval", "helps", "confidence")
OF_BOOTSTRAP = ("bootstrap_interval", "bootstrap_confidence")


def no_relevant_ones(lists, grades, run, common):
    """What `run` returns beyond the pool is not relevant on the common topics, and is elsewhere."""
    pool = {t: set().union(*(lists[p, t][:POOL_DEPTH] for p in POOLED)) for t in TOPICS}
    alone = {(t, d) for t in TOPICS for d in set(lists[run, t][:POOL_DEPTH]) - pool[t]}
    assert set(common) < {t for t, _ in alone}
    return grades | {(t, d): int(t not in common) for t, d in alone}


@pytest.mark.parametrize("measure", ["P@3", "RBP(p=0.8)@4", "AP"])
def test_no_relevant_document_on_the_common_topics_does_not_make_the_score_certain(measure):
    seed, common = SPREAD[0], ("1", "3")
    lists = random_lists(seed)
    grades = no_relevant_ones(lists, random_grades(seed), "x", common)
    grades |= {(t, d): 0 for t in common for d in top(lists, "y", t)}  # which AP divides by
    options = {"measures": measure, "pool_depth": POOL_DEPTH}
    known = toy_collection(lists, grades, common)
    said = "no error for 1 of the 1 unpooled runs by some measure, the first is 'x'.*base='condens"
    with pytest.warns(UserWarning, match=said) as warned:
        found = be.adjust_scores(known, unpooled="x", common_topics=common, **options)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    truth = be.evaluate(toy_collection(lists, grades, TOPICS), measure, estimator="assumed")
    truth = truth.estimate.mean("topic").sel(run="x").item()
    assert found.adjusted.item() == found.unadjusted.item() < truth - 0.05
    for name in (*ERRORS, *OF_BOOTSTRAP):
        assert found[name].isnull().all(), name
    assert found.common_mean_error.notnull().all()
    assert found.interval.attrs == {"ci_prob": 0.9, "ci_kind": "central"}
    every = be.adjust_scores(
        toy_collection(lists, grades, TOPICS), unpooled="x", common_topics=TOPICS, **options
    )
    assert every.adjusted.item() == pytest.approx(truth, abs=1e-12)
    assert every.standard_error.item() == 0 and every.confidence.item() == 1


def test_one_run_without_spread_takes_no_error_from_the_others():
    seed, common = SPREAD[0], ("1", "3")
    lists = random_lists(seed)
    grades = no_relevant_ones(lists, random_grades(seed), "x", common)
    options = {"common_topics": common, "pool_depth": POOL_DEPTH}
    options["measures"] = ["P@3", "RBP(p=0.8)@4"]
    collection = toy_collection(lists, grades, common)
    with pytest.warns(UserWarning, match="for 1 of the 2 unpooled runs by some measure, .* 'x'"):
        both = be.adjust_scores(collection, **options)
    alone = be.adjust_scores(collection, unpooled="y", **options)
    xr.testing.assert_identical(both.sel(run=["y"]), alone)
    assert alone.standard_error.notnull().all()
    assert both.standard_error.sel(run="x").isnull().all()


def test_the_same_bias_on_condensed_lists_has_no_error_and_no_word_of_condensing():
    lists, grades = random_lists(1), random_grades(1) | {(t, f"d{n:02d}"): 0 for t in "13"
                                                         for n in range(12)}  # fmt: skip
    options = {"common_topics": ("1", "3"), "measures": "P@3", "pool_depth": POOL_DEPTH}
    with pytest.warns(UserWarning, match="no error for 2 of the 2 unpooled runs") as said:
        found = be.adjust_scores(
            toy_collection(lists, grades, ("1", "3")), base="condensed", **options
        )
    assert "condensed" not in str(said[0].message)
    assert found.standard_error.isnull().all()


@pytest.mark.filterwarnings("ignore:.* have no judgment and count as non-relevant:UserWarning")
@pytest.mark.parametrize("base", ["nonrelevant", "condensed"])
def test_a_run_judged_on_all_other_topics_is_known_without_error(base):
    """As deep as the measure looks: what it does not count needs no judgment."""
    common, lists, grades = ("1", "3"), random_lists(SPREAD[0]), random_grades(SPREAD[0])
    for topic in ("2", "4"):
        lists["x", topic] = lists["a", topic]
    grades |= {(t, d): 0 for t in common for d in lists["x", t]}
    collection = toy_collection(lists, grades, common)
    options = {"common_topics": common, "base": base}
    for measure, depth in (("P@3", POOL_DEPTH), ("AP", POOL_DEPTH), ("P@3", POOL_DEPTH + 1)):
        if (measure, base) == ("AP", "condensed"):
            continue  # it looks at what moves up from beyond the pool
        found = be.adjust_scores(
            collection, unpooled="x", measures=measure, pool_depth=depth, **options
        )
        assert (found.standard_error.item(), found.confidence.item()) == (0, 0)
        assert found.interval.values.ravel().tolist() == [found.adjusted.item()] * 2
    with pytest.warns(UserWarning, match="the adjustment has no error for 1 of the 1"):
        deeper = be.adjust_scores(
            collection, "P@4", unpooled="x", pool_depth=POOL_DEPTH + 1, **options
        )
    assert deeper.standard_error.isnull().all()
