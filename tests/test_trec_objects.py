"""What other packages hold runs and judgments in is read as the same collection."""

import gzip
import os
import subprocess
import sys
from types import SimpleNamespace

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
import xarray as xr

import bayeseval as be

QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 0, "d": 1}}
BM25 = {"1": {"a": 1.5, "b": 3.0, "c": 0.25}, "2": {"d": 1.0, "a": 2.0}}
DENSE = {"1": {"c": 9.0, "a": 8.0}, "2": {"d": 3.5}}


def rows(table):
    return [(t, d, x) for t, documents in table.items() for d, x in documents.items()]


def frame(table, *names):
    return pd.DataFrame(rows(table), columns=list(names))


@pytest.fixture(scope="module")
def expected():
    qrels = frame(QRELS, "topic", "document", "grade")
    runs = [frame(run, "topic", "document", "score").assign(run=name)
            for name, run in (("bm25", BM25), ("dense", DENSE))]  # fmt: skip
    return be.read_collection(qrels, pd.concat(runs))


JUDGMENTS = {
    "dict": lambda: QRELS,
    "PyTerrier": lambda: frame(QRELS, "qid", "docno", "label"),
    "ir_measures": lambda: frame(QRELS, "query_id", "doc_id", "relevance"),
    "tuples": lambda: [ir_measures.Qrel(*row) for row in rows(QRELS)],
    "generator": lambda: (ir_measures.Qrel(*row) for row in rows(QRELS)),
    "ir_datasets": lambda: SimpleNamespace(
        qrels_iter=lambda: iter([ir_measures.Qrel(*row) for row in rows(QRELS)])
    ),
}
RUNS = {
    "dict of dicts": lambda: {"bm25": BM25, "dense": DENSE},
    "PyTerrier": lambda: {
        "bm25": frame(BM25, "qid", "docno", "score").assign(docid=7, rank=0, query="words"),
        "dense": frame(DENSE, "qid", "docno", "score"),
    },
    "ir_measures": lambda: pd.concat(
        [frame(BM25, "query_id", "doc_id", "score").assign(run="bm25"),
         frame(DENSE, "query_id", "doc_id", "score").assign(run="dense")]
    ),
    "tuples": lambda: {"bm25": [ir_measures.ScoredDoc(*row) for row in rows(BM25)],
                       "dense": (ir_measures.ScoredDoc(*row) for row in rows(DENSE))},
    "ir_datasets": lambda: {
        "bm25": SimpleNamespace(
            scoreddocs_iter=lambda: (ir_measures.ScoredDoc(*row) for row in rows(BM25))
        ),
        "dense": DENSE,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGMENTS)
def test_judgments_of_other_packages_are_read_alike(name, expected):
    found = be.read_collection(JUDGMENTS[name](), {"bm25": BM25, "dense": DENSE})
    xr.testing.assert_identical(found, expected)


@pytest.mark.parametrize("name", RUNS)
def test_runs_of_other_packages_are_read_alike(name, expected):
    xr.testing.assert_identical(be.read_collection(QRELS, RUNS[name]()), expected)


# ranx compiles its dictionaries for half a minute: here in a process that compiles nothing
OF_RANX = f"""
import sys, ranx, bayeseval as be
qrels, bm25, dense = {QRELS}, {BM25}, {DENSE}
runs = [ranx.Run(bm25, name="bm25"), ranx.Run(dense, name="dense")]
be.save_collection(be.read_collection(ranx.Qrels(qrels), runs), sys.argv[1])
be.save_collection(be.read_collection(qrels, ranx.Run(bm25, name="mine")), sys.argv[2])
"""


def test_judgments_and_runs_of_ranx_are_read_alike_and_keep_their_names(expected, tmp_path):
    both, alone = tmp_path / "both.nc", tmp_path / "alone.nc"
    subprocess.run(
        [sys.executable, "-c", OF_RANX, both, alone],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=True,
    )
    xr.testing.assert_identical(be.open_collection(both), expected)
    assert be.open_collection(alone)["run"].to_numpy().tolist() == ["mine"]


def test_one_run_needs_no_name():
    assert be.read_collection(QRELS, BM25)["run"].to_numpy().tolist() == ["run"]


def test_runs_are_added_and_topics_without_documents_are_fine(expected):
    empty = {"1": DENSE["1"], "2": {}}
    grown = be.add_runs(expected, {"new": empty})
    assert grown["run"].to_numpy().tolist() == ["bm25", "dense", "new"]


def test_scores_equal_those_of_the_packages_that_brought_the_data(expected):
    mean = be.evaluate(expected, ["nDCG@10", "AP", "P@2"], estimator="assumed").estimate
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS, {"ndcg_cut_10", "map", "P_2"})
    for run, table in (("bm25", BM25), ("dense", DENSE)):
        theirs = evaluator.evaluate(table)
        for label, name in (("nDCG@10", "ndcg_cut_10"), ("AP", "map"), ("P@2", "P_2")):
            ours = mean.sel(run=run, measure=label).to_series()
            np.testing.assert_allclose([theirs[t][name] for t in ours.index], ours, atol=1e-12)


def text(run, tag):
    return "".join(f"{t} Q0 {d} 0 {x!r} {tag}\n" for t, d, x in rows(run))


def test_files_of_runs_are_named_by_the_keys_of_a_dict(expected, tmp_path):
    (tmp_path / "one").write_text(text(BM25, "same"))
    with gzip.open(tmp_path / "two.gz", "wt") as file:
        file.write(text(DENSE, "same"))
    paths = {"bm25": str(tmp_path / "one"), "dense": tmp_path / "two.gz"}
    for runs in (paths, paths | {"dense": DENSE}, [{name: paths[name]} for name in paths]):
        xr.testing.assert_identical(be.read_collection(QRELS, runs), expected)
    grown = be.add_runs(be.read_collection(QRELS, {"bm25": BM25}), {"dense": tmp_path / "two.gz"})
    np.testing.assert_array_equal(grown["run"], expected["run"])
    (tmp_path / "tagged").write_text(text(DENSE, "bm25"))
    with pytest.warns(UserWarning, match="'bm25' is now 'tagged'"):
        both = be.read_collection(QRELS, [{"bm25": paths["bm25"]}, tmp_path / "tagged"])
    assert both["run"].to_numpy().tolist() == ["bm25", "tagged"]


def test_named_files_are_checked_as_others_are(tmp_path):
    for name in ("one.run", "two.run"):
        (tmp_path / name).write_text(text(BM25, "tag"))
    (tmp_path / "bad").write_text("1 Q0 a 1 high tag\n")
    one = tmp_path / "one.run"
    for runs, message in (
        ({"a": tmp_path / "missing"}, "run file .*missing does not exist"),
        ({"a": tmp_path / "bad"}, "bad, line 1: score 'high' is not a finite number"),
        ({"a": one, "b": one}, "one.run is named twice; once is allowed"),
        ({"a": str(tmp_path / "*.run")}, "run 'a' is one file, and glob .* matches 2"),
        ({1: one, "1": tmp_path / "two.run"}, "two runs are named '1'"),
    ):
        with pytest.raises(ValueError, match=message):
            be.read_collection(QRELS, runs)
    with pytest.raises(TypeError, match="run 'b' must be a path, a DataFrame.*not int"):
        be.read_collection(QRELS, {"a": one, "b": 3})
    with pytest.raises(ValueError, match="run 'a' is in the collection already"):
        be.add_runs(be.read_collection(QRELS, {"a": BM25}), {"a": one})


@pytest.mark.parametrize(
    ("qrels", "runs", "message"),
    [
        ({"1": 2}, None, "a dict of judgments must be .*grade.*, and '1' holds no dict"),
        (QRELS, {"bm25": 3}, "run 'bm25' must be a path, a DataFrame.*not int"),
        ([ir_measures.ScoredDoc("1", "a", 1.0)], None, "query_id, doc_id and relevance"),
        (3, None, "judgments must be a path, a glob, a DataFrame, a dict"),
    ],
)
def test_other_shapes_are_refused(qrels, runs, message):
    with pytest.raises(TypeError, match=message):
        be.read_collection(qrels, runs)


def test_a_frame_without_a_column_says_what_it_has():
    with pytest.raises(ValueError, match="no column 'grade'; it needs .* and has topic, document"):
        be.read_collection(frame(QRELS, "qid", "docno", "x"))


def test_columns_of_frames_are_named_in_any_case():
    qrels = pd.DataFrame({"TOPIC": "1", "Document": ["a", "b"], "GRADE": [1, 0]})
    runs = pd.DataFrame({"Run": "x", "QID": "1", "DocNo": ["a", "b"], "Score": [2.0, 1.0]})
    collection = be.read_collection(qrels, runs)
    assert collection["run"].to_numpy().tolist() == ["x"]
    assert be.evaluate(collection, "P@1", estimator="assumed").estimate.item() == 1.0
    with pytest.raises(ValueError, match="has no column 'topic'"):  # which of the two?
        be.read_collection(qrels.assign(Topic="2"), runs)


IDS = pd.DataFrame({"qid": [1, 1, 2, 2], "docno": [7, 8, 7, 8]})
NUMBERED = (IDS.assign(label=[1, 0, 1, 0]), IDS.assign(score=[2.0, 1.0, 2.0, 1.0]))


def as_kind(table, kind):
    """Table whose ids are of another type, also of floats in a column of objects or categories."""
    for one in kind.split(" within "):
        table = table.astype({"docno": one, "qid": one})
    return table


@pytest.mark.parametrize(
    "kind",
    [
        "float", "float32", "Float64", "uint64", "Int64", "category", "str",
        "float within category", "float within object",
    ],
)  # fmt: skip
def test_documents_that_are_numbers_are_the_same_however_pandas_holds_them(kind):
    """Of one run or of judgments, beside others in a dict: all scored 0 without a word."""
    qrels, run = NUMBERED
    other = as_kind(run, kind)
    beside = be.read_collection(qrels, {"a": run, "b": other})
    listed = be.read_collection(as_kind(qrels, kind), [run.assign(name="a")])
    keys = {float(topic): dict(zip([7.0, 8.0], [2.0, 1.0])) for topic in (1, 2)}
    beside = be.add_runs(beside, {"c": keys})
    added = be.add_runs(listed, {"b": other, "c": run})
    for found in (beside, listed, added):
        np.testing.assert_array_equal(be.evaluate(found, "P@1", estimator="assumed").estimate, 1.0)
        assert found["document"].values.tolist() == ["7", "8"] * 2


def test_numbers_that_floating_point_does_not_hold_are_refused():
    qrels, run = (table.assign(docno=table.docno + 10**18) for table in NUMBERED)
    assert be.read_collection(qrels, run).sizes["pair"] == 4
    with pytest.raises(ValueError, match="document 1000000000000000000 is a floating-point"):
        be.read_collection(qrels, run.astype({"docno": float}))
    qrels, run = (table.assign(docno=table.docno + 2**24) for table in NUMBERED)
    with pytest.raises(ValueError, match="is a floating-point number, which does not hold"):
        be.read_collection(qrels, run.astype({"docno": "float32"}))


@pytest.mark.parametrize("empty", [{}, {"1": {}}, NUMBERED[1].iloc[:0]])
def test_an_empty_run_of_a_dict_is_told_as_an_empty_file_is(empty):
    qrels, run = NUMBERED
    collection = be.read_collection(qrels, run)
    for read in (
        lambda runs: be.read_collection(qrels, runs),
        lambda runs: be.add_runs(collection, runs),
    ):
        with pytest.raises(ValueError, match="run 'failed' is empty; a run needs at least one"):
            read({"found": run, "failed": empty})


def test_a_run_of_ranks_stands_beside_one_of_scores():
    qrels, run = NUMBERED
    ranked = IDS.assign(rank=[1, 2, 1, 2])
    found = be.read_collection(qrels, {"a": run, "b": ranked})
    np.testing.assert_array_equal(*found["rankings/ranking"].to_numpy())


def test_texts_beside_ids_are_not_read():
    """As in files, where the names that others have for a topic and a document come first."""
    qrels, run = NUMBERED
    texts = {"document": ["a text"] * 4, "topic": "a query", "name": ["x", "y", "x", "y"]}
    with pytest.warns(UserWarning, match="column 'name' differs from document to document"):
        found = be.read_collection(qrels.assign(document="a text"), run.assign(**texts))
    xr.testing.assert_identical(
        found["rankings"].to_dataset(), be.read_collection(qrels, run)["rankings"].to_dataset()
    )
    assert found["run"].values.tolist() == ["run"]
    two = pd.concat([run.assign(name="x"), run.assign(name="y")])
    assert be.read_collection(qrels, two)["run"].values.tolist() == ["x", "y"]
    apart = run.assign(docno=[7, 8, 9, 8], run_id=["x", "y", "x", "y"])
    assert be.read_collection(qrels, apart)["run"].values.tolist() == ["x", "y"]
    named = be.read_collection(qrels, {"a": run.assign(**texts)})
    assert named["run"].values.tolist() == ["a"]


def test_tables_of_other_packages_turn_into_data_frames_and_indexes_into_columns():
    qrels, run = NUMBERED
    expected = be.read_collection(qrels, run)
    elsewhere = [SimpleNamespace(to_pandas=lambda table=table: table) for table in (qrels, run)]
    indexed = [table.set_index(["qid", "docno"]) for table in (qrels, run)]
    for found in (elsewhere, indexed):
        xr.testing.assert_identical(be.read_collection(*found), expected)
    beir = qrels.rename(columns={"qid": "query-id", "docno": "corpus-id", "label": "score"})
    xr.testing.assert_identical(
        be.read_collection(beir.set_index(["query-id", "corpus-id"]), run), expected
    )
    for name in (
        "qid",
        "QID",
        "docid",
        "tag",
        "name",
    ):  # beside columns it is no more than an index
        table = run.rename(columns={"qid": "topic"}).rename_axis(name)
        xr.testing.assert_identical(be.read_collection(qrels, table), expected)
    labels = SimpleNamespace(to_pandas=lambda: qrels)
    labelled = be.add_predictions(expected, "gpt", labels)
    np.testing.assert_array_equal(labelled["predictors/gpt"], [1, 0, 1, 0])


@pytest.mark.parametrize("value", ["no", "yes", None, np.nan, 2, "True"])
def test_who_contributed_is_said_by_true_and_false(value):
    qrels, run = NUMBERED
    table = pd.DataFrame({"run": ["a", "b"], "contributed": pd.array([True, value], dtype=object)})
    with pytest.raises(ValueError, match="contributed is .* for run 'b'; it must be True or False"):
        be.read_collection(qrels, {"a": run, "b": run}, run_table=table)
    for known in ([1, 0], [True, False], [1.0, 0.0]):
        found = be.read_collection(
            qrels, {"a": run, "b": run}, run_table=table.assign(contributed=known)
        )
        assert found["contributed"].values.tolist() == [True, False]


def test_a_run_whose_documents_are_written_unalike_is_told():
    qrels = {"1": {f"d{n}": n % 2 for n in range(12)}}
    run = {"1": {f"d{n}": float(n) for n in range(12)}}
    unlike = {"1": {f"x{n}": float(n) for n in range(12)}}
    told = r"no document of run 'b' is among the judged ones: it has 'x11' .* they have 'd0'"
    with pytest.warns(UserWarning, match=told):
        collection = be.read_collection(qrels, {"a": run, "b": unlike})
    told = r"no document of run 'c' is among the judged ones, nor of 1 other run: it has"
    with pytest.warns(UserWarning, match=told):
        be.add_runs(collection, {"c": unlike, "d": unlike, "e": run})
