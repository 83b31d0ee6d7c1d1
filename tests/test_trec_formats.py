"""Objects of other packages, tables and JSON are read as lines of TREC that say the same."""

import gzip
import json
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
    "BEIR": lambda: frame(QRELS, "query-id", "corpus-id", "score"),
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


def test_columns_of_frames_are_named_in_any_case():
    qrels = pd.DataFrame({"TOPIC": "1", "Document": ["a", "b"], "GRADE": [1, 0]})
    runs = pd.DataFrame({"Run": "x", "QID": "1", "DocNo": ["a", "b"], "Score": [2.0, 1.0]})
    collection = be.read_collection(qrels, runs)
    assert collection["run"].to_numpy().tolist() == ["x"]
    assert be.evaluate(collection, "P@1", estimator="assumed").estimate.item() == 1.0


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


def test_numbers_of_many_digits_are_kept_as_they_are():
    qrels, run = (table.assign(docno=table.docno + 10**18) for table in NUMBERED)
    assert be.read_collection(qrels, run).sizes["pair"] == 4


def test_scores_may_be_arrays_of_one_number():
    run = {"r": {"1": {"a": np.array(1.0), "b": np.array(2.0)}}}
    collection = be.read_collection({"1": {"b": 1}}, run)
    assert be.evaluate(collection, "P@1", estimator="assumed").estimate.item() == 1.0
    with pytest.raises(ValueError, match=r"score '\[1. 2.\]' is not a finite number"):
        be.read_collection(None, {"r": {"1": {"a": np.array([1.0, 2.0]), "b": 1.0}}})


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
    for name in ("qid", "QID", "docid", "tag", "name"):  # beside columns it is an index alone
        table = run.rename(columns={"qid": "topic"}).rename_axis(name)
        xr.testing.assert_identical(be.read_collection(qrels, table), expected)
    labels = SimpleNamespace(to_pandas=lambda: qrels)
    labelled = be.add_predictions(expected, "gpt", labels)
    np.testing.assert_array_equal(labelled["predictors/gpt"], [1, 0, 1, 0])


def test_who_contributed_is_said_by_true_and_false_or_1_and_0():
    qrels, run = NUMBERED
    table = pd.DataFrame({"run": ["a", "b"]})
    for known in ([1, 0], [True, False], [1.0, 0.0]):
        found = be.read_collection(
            qrels, {"a": run, "b": run}, run_table=table.assign(contributed=known)
        )
        assert found["contributed"].values.tolist() == [True, False]


GRADES = {"1": {"a": 2, "b": 0}, "2": {"c": 1}}


SCORES = {"1": {"b": 0.25, "a": 1.5}, "2": {"c": 1e-3, "a": -2.0}}


FRAME = pd.DataFrame({"qid": [1, 1, 2], "docno": ["a", "b", "c"], "rel": [2, 0, 1]})


QRELS_FILES = {
    "beir.tsv": "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tc\t1\n",
    "commas.csv": "topic,document,grade\n1,a,2\n1,b,0\n2,c,1\n",
    "ours in capitals": 'Topic;Document;why;Grade\r\n1;a;;2\r\n1;b;"x;y";0\r\n2;c;no;1\r\n',
    "terrier": '\ufeffqid,docno,label,iter\n1,a,"2",0\n\n1,b,0,0\n2,c,1,0\n',
    "header.qrels": "query_id iter doc_id relevance\n1 0 a 2\n1 0 b 0\n2 0 c 1\n",
    "dict.json": json.dumps(GRADES, indent=1),
    "list.json": json.dumps(
        [{"qid": t, "docno": d, "rel": g} for t, of in GRADES.items() for d, g in of.items()]
    ),
    "excel.csv": "sep=;\r\n\r\nQueryID;CORPUS_ID;RELEVANCE;a, b\r\n"
    "1;a;2;\r\n1;b;0;x\r\n2;c;1;\r\n;;;\r\n",
    "ranx.csv": ",q_id,doc_id,score\n0,1,a,2\n1,1,b,0\n2,2,c,1\n",
    "quotes.tsv": 'topic\tdocument\tgrade\twhy\n1\ta\t2\t"Yes, it\n1\tb\t0\tno\n2\tc\t1\tso"\n',
    "comments": "# ours\n\ntopic iter document grade\n# none\n"
    "1 0 a 2\n# 1 0 x 1\n1 0 b 0\n2 0 c 1\n",
    "joined.csv": "topic,document,grade\n1,a,2\n1,b,0\n\ntopic,document,grade\n2,c,1\n",
    "marked.csv": '\ufeff"QID";Rel;Docno\n1;2;a\n\ufeff"QID";Rel;Docno\n1;0;b\n2;1;c\n',
    "joined.qrels": "topic iter document grade\n1 0 a 2\ntopic iter document grade\n"
    "1 0 b 0\n2 0 c 1\n",
    "texts.csv": "qid,topic,docid,document,2nd,rel\n1,why,a,long,1,2\n1,why,b,x,,0\n2,no,c,,,1\n",
    "pandas.json": FRAME.to_json(),
    "index.json": FRAME.to_json(orient="index"),
    "records.json": FRAME.to_json(orient="records"),
    "pretty.json": '{"qid": 1,\n "docno": "a", "rel": 2}\n{\n"qid": "1", "docno": "b", "rel": 0} '
    '{"qid": 2, "docno": "c", "rel": true, "why": "a line\u2028and\x85more"}',
    "lines.jsonl": "".join(
        json.dumps({"topic": int(t), "document": d, "grade": str(g)}) + "\n\n"
        for t, of in GRADES.items()
        for d, g in of.items()
    ),
}


QUERIES = {"star wars": {"11": 3, "12": 0}, "rambo": {"7555": 2, "1370": 1}}
EXPORTS = {
    "quepid.csv": "query,docid,rating\nstar wars,11,3\nstar wars,12,0\nrambo,7555,2\n"
    "rambo,1370,1\n",
    "opensearch.json": {
        "name": "Imported",
        "type": "IMPORT_JUDGMENT",
        "judgmentRatings": [
            {"query": t, "ratings": [{"docId": d, "rating": f"{g}.000"} for d, g in of.items()]}
            for t, of in QUERIES.items()
        ],
    },
    "hits.json": {
        "hits": {
            "hits": [
                {"_source": {"judgments": [
                    {"query": t, "ratings": [{"docId": d, "rating": str(g)} for d, g in of.items()]}
                ]}}
                for t, of in QUERIES.items()
            ]
        }
    },
    "rank_eval.json": {
        "requests": [
            {
                "id": t,
                "request": {"query": {"match": {"text": t}}},
                "ratings": [{"_index": "i", "_id": d, "rating": g} for d, g in of.items()],
            }
            for t, of in QUERIES.items()
        ],
        "metric": {"precision": {"k": 20}},
    },
    "rre.json": {
        "index": "films",
        "id_field": "id",
        "topics": [
            {
                "description": "films",
                "query_groups": [
                    {
                        "name": t,
                        "queries": [{"template": "q.json", "placeholders": {"$query": t}}],
                        "relevant_documents": {d: {"gain": g} for d, g in of.items()},
                    }
                    for t, of in QUERIES.items()
                ],
            }
        ],
    },
    "rre by gain.json": {
        "queries": [
            {"query": t, "relevant_documents": {str(g): [d] for d, g in of.items()}}
            for t, of in QUERIES.items()
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EXPORTS)
def test_judgments_of_search_engine_tools_are_read(name, tmp_path):
    text = EXPORTS[name]
    path = written(tmp_path, name, text if isinstance(text, str) else json.dumps(text, indent=1))
    run = written(
        tmp_path, "r.csv", "query,docid,score\nstar wars,12,2\nstar wars,11,1\nrambo,7555,1\n"
    )
    found = be.read_collection(path, run)
    expected = be.read_collection(
        QUERIES, {"r": {"star wars": {"12": 2, "11": 1}, "rambo": {"7555": 1}}}
    )
    xr.testing.assert_identical(found.to_dict()["/"], expected.to_dict()["/"])
    np.testing.assert_array_equal(found["judgments/grade"], expected["judgments/grade"])
    labelled = be.add_predictions(found, "gpt", path)
    np.testing.assert_array_equal(labelled["predictors/gpt"], found["judgments/grade"])


def test_what_is_rated_without_a_name_is_refused(tmp_path):
    for value, message in (
        (
            {"judgments": [{"query": "x", "ratings": [{"rating": 1}]}]},
            "needs one of the keys docId, doc",
        ),
        (
            {"judgments": [{"ratings": [{"docId": 1, "rating": 1}]}]},
            "needs one of the keys query, name",
        ),
        (
            {"judgments": [{"query": "x", "ratings": [{"docId": "1", "rating": 0.5}]}]},
            "entry 1 .*grade 0.5 is not a whole number",
        ),
    ):
        with pytest.raises(ValueError, match=f"f.json.*{message}"):
            be.read_collection(written(tmp_path, "f.json", json.dumps(value)))


def test_predictions_of_mteb_are_a_run_named_by_the_model(of_lines, tmp_path):
    meta = {"model_name": "org/model", "revision": "abc"}
    value = {"mteb_model_meta": meta, "default": {"test": SCORES}}
    found = be.read_collection(GRADES, written(tmp_path, "p.json", json.dumps(value)))
    assert found["run"].to_numpy().tolist() == ["org/model"]
    np.testing.assert_array_equal(found["rankings/ranking"], of_lines["rankings/ranking"])
    value = {"mteb_model_meta": {}, "default": {"test": SCORES}}
    found = be.read_collection(GRADES, written(tmp_path, "p.json", json.dumps(value)))
    assert found["run"].to_numpy().tolist() == ["p"]
    value["default"]["dev"] = SCORES
    path = written(tmp_path, "p.json", json.dumps(value))
    with pytest.raises(
        ValueError, match="p.json must hold .* one split, and holds default/test, d"
    ):
        be.read_collection(GRADES, path)


RUN_FILES = {
    "r.json": json.dumps(SCORES),
    "r.csv": "qid,docid,rank,score\n1,a,1,1.5\n1,b,2,.25\n2,c,1,1e-3\n2,a,2,-2\n",
    "r": "topic Q0 document rank score\n1 Q0 a 1 1.5\n1 Q0 b 2 .25\n2 Q0 c 1 1e-3\n2 Q0 a 2 -2\n",
    "r.tsv": "query-id\tcorpus-id\tscore\n1\ta\t1.5\n1\tb\t.25\n2\tc\t1e-3\n2\ta\t-2\n",
    "tag.csv": "tag,qid,docid,score\nr,1,a,1.5\nr,1,b,.25\nr,2,c,1e-3\nr,2,a,-2\n",
    "capitals.csv": "SYSTEM,QID,DOCID,SCORE\nr,1,a,1.5\nr,1,b,.25\nr,2,c,1e-3\nr,2,a,-2\n",
    "named.json": json.dumps({"r": SCORES}),
    "joined.csv": "tag,qid,docid,score\nr,1,a,1.5\nr,1,b,.25\ntag,qid,docid,score\n"
    "r,2,c,1e-3\nr,2,a,-2\n",
    "rank.csv": "run,qid,docid,Rank,grade\nr,1,a,1,0\nr,1,b,2,2\nr,2,a,10,1\nr,2,c,2,1\n",
    "zero.csv": "run,qid,docid,position\nr,1,b,1\nr,1,a,0\nr,2,a,1\nr,2,c,0\n",
    "rank.json": json.dumps(
        [
            {"tag": "r", "qid": topic, "docno": document, "rank": rank}
            for topic, document, rank in ((1, "a", 1), (1, "b", 2), (2, "c", 0), (2, "a", "1"))
        ]
    ),
    "both.csv": "tag,qid,docid,rank,score\nr,1,a,2,1.5\nr,1,b,1,.25\nr,2,c,9,1e-3\nr,2,a,8,-2\n",
    "one.json": '{"system": "r", "qid": "1", "docno": "a", "score": 1.5}',
}


@pytest.fixture(scope="module")
def of_lines():
    return be.read_collection(GRADES, {"r": SCORES})


def written(folder, name, text):
    (folder / name).write_text(text, newline="")
    return folder / name


@pytest.mark.parametrize("name", QRELS_FILES)
def test_judgments_are_those_of_a_qrels_file(of_lines, name, tmp_path):
    found = be.read_collection(written(tmp_path, name, QRELS_FILES[name]), {"r": SCORES})
    xr.testing.assert_identical(found, of_lines)


@pytest.mark.parametrize("name", RUN_FILES)
def test_a_run_is_that_of_a_run_file_and_named_by_its_file_where_it_has_no_name(
    of_lines, name, tmp_path
):
    found = be.read_collection(GRADES, written(tmp_path, name, RUN_FILES[name]))
    if name == "one.json":
        of_lines = be.read_collection(GRADES, {"r": {"1": {"a": 1.5}}})
    xr.testing.assert_identical(found, of_lines)


def test_a_file_may_hold_several_runs_and_be_compressed(tmp_path):
    other = {"1": {"a": 1.0}}
    data = json.dumps({"x": SCORES, "y": other}).encode()
    (tmp_path / "both.json.gz").write_bytes(gzip.compress(data))
    plain = written(tmp_path, "z", "1 Q0 b 1 2.0 z\n")
    found = be.read_collection(None, [tmp_path / "both.json.gz", plain])
    same = be.read_collection(None, {"x": SCORES, "y": other, "z": {"1": {"b": 2.0}}})
    xr.testing.assert_identical(found, same)
    with pytest.raises(ValueError, match="run 'mine' is one run, and .*both.json.gz holds 2"):
        be.read_collection(None, {"mine": str(tmp_path / "both.json.gz")})
    paths = [tmp_path / "both.json.gz", written(tmp_path, "x", "1 Q0 b 1 2 x")]
    with pytest.warns(UserWarning, match="names of runs clash"):
        assert be.read_collection(None, paths)["run"].to_numpy().tolist()[:2] == ["x", "y"]


def test_a_dict_names_the_run_of_a_file(of_lines, tmp_path):
    for name in ("r.json", "tag.csv"):
        path = written(tmp_path, name, RUN_FILES[name].replace("r,", "other,"))
        found = be.read_collection(GRADES, {"r": path})
        xr.testing.assert_identical(found, of_lines)


def test_formats_of_samples_have_columns_of_these_names(tmp_path):
    rows = "1 {} a 2 {}\n1 {} b 0 {}\n"
    plain = written(tmp_path, "probs", rows.format(0, 0.5, 0, 1.0))
    headed = written(tmp_path, "p.csv", "qid,docno,rel,probability\n1,a,2,.5\n1,b,0,1\n")
    xr.testing.assert_identical(
        be.read_collection(headed, qrels_format="probs"),
        be.read_collection(plain, qrels_format="probs"),
    )
    plain = written(tmp_path, "sampleval", "1 0 a 3 2\n1 0 b 3 -1\n")
    headed = written(tmp_path, "s.csv", "qid,docno,stratum,rel\n1,a,3,2\n1,b,3,-1\n")
    xr.testing.assert_identical(
        be.read_collection(headed, qrels_format="sampleval"),
        be.read_collection(plain, qrels_format="sampleval"),
    )


def test_missing_grades_of_a_file_are_not_judged(tmp_path):
    path = written(tmp_path, "q.csv", "qid,docno,rel\n1,a,2\n1,b,\n")
    with pytest.warns(UserWarning, match=r"missing \(NaN\) in 1 of 2 rows of .*q.csv, the first"):
        found = be.read_collection(path)
    assert found["judgments/pooled"].to_numpy().tolist() == [True, True]
    assert found["judgments/grade"].isnull().to_numpy().tolist() == [False, True]


def test_names_that_differ_from_line_to_line_are_no_names(of_lines, tmp_path):
    text = "qid,docno,score,name\n1,a,1.5,x\n1,b,.25,y\n2,c,1e-3,z\n2,a,-2,x\n"
    with pytest.warns(UserWarning, match="'name' differs from document to document.*, 'r'"):
        found = be.read_collection(GRADES, written(tmp_path, "r.csv", text))
    xr.testing.assert_identical(found, of_lines)


@pytest.mark.parametrize(
    "line",
    [
        *("[1] {} a {}", "{{a}} {} a {}", " [x {} a {}", "qid {} docid {}"),
        *("topic {} document {}", "x {} a,b;c {}"),
    ],
)
def test_lines_of_trec_stay_so_whatever_they_begin_with(line, tmp_path):
    """Only the grade, or rank and score, tell a line from a header."""
    topic, document = line.split()[0].replace("{{a}}", "{a}"), line.split()[2]
    qrels = written(tmp_path, "q", line.format("0", 1) + "\n")
    run = written(tmp_path, "r", line.format("Q0", "1 2.0 r") + "\n")
    found = be.read_collection(qrels, run)
    same = be.read_collection({topic: {document: 1}}, {"r": {topic: {document: 2.0}}})
    xr.testing.assert_identical(found, same)


def test_ranks_of_a_frame_stand_for_scores_in_any_order_of_its_rows(of_lines):
    rows = [("2", "a", 7), ("2", "c", 4), ("1", "b", 9), ("1", "a", 3)]
    ranked = pd.DataFrame(rows, columns=["qid", "docno", "rank"])
    xr.testing.assert_identical(be.read_collection(GRADES, {"r": ranked}), of_lines)


def test_ranks_that_fall_are_no_scores_that_rise(tmp_path):
    rows = "".join(f"1,d{rank},{rank}\n" for rank in range(8, 0, -1))
    found = be.read_collection(None, written(tmp_path, "r.csv", "qid,docno,rank\n" + rows))
    ranking = found["rankings/ranking"].to_numpy()[0, 0]
    assert found["document"].to_numpy()[ranking].tolist() == [f"d{rank}" for rank in range(1, 9)]


def test_scores_that_rise_are_told_of_any_file(tmp_path):
    rows = "".join(f"1,d{rank},{rank}\n" for rank in range(1, 8))
    with pytest.warns(UserWarning, match="r.csv: scores rise from line to line"):
        be.read_collection(None, written(tmp_path, "r.csv", "qid,docno,score\n" + rows))


def test_parquet_files_of_pandas_and_ranx_are_read(of_lines, tmp_path):
    ranx = pytest.importorskip("ranx")
    grades = FRAME.astype({"qid": str})
    grades.to_parquet(tmp_path / "qrels.parquet")
    grades.set_index(["qid", "docno"]).to_parquet(tmp_path / "index.parquet")
    ranx.Run(SCORES).save(str(tmp_path / "r.parquet"))
    pd.concat(
        [
            pd.DataFrame({"Run": name, "QID": t, "docid": list(of), "score": list(of.values())})
            for name in ("r", "s")
            for t, of in SCORES.items()
        ]
    ).to_parquet(tmp_path / "two.parq")
    for name in ("qrels", "index"):
        collection = be.read_collection(tmp_path / f"{name}.parquet", tmp_path / "r.parquet")
        xr.testing.assert_identical(collection.to_dict()["/"], of_lines.to_dict()["/"])
        for variable in ("rankings/ranking", "judgments/grade"):
            np.testing.assert_array_equal(collection[variable], of_lines[variable])
    both = be.read_collection(GRADES, tmp_path / "two.parq")
    assert both["run"].to_numpy().tolist() == ["r", "s"]
    labelled = be.add_predictions(of_lines, "gpt", tmp_path / "qrels.parquet")
    assert labelled["predictors/gpt"].notnull().sum() == 3


def test_a_parquet_file_that_cannot_be_read_is_named(of_lines, tmp_path, monkeypatch):
    path = tmp_path / "f.parquet"
    FRAME.rename(columns={"docno": "product"}).to_parquet(path)
    with pytest.raises(ValueError, match="f.parquet: the columns are qid, product, rel, and a top"):
        be.read_collection(path)
    FRAME.assign(rel=[2, 1e30, 0]).to_parquet(path)
    with pytest.raises(
        ValueError, match=r"f.parquet, entry 2 \(topic '1', document 'b'\): grade 1e"
    ):
        be.read_collection(path)
    path.write_bytes(path.read_bytes()[:40] + b"\0")
    with pytest.raises(ValueError, match="f.parquet is not a whole Parquet file"):
        be.add_predictions(of_lines, "gpt", path)
    monkeypatch.setattr(pd, "read_parquet", _without_pyarrow)
    with pytest.raises(ValueError, match="f.parquet is a Parquet file, which needs the package py"):
        be.read_collection(None, path)


def _without_pyarrow(*_):
    raise ImportError("Unable to find a usable engine")


@pytest.mark.parametrize("end", ["", " # d1"])
def test_lines_of_ranklib_are_called_so(tmp_path, end):
    (tmp_path / "train.txt").write_text(f"2 qid:1 1:0.3 2:0.5{end}\n0 qid:1 1:0.1 2:0.0{end}\n")
    with pytest.raises(ValueError, match="train.txt, line 1: a line of RankLib .* no document"):
        be.read_collection(tmp_path / "train.txt")
