"""Scores of other tools: read alike whatever their form, and as good as runs and judgments."""

import json
import os
import subprocess
import sys
import time

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
import xarray as xr

import bayeseval as be
from bayeseval.reporting import report

TABLE = pd.DataFrame(
    [
        ("a", "q1", "P@10", 0.5), ("a", "q1", "F1", 0.25), ("a", "q2", "P@10", 0.75),
        ("a", "q2", "F1", 0.5), ("b", "q1", "P@10", 0.125), ("b", "q1", "F1", 1.0),
        ("b", "q2", "P@10", 0.0), ("b", "q2", "F1", 0.625),
    ],
    columns=["run", "topic", "measure", "score"],
)  # fmt: skip
NESTED = {
    run: {
        topic: dict(zip(rows["measure"], rows["score"], strict=True))
        for topic, rows in of_run.groupby("topic")
    }
    for run, of_run in TABLE.groupby("run")
}
THEIRS = TABLE.rename(columns={"run": "System", "topic": "q_id", "score": "Value"})
TREC_EVAL = TABLE.assign(measure=TABLE["measure"].replace("P@10", "P_10"))


def lines(run, columns, *more):
    rows = TREC_EVAL.loc[TREC_EVAL["run"] == run, columns].astype(str).to_numpy().tolist()
    return "\n".join("\t".join(row) for row in [*rows, *more]) + "\n"


def in_files(folder, **texts):
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


def trec_eval(folder):
    of_run = ["measure", "topic", "score"]
    more = ["relstring_10", "q1", "0101"], ["runid", "all", "a"], ["P_10", "all", "0.625"]
    last = ["num_q", "all", "2"], ["P_10", "all", "0.0625"]
    return in_files(folder, **{"x.txt": lines("a", of_run, *more), "b": lines("b", of_run, *last)})


def ir_measures_lines(folder):
    return in_files(folder, **{run: lines(run, ["topic", "measure", "score"]) for run in "ab"})


def of_bayeseval(folder):
    text = "".join(f"runid all {run}\n" + lines(run, ["measure", "topic", "score"]) for run in "ab")
    return in_files(folder, both=text + "P_10 all .0625\n")


def table_files(folder, name, text):
    (folder / name).write_text(text)
    return str(folder / "*")


FORMS = {
    "frame": lambda folder: TABLE,
    "names of others": lambda folder: THEIRS.assign(MRR=1.0),
    "index": lambda folder: TABLE.set_index(["run", "topic"]),
    "pytrec_eval": lambda folder: NESTED,
    "frames by run": lambda folder: {
        run: rows.drop(columns="run") for run, rows in TABLE.groupby("run")
    },
    "list of frames": lambda folder: [TABLE.iloc[:3], TABLE.iloc[3:]],
    "csv": lambda folder: table_files(folder, "s.csv", THEIRS.to_csv()),
    "tsv": lambda folder: table_files(folder, "s.tsv", TABLE.to_csv(sep="\t", index=False)),
    "json lines": lambda folder: table_files(
        folder, "s.jsonl", THEIRS.to_json(orient="records", lines=True)
    ),
    "json": lambda folder: table_files(folder, "s.json", json.dumps(NESTED)),
    "trec_eval -q": trec_eval,
    "ir_measures -q": ir_measures_lines,
    "trec_eval by bayeseval": of_bayeseval,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_scores_is_read_alike(form, tmp_path):
    found = be.read_scores(FORMS[form](tmp_path))
    xr.testing.assert_identical(found, be.read_scores(TABLE))
    assert found["measure"].values.tolist() == ["P@10", "F1"]
    assert found["estimate"].sel(measure="F1", run="b", topic="q2").item() == 0.625


def test_a_compressed_file_is_read(tmp_path):
    TABLE.to_csv(tmp_path / "s.csv.gz", index=False)
    xr.testing.assert_identical(be.read_scores(tmp_path / "s.csv.gz"), be.read_scores(TABLE))


WIDE = TABLE.loc[TABLE["measure"] == "P@10"].pivot(index="topic", columns="run", values="score")
WIDES = {
    "index": lambda folder: WIDE,
    "column": lambda folder: WIDE.reset_index(),
    "dict": lambda folder: {run: WIDE[run].to_dict() for run in WIDE},
    "csv": lambda folder: table_files(folder, "s.csv", WIDE.to_csv()),
    "csv of an index without a name": lambda folder: table_files(
        folder, "s.csv", WIDE.rename_axis(None).to_csv()
    ),
    "json": lambda folder: table_files(folder, "s.json", json.dumps(WIDE.to_dict())),
}


@pytest.mark.parametrize("form", WIDES)
def test_a_column_for_each_run_is_read_alike(form, tmp_path):
    found = be.read_scores(WIDES[form](tmp_path), measure="precision@10")
    xr.testing.assert_identical(found, be.read_scores(TABLE, measure="P_10"))


def test_topics_without_names_are_numbered_from_1(tmp_path):
    (tmp_path / "s.csv").write_text("a,b\n.5,.25\n.75,0\n")
    for scores in (tmp_path / "s.csv", WIDE.reset_index(drop=True)):
        assert be.read_scores(scores, measure="x").topic.values.tolist() == ["1", "2"]


def test_scores_of_pytrec_eval_and_ir_measures_are_those_of_evaluate():
    qrels = {"1": {"x": 1, "y": 0}, "2": {"x": 0, "y": 2, "z": 1}}
    runs = {
        "bm25": {"1": {"x": 2.0, "y": 1.0}, "2": {"x": 3.0, "y": 2.0, "z": 1.0}},
        "dense": {"1": {"y": 2.0, "x": 1.0}, "2": {"z": 3.0, "x": 1.0}},
    }
    expected = be.evaluate(be.read_collection(qrels, runs), ["AP", "nDCG@10"], estimator="assumed")
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut_10"})
    theirs = be.read_scores({name: evaluator.evaluate(run) for name, run in runs.items()})
    measures = [ir_measures.AP, ir_measures.nDCG @ 10]
    by_run = {name: ir_measures.iter_calc(measures, qrels, run) for name, run in runs.items()}
    frames = [
        pd.DataFrame(ir_measures.iter_calc(measures, qrels, run)).assign(system=name)
        for name, run in runs.items()
    ]
    for scores in (theirs, be.read_scores(by_run), be.read_scores(frames)):
        found = scores.sel({name: expected[name] for name in ("measure", "run", "topic")})
        np.testing.assert_allclose(found["estimate"], expected["estimate"])


OF_RANX = """
import sys, json, pandas as pd, ranx, bayeseval as be
qrels = ranx.Qrels({"1": {"x": 1}, "2": {"y": 1}})
runs = [
    ranx.Run({"1": {"x": 2.0, "y": 1.0}, "2": {"x": 3.0, "y": 2.0}}, name="bm25"),
    ranx.Run({"1": {"y": 2.0, "x": 1.0}, "2": {"y": 3.0}}, name="dense"),
]
for run in runs:
    ranx.evaluate(qrels, run, ["mrr"])
table = pd.DataFrame({run.name: run.scores["mrr"] for run in runs})
print(be.to_frame(be.read_scores(table, measure="mrr"))[["run", "topic", "estimate"]].to_json())
"""


def test_scores_of_ranx_are_a_table_of_runs():
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # it compiles for half a minute
    command = [sys.executable, "-W", "ignore", "-c", OF_RANX]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    rows = pd.DataFrame(json.loads(done.stdout))
    assert rows["run"].tolist() == ["bm25", "bm25", "dense", "dense"]
    np.testing.assert_allclose(rows["estimate"], [1.0, 0.5, 0.5, 1.0])


BAD = [
    ("run,topic,score\na,1,.5\n", {}, r"s.csv has no column 'measure' \(or metric\); it needs run"),
    ("a,b\n1,2\n", {}, "has no column 'run' .* and has a, b. Of a table with a column for each"),
    ("run,topic,topic,score\na,1,1,.5\n", {"measure": "P@5"}, "more than one column 'topic'"),
    ("run,topic,score\n", {"measure": "P@5"}, "there is no score of a topic"),
    ("run,topic,score\na,1,x\n", {"measure": "P@5"},
     r"s.csv, line 2 \(run 'a', topic '1', measure P@5\): score 'x' is not a finite number"),
    ("run,topic,score\na,1,.5\n\na,2,\n", {"measure": "P@5"}, "line 4 .*is not a finite number"),
    ("a,b\n.5,inf\n", {"measure": "P@5"}, "line 2 .run 'b', topic '1'.* score 'inf' is not"),
    ("run,topic,score\na,1,.5\nb,1,.5\na,1,.6\n", {"measure": "P@5"},
     "line 4 .run 'a', topic '1'.*there is a score already, in .*s.csv, line 2; a run has one"),
    ("run,topic,score\na,,.5\n", {"measure": "P@5"}, "line 2 .*the topic is missing or empty"),
    ("run,topic,score\na,1,.5,9\n", {"measure": "P@5"}, "Expected 3 fields in line 2, saw 4"),
    ("run,topic,measure,score\na,1,P@5,.5\n", {"measure": "AP"}, "the measure AP; there are P@5"),
    ("run,topic,score\na,1,.5\n", {"measure": "P@5", "topic_groups": "task"}, "no column 'task'"),
    ("a,b\n1,2\n3,4\n", {"measure": "P@5", "topic_groups": {"1": "x"}}, "group of every topic"),
    ("map\t1\t.5\nmap\tall\tnan\nmap\t2\tx\n", {}, "line 3 .*score 'x' is not a finite number"),
    ("one 1 .5\ntwo 2 .5\n", {}, "which of the first two fields is the measure cannot be told"),
    ("map 1 .5\nmap 2 .5 more\n", {}, "every line must have 3 fields"),
    ('[{"run": "a"}]', {}, "has no column 'topic'"),
    ("", {}, "is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "asked", "message"), BAD)
def test_a_bad_file_is_refused_in_one_sentence(text, asked, message, tmp_path):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        be.read_scores(tmp_path / "s.csv", **asked)


def test_what_is_no_table_is_refused():
    for nothing in ({}, []):
        with pytest.raises(ValueError, match="at least one is needed|no column"):
            be.read_scores(nothing)
    with pytest.raises(TypeError, match="scores must be a path, .* not int"):
        be.read_scores(3)
    with pytest.raises(ValueError, match="scores DataFrame, row 2 .*there is a score already"):
        be.read_scores(pd.concat([TABLE.iloc[:2], TABLE.iloc[:1]]))


@pytest.fixture(scope="module")
def known():
    """A collection, its scores by `assumed`, and the same scores as those of another tool."""
    collection = be.simulate.urn_collection(
        [0.05, 0.06, 0.1, 0.3], n_topics=12, prevalence=0.1, random_seed=1
    )
    scores = be.evaluate(collection, ["P@10", "AP"], estimator="assumed")
    frame = be.to_frame(scores)[["measure", "run", "topic", "estimate"]]
    return collection, scores, be.read_scores(frame.rename(columns={"estimate": "score"}))


def given_alone(pairs):
    """What scores alone can say of differences: not how much was judged."""
    return pairs.drop_vars(["outside_weight_a", "outside_weight_b"])


def test_comparisons_ranks_and_means_are_those_of_the_collection(known):
    collection, scores, given = known
    np.testing.assert_array_equal(given["estimate"], scores["estimate"])
    groups = {topic: int(topic) % 4 for topic in scores["topic"].values}
    measures = ["P@10", "AP"]
    for asked in (
        {"n_permutations": 500, "random_seed": 3},
        {"reference": "run002", "equivalence": 0.05, "prior": "flat", "n_permutations": 99},
        {"topic_groups": groups, "n_permutations": 99},
    ):
        expected = be.compare(collection, measures, estimator="assumed", **asked)
        for source in (given, scores):
            found = be.compare(source, **asked)
            assert found.attrs["population"] == "topics"
            xr.testing.assert_equal(found[list(given_alone(expected))], given_alone(expected))
    for asked in ({"top": 1}, {"simultaneous": False, "topic_groups": groups}):
        expected = be.rank(collection, measures, estimator="assumed", **asked)
        found = be.rank(given, **asked)
        xr.testing.assert_equal(found, expected[list(found)].drop_vars(["contributed", "team"]))
    for asked in ({}, {"topic_groups": groups, "ci_prob": 0.5}):
        expected = be.scores(collection, measures, **asked)
        for found in (
            be.scores(given, **asked),
            be.mean_over_topics(given, population="topics", **asked),
        ):
            for name in ("estimate", "standard_error", "degrees_of_freedom", "interval"):
                np.testing.assert_array_equal(found[name], expected[name])


def test_means_have_the_scores_of_topics_beside_them(known):
    given = known[2]
    found = be.scores(given, per_topic=True)
    np.testing.assert_array_equal(found["topic_estimate"], given["estimate"])


def test_scores_without_spread_are_warned_of():
    apart = TABLE.assign(score=TABLE["run"].map({"a": 1.0, "b": 0.5}))
    given = be.read_scores(apart)
    for call in (be.compare, be.rank, be.scores, be.plan):
        with pytest.warns(UserWarning, match="topics show no spread"):
            call(given)


def test_what_scores_per_topic_do_not_have_is_refused(known):
    given = known[2]
    for call in (be.compare, be.rank, be.scores, be.plan, report):
        seed = {"random_seed": 1} if call is report else {}
        with pytest.raises(ValueError, match="measures is for a collection"):
            call(given, "AP", **seed)
    with pytest.raises(ValueError, match="anytime is for a collection"):
        be.compare(given, anytime=True)
    with pytest.raises(ValueError, match="a plan is made from a collection, or from scores per"):
        be.plan(be.scores(given))
    with pytest.raises(ValueError, match="a report takes a collection, or scores that be.read"):
        report(known[1], random_seed=1)
    with pytest.raises(ValueError, match="budget must be a whole number, or a list"):
        be.plan(known[0], "AP", random_seed=1)


def test_plans_are_students_intervals_of_more_topics(known):
    given = known[2]
    planned = be.plan(given, n_topics=[12, 48], half_width=0.03)
    here = be.scores(given)["interval"].diff("ci_bound").isel(ci_bound=0, drop=True) / 2.0
    np.testing.assert_allclose(planned["half_width"].sel(n_topics=12), here)
    np.testing.assert_allclose(
        planned["error"].sel(n_topics=48), planned["error"].sel(n_topics=12) / 2.0
    )
    pairs = be.compare(given, n_permutations=9)["standard_error"].median("comparison")
    np.testing.assert_allclose(planned["difference_error"].sel(n_topics=12), pairs)
    for label in ("P@10", "AP"):
        needed = int(planned["topics_needed"].sel(measure=label))
        near = be.plan(given.sel(measure=[label]), n_topics=[needed - 1, needed])
        half = near["half_width"].median("run").isel(measure=0).values
        assert half[0] > 0.03 >= half[1]


def test_a_run_that_lacks_topics_is_named_once_and_compared_on_common_ones():
    lacking = TABLE.drop(index=[6, 7])
    with pytest.warns(UserWarning, match="1 of 2 runs lack scores .* run b lacks most, 1 of 2 to"):
        found = be.read_scores(lacking)
    assert found["estimate"].sel(run="b", topic="q2").isnull().all()
    wide = pd.DataFrame({"a": [0.1, 0.2, 0.4], "b": [0.2, 0.4, np.nan]})
    with pytest.warns(UserWarning, match="lack scores of topics"):
        found = be.read_scores(wide, measure="F1")
    assert be.scores(found)["n_topics"].values.tolist() == [[3, 2]]
    assert be.compare(found, n_permutations=9)["estimate"].item() == pytest.approx(-0.15)
    with pytest.raises(ValueError, match="an order of runs needs a score of every run"):
        be.rank(found)
    assert "There are no ranks" in report(found, random_seed=1)


TASKS = pd.DataFrame({
    "run": ["a"] * 5 + ["b"] * 5,
    "task": ["nq", "nq", "nq", "fever", "quora"] * 2,
    "query": ["1", "2", "3", "1", "1"] * 2,
    "value": [0.2, 0.4, 0.6, 0.7, 0.1, 0.1, 0.1, 0.1, 0.5, 0.9],
})  # fmt: skip


def test_tasks_take_the_place_of_topics():
    scores = be.read_scores(TASKS, measure="ndcg@10", topic_groups="task")
    assert scores["topic"].values.tolist() == ["nq", "fever", "quora"]
    np.testing.assert_allclose(scores["estimate"].sel(run="a"), [[0.4, 0.7, 0.1]])
    mean = be.scores(scores).sel(run="a")
    assert mean["estimate"].item() == pytest.approx(0.4)
    assert mean["standard_error"].item() == pytest.approx(0.3 / np.sqrt(3.0))
    assert mean["degrees_of_freedom"].item() == 2.0
    named = TASKS.assign(query=TASKS["task"] + TASKS["query"])
    groups = dict(zip(named["query"], named["task"], strict=True))
    for asked in (groups, pd.Series(groups), pd.Series(groups).rename_axis("x").to_xarray()):
        found = be.read_scores(named, measure="ndcg@10", topic_groups=asked)
        xr.testing.assert_identical(found, scores)
    with pytest.raises(ValueError, match="Topics of tasks that share their names need topic_group"):
        be.read_scores(TASKS, measure="ndcg@10")


def test_a_task_of_which_a_run_lacks_a_topic_has_no_score_of_it():
    with pytest.warns(UserWarning, match="a task of which a run lacks a topic has no score of it"):
        scores = be.read_scores(TASKS.drop(index=[5]), measure="ndcg@10", topic_groups="task")
    assert scores["estimate"].isnull().sel(run="b").values.tolist() == [[True, False, False]]


def test_real_scores_are_ranked_in_seconds(real_data):
    scores = be.read_scores(real_data / "trec8" / "adhoc8_ap.csv", measure="AP")
    assert scores.sizes["run"] == 129 and scores.sizes["topic"] == 50
    start = time.perf_counter()
    ranked = be.rank(scores)
    assert time.perf_counter() - start < 60.0
    expected = be.rankings.rank_sets(scores, simultaneous=True)
    np.testing.assert_array_equal(ranked["interval"], expected["interval"])
    assert ranked["separated"].sum() > 2000


def test_measures_that_stand_outside_are_known_by_their_names(tmp_path):
    inside = {"a": {"1": {"ndcg@10": 0.5, "map": 0.2}, "2": {"ndcg@10": 0.7, "map": 0.4}}}
    outside = {"a": {"ndcg@10": {"1": 0.5, "2": 0.7}, "map": {"1": 0.2, "2": 0.4}}}
    one, other = be.read_scores(inside), be.read_scores(outside)
    xr.testing.assert_identical(one, other.sel(measure=one.measure, topic=one.topic))
    (tmp_path / "bm25.txt").write_text("1\tAP\t0.2\n2\tAP\t0.4\n")
    assert be.read_scores(str(tmp_path / "bm25.txt")).run.values.tolist() == ["bm25"]
