"""Files with a header and JSON are read as the lines of trec_eval that say the same."""

import gzip
import json

import pandas as pd
import pytest
import xarray as xr

import bayeseval as be

GRADES = {"1": {"a": 2, "b": 0}, "2": {"c": 1}}
SCORES = {"1": {"b": 0.25, "a": 1.5}, "2": {"c": 1e-3, "a": -2.0}}
FRAME = pd.DataFrame({"qid": [1, 1, 2], "docno": ["a", "b", "c"], "rel": [2, 0, 1]})
QRELS = {
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
    "1 0 a 2\n#1 0 x 1\n1 0 b 0\n2 0 c 1\n",
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
RUNS = {
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
def expected():
    return be.read_collection(GRADES, {"r": SCORES})


def written(folder, name, text):
    (folder / name).write_text(text, newline="")
    return folder / name


@pytest.mark.parametrize("name", QRELS)
def test_judgments_are_those_of_a_qrels_file(expected, name, tmp_path):
    found = be.read_collection(written(tmp_path, name, QRELS[name]), {"r": SCORES})
    xr.testing.assert_identical(found, expected)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_that_of_a_run_file_and_named_by_its_file_where_it_has_no_name(
    expected, name, tmp_path
):
    found = be.read_collection(GRADES, written(tmp_path, name, RUNS[name]))
    if name == "one.json":
        expected = be.read_collection(GRADES, {"r": {"1": {"a": 1.5}}})
    xr.testing.assert_identical(found, expected)


def test_a_frame_with_the_names_of_beir_is_read(expected):
    rows = [(t, d, g) for t, of in GRADES.items() for d, g in of.items()]
    frame = pd.DataFrame(rows, columns=["query-id", "corpus-id", "score"])
    xr.testing.assert_identical(be.read_collection(frame, {"r": SCORES}), expected)


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


def test_a_dict_names_the_run_of_a_file(expected, tmp_path):
    for name in ("r.json", "tag.csv"):
        path = written(tmp_path, name, RUNS[name].replace("r,", "other,"))
        found = be.read_collection(GRADES, {"r": path})
        xr.testing.assert_identical(found, expected)


def test_runs_of_files_with_one_name_are_called_by_their_files(tmp_path):
    text = "tag,qid,docno,score\nmine,1,a,2\n"
    paths = [written(tmp_path, name, text) for name in ("one.csv", "two.csv")]
    with pytest.warns(UserWarning, match="names of runs clash.*'mine' is now 'one.csv'"):
        found = be.read_collection(None, paths)
    assert found["run"].to_numpy().tolist() == ["one.csv", "two.csv"]


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
    for cell, told in (("0", "inclusion probability 0 must"), ("x", "probability 'x' is not a")):
        bad = written(tmp_path, "bad.csv", f"qid,docno,rel,probability\n1,a,2,{cell}\n")
        with pytest.raises(ValueError, match=f"bad.csv, line 2.*: {told}"):
            be.read_collection(bad, qrels_format="probs")


def test_missing_grades_of_a_file_are_not_judged(tmp_path):
    path = written(tmp_path, "q.csv", "qid,docno,rel\n1,a,2\n1,b,\n")
    with pytest.warns(UserWarning, match=r"missing \(NaN\) in 1 of 2 rows of .*q.csv, the first"):
        found = be.read_collection(path)
    assert found["judgments/pooled"].to_numpy().tolist() == [True, True]
    assert found["judgments/grade"].isnull().to_numpy().tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "qid,docno,rel\n1,a,2\n1,b,x\n",
            r"q, line 3 \(topic '1', document 'b'\): grade 'x' is not",
        ),
        ("qid,docno,rel\n1,a,2\n\n1,b,.5\n", "q, line 4 .*: grade 0.5 is not a whole number"),
        (
            "qid,docno,rel\n1,a,2\n1,a,2\n",
            "q, line 3: document 'a' of topic '1' is judged a second",
        ),
        ("qid,docno,rel\n1,a\n", "q, line 2: 2 cells where the header has 3"),
        ("qid,docno,rel\n1,,2\n", "q, line 2 .*: the document is missing or empty"),
        ("qid,docno,rel\n", "q has a header and no other line"),
        ("qid,docno,rel\n1,a,2\nqid,docno,label\n", "q, line 3 .*: grade 'label' is not a finite"),
        ("qid,docno,rel\n1,a,No\n", "q, line 2 .*: grade 'No' is not .*; write 1 for yes and true"),
        ("1 0 a true\n", "q, line 1: grade 'true' .*, as every grade must be; write 1 for yes"),
        ("qid,docno,rel\nqid,docno,rel\n", "q has a header and no other line"),
        ("qid,docno,why\n1,a,2\n", "q has no column 'grade'; it needs topic, document, grade"),
        ('{"1": {"a": 2}', r"q, line 1: not JSON \(Expecting ',' delimiter\)"),
        ('{"qid": 1, "docno": "a", "rel": 1}\n{"qid": 1,\n', r"q, line 3: not JSON \(Expecting"),
        (
            '{"1": {"a": 2, "b": 0, "a": 1}}',
            "q, in what .* line 1: 'a' is there twice in one object",
        ),
        ('{"qid": 1}\n{"x": 1, "x": 2}\n', "q, in what begins in line 2: 'x' is there twice"),
        ('{"1": {"a": 0.5}}', r"q, entry 1 \(topic '1', document 'a'\): grade 0.5 is not a whole"),
        (
            '{"1": {"a": 2}, "2": 3}',
            "q: each object must have a topic and a document; there is 1, 2",
        ),
        ('{"1": {"a": {"b": 1}}}', "judgments are {topic: {document: grade}}; this is deeper"),
        (
            '[{"topic": 1, "grade": 1}]',
            "must have a topic and a document; there is topic, grade",
        ),
        ('{"x": {"1": {"a": 1}}}', r"judgments are {topic: {document: grade}}; this is deeper"),
        (
            'qid,docno,rel,why\n1,a,2,"no\n1,b,1,x\n',
            "q, line 3: unexpected end of data; a cell with",
        ),
        ('qid,docno,rel,why\n1,a,2,"no\n1,b,1,"x\n', "q, line 3: .*; a cell with a separator or a"),
        ("qid,docno,rel\n1\n", "q, line 2: 1 cell where the header has 3"),
        ('{"1": {"a": 1' + 400 * "0" + "}}", r"q, entry 1 .*: grade '10+' is not a finite"),
        ('{"1": {"\\ud800": 1}}', "q: half of a surrogate pair .* stands alone"),
        ('{"qid": [1], "docno": ["a"], "rel": [2]}', "q: a topic must be text or a number, not"),
        (200_000 * '["', "q: JSON must be .* nested far deeper|not JSON"),
        (200_000 * "[[", "q: JSON must be .* this is nested far deeper"),
        ("[1, 2]", "2 fields where at least 4 are needed"),
        ("{}", "q is empty: its JSON lists no document"),
        ("[]", "q is empty: its JSON lists no document"),
        ('[{"topic": "1", "document": null, "grade": 1}]', "entry 1 .*: the document is missing"),
        (b'{"1": {"\xe9": 1}}', "q, line 1: byte 0xe9 is not UTF-8 text"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(text, message, tmp_path):
    (tmp_path / "q").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        be.read_collection(tmp_path / "q")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qid,docno,score\n1,a,2\n1,b,x\n", r"r, line 3 \(topic '1', document 'b'\): score 'x' is"),
        ("qid,docno,score\n1,a,2\n1,a,1\n", "document 'a' .*second time|twice"),
        (
            "qid,docno,why\n1,a,2\n",
            "r has no column 'score'; .*; known names: score .or relevance_score., or rank .or pos",
        ),
        (
            "# log\nquery,product_id,position,score\n1,a,1,2\n",
            "r, line 2: the columns are query, product_id, position, score, and a topic .*; known "
            "names: topic .or qid, .*; document .or docno, .*; score .or relevance_score., or rank",
        ),
        ('"qid";"Product";"score"\n1;a;2\n', "r, line 1: the columns are qid, Product, score, and"),
        ("Query ID, Product ID, Rank\n1,a,2\n", "r, line 1: the columns are Query ID, Product ID"),
        ("1,a,1,2\n", "r, line 1: 1 field where at least 6 are needed"),
        ('[{"query": "1", "docno": "a"}]', "there is query, docno; known names: topic .or qid"),
        ("qid,docno,rank\n1,a,2\n1,b,1.5\n", "r, line 3 .*: rank 1.5 is not a whole number of 0"),
        ("qid,docno,rank\n1,a,-1\n", "r, line 2 .*: rank -1 is not a whole number of 0 or more"),
        ("qid,docno,rank\n1,a,\n", "r, line 2 .*: rank 'nan' is not a finite number"),
        ("qid,docno,rank,rank\n1,a,1,1\n", "r has more than one column 'rank'"),
        ('{"x": {"1": {"a": 1}}, "y": 3}', "each object must have a topic and a document"),
        (
            '{"x": {"1": {"a": 1}}, "y": {"1": 3}}',
            "r: JSON must be {topic: {document: x}} or objects .*; of runs also {run: that}",
        ),
        ('{"1": {"a": null}}', r"r, entry 1 \(topic '1', document 'a'\): score 'None' is not"),
    ],
)
def test_a_run_that_cannot_be_read_is_refused_in_one_sentence(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        be.read_collection(None, written(tmp_path, "r", text))


def test_a_fourth_level_is_refused_and_levels_must_be_alike(tmp_path):
    for runs in ({"g": {"x": SCORES}}, {"x": SCORES, "1": {"a": 1.0}}):
        path = written(tmp_path, "r.json", json.dumps(runs))
        with pytest.raises(ValueError, match="of runs also {run: that}"):
            be.read_collection(None, path)


def test_names_that_differ_from_line_to_line_are_no_names(expected, tmp_path):
    text = "qid,docno,score,name\n1,a,1.5,x\n1,b,.25,y\n2,c,1e-3,z\n2,a,-2,x\n"
    with pytest.warns(UserWarning, match="'name' differs from document to document.*, 'r'"):
        found = be.read_collection(GRADES, written(tmp_path, "r.csv", text))
    xr.testing.assert_identical(found, expected)


def test_a_column_of_a_sample_is_not_passed_over_in_silence(tmp_path):
    for name in ("stratum", "probability"):
        path = written(tmp_path, "q.csv", f"qid,docno,rel,{name}\n1,a,2,1\n")
        with pytest.warns(UserWarning, match=f"a column '{name}'.*ignored.*set qrels_format"):
            be.read_collection(path)


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


def test_ranks_of_a_frame_stand_for_scores_in_any_order_of_its_rows(expected):
    rows = [("2", "a", 7), ("2", "c", 4), ("1", "b", 9), ("1", "a", 3)]
    ranked = pd.DataFrame(rows, columns=["qid", "docno", "rank"])
    xr.testing.assert_identical(be.read_collection(GRADES, {"r": ranked}), expected)


def test_ranks_that_fall_are_no_scores_that_rise(tmp_path):
    rows = "".join(f"1,d{rank},{rank}\n" for rank in range(8, 0, -1))
    found = be.read_collection(None, written(tmp_path, "r.csv", "qid,docno,rank\n" + rows))
    ranking = found["rankings/ranking"].to_numpy()[0, 0]
    assert found["document"].to_numpy()[ranking].tolist() == [f"d{rank}" for rank in range(1, 9)]


def test_scores_that_rise_are_told_of_any_file(tmp_path):
    rows = "".join(f"1,d{rank},{rank}\n" for rank in range(1, 8))
    with pytest.warns(UserWarning, match="r.csv: scores rise from line to line"):
        be.read_collection(None, written(tmp_path, "r.csv", "qid,docno,score\n" + rows))


def test_a_sheet_that_nobody_filled_in_is_told_so(tmp_path):
    (tmp_path / "sheet.csv").write_text("topic,document,grade\n1,a,\n1,b,\n")
    with pytest.raises(ValueError, match="no grade in any of its 2 rows.* fill in the column"):
        be.trec.read_qrels(tmp_path / "sheet.csv")
