"""Bad input of every kind: one sentence that says where, what was found and what is allowed."""

import gzip
import importlib

import ir_measures
import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from bayeseval.trec import add_runs, read_collection, read_qrels
from tests.small import small_collection

GOOD_RUN = "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n"
PROBS, PRELS = "1 0 a 1 0.5\n", "1 a 1 2 0.5\n1 b 1 2 0.5\n"
TOPIC_A = r"\(topic '1', document 'a'\)"
LEVELS = "{topic: {document: x}}"
# reader -> what a file holds -> message
FILES: dict[str, dict[str | bytes, str]] = {
    "run": {
        "1 Q0 a 1 2 r\n1 Q0 a 2 1 r\n": "f, line 2: document 'a' is in the ranking of topic '1'",
        "1 Q0 a 1 2 r\n\n1 Q0 b 2 r\n": "f, line 3: 5 fields where at least 6 are needed",
        "1 Q0 a 1 2 r\n# x\n1 Q0 b 2 high r\n": "f, line 3: score 'high' is not a finite number",
        "1 Q0 a 1 nan r\n": "f, line 1: score 'nan' is not a finite number",
        "1 Q0 a 1 -inf r\n": "f, line 1: score '-inf' is not a finite number",
        "1 Q0 a 1 1e999 r\n": "f, line 1: score '1e999' is not a finite number",
        "1 Q0 a 1 1_0 r\n": "f, line 1: score '1_0' is not a finite number",
        "1 Q0 a 1 1,5 r\n": "f, line 1: score '1,5' is not a finite number",
        "1 Q0 a 1 0x10 r\n": "f, line 1: score '0x10' is not a finite number",
        "": "f is empty",
        " \n\n": "f is empty",
        "# only\n# comments\n": "f is empty: it has comments or blank lines only",
        "1 Q0 a 1 2 r\n1 Q0 \0 2 1 r\n": "f, line 2: a NUL byte is not UTF-8 text",
        GOOD_RUN.encode() + b"1 Q0 \xe9 3 0 r\n": "f, line 3: byte 0xe9 is not UTF-8 text",
        GOOD_RUN.encode("utf-16"): "line 1: a NUL byte .the file looks like UTF-16. is not",
        gzip.compress(GOOD_RUN.encode()): "holds .gz data; name it so that it ends in .gz",
        "qid,docno,score\n1,a,2\n1,b,x\n": r"f, line 3 \(topic '1', document 'b'\): score 'x' is",
        "qid,docno,score\n1,a,2\n1,a,1\n": "document 'a' .*second time|twice",
        "qid,docno,why\n1,a,2\n": "f has no column 'score'; .*; known names: score .or relevance_s",
        "# log\nquery,product_id,position,score\n1,a,1,2\n": "f, line 2: the columns are query, "
        "product_id, position, score, and a topic .*; known names: topic .or qid, .*; document .or "
        "docno, .*; score .or relevance_score., or rank",
        '"qid";"Product";"score"\n1;a;2\n': "f, line 1: the columns are qid, Product, score, and",
        "Query ID, Product ID, Rank\n1,a,2\n": "f, line 1: the columns are Query ID, Product ID",
        "1,a,1,2\n": "f, line 1: 1 field where at least 6 are needed",
        '[{"query": "1", "docno": "a"}]': "has no column 'score'; it needs run, topic, doc",
        "qid,docno,rank\n1,a,2\n1,b,1.5\n": "f, line 3 .*: rank 1.5 is not a whole number of 0",
        "qid,docno,rank\n1,a,-1\n": "f, line 2 .*: rank -1 is not a whole number of 0 or more",
        "qid,docno,rank\n1,a,\n": "f, line 2 .*: rank 'nan' is not a finite number",
        "qid,docno,rank,rank\n1,a,1,1\n": "f has more than one column 'rank'",
        '{"x": {"1": {"a": 1}}, "y": 3}': "each object must have a topic and a document",
        '{"x": {"1": {"a": 1}}, "y": {"1": 3}}': f"f: JSON must be {LEVELS} or objects .*; of run",
        '{"g": {"x": {"1": {"a": 1}}}}': "of runs also {run: that}",
        '{"x": {"1": {"b": 2}}, "1": {"a": 1}}': "of runs also {run: that}",
        '{"1": {"a": null}}': rf"f, entry 1 {TOPIC_A}: score 'None' is not",
    },
    "qrels": {
        "1 0 a 1\n1 0 a 1\n": "line 2: document 'a' of topic '1' is judged a second time; .*of sev"
        "eral assessors give one",
        "1 0 a\n": "line 1: 3 fields where at least 4 are needed .topic iter document grade",
        "1 0 a 1\n1 0 b 1.5\n": "line 2: grade '1.5' is not a whole number",
        "1 0 a good\n": "line 1: grade 'good' is not a finite number",
        "1 0 a 99999999999\n": "line 1: grade '99999999999' is not a whole number",
        "1 Q0 a 1 2 r\n": "line 1: 6 fields where qrels have 4 .*, the second Q0, as in a run",
        "": "f is empty",
        "qid,docno,rel\n1,a,2\n1,b,x\n": r"f, line 3 \(topic '1', document 'b'\): grade 'x' is not",
        "qid,docno,rel\n1,a,2\n\n1,b,.5\n": "f, line 4 .*: grade 0.5 is not a whole number",
        "qid,docno,rel\n1,a,2\n1,a,2\n": "f, line 3: document 'a' of topic '1' is judged a second",
        "qid,docno,rel\n1,a\n": "f, line 2: 2 cells where the header has 3",
        "qid,docno,rel\n1\n": "f, line 2: 1 cell where the header has 3",
        "qid,docno,rel\n1,,2\n": "f, line 2 .*: the document is missing or empty",
        "qid,docno,rel\n": "f has a header and no other line",
        "qid,docno,rel\nqid,docno,rel\n": "f has a header and no other line",
        "qid,docno,rel\n1,a,2\nqid,docno,label\n": "f, line 3 .*: grade 'label' is not a finite",
        "qid,docno,rel\n1,a,No\n": "f, line 2 .*: grade 'No' is not .*; write 1 for yes and true",
        "1 0 a true\n": "f, line 1: grade 'true' .*, as every grade must be; write 1 for yes",
        "qid,docno,why\n1,a,2\n": "f has no column 'grade'; it needs topic, document, grade",
        "topic,document,grade\n1,a,\n1,b,\n": "no grade in any of its 2 rows.* fill in the column",
        '{"1": {"a": 2}': r"f, line 1: not JSON \(Expecting ',' delimiter\)",
        '{"qid": 1, "docno": "a", "rel": 1}\n{"qid": 1,\n': r"f, line 3: not JSON \(Expecting",
        '{"1": {"a": 2, "b": 0, "a": 1}}': "f, in what .* line 1: 'a' is there twice in one object",
        '{"qid": 1}\n{"x": 1, "x": 2}\n': "f, in what begins in line 2: 'x' is there twice",
        '{"1": {"a": 0.5}}': rf"f, entry 1 {TOPIC_A}: grade 0.5 is not a whole",
        '{"1": {"a": 2}, "2": 3}': "f: each object must have a topic and a document; there is 1, 2",
        '{"1": {"a": {"b": 1}}}': "judgments are {topic: {document: grade}}; this is deeper",
        '{"x": {"1": {"a": 1}}}': "judgments are {topic: {document: grade}}; this is deeper",
        '[{"topic": 1, "grade": 1}]': "must have a topic and a document; there is topic, grade",
        'qid,docno,rel,why\n1,a,2,"no\n1,b,1,x\n': "f, line 3: unexpected end of data; a cell with",
        'qid,docno,rel,why\n1,a,2,"no\n1,b,1,"x\n': "f, line 3: .*; a cell with a separator or a",
        '{"1": {"a": 1' + 400 * "0" + "}}": "f, entry 1 .*: grade '10+' is not a finite",
        '{"1": {"\\ud800": 1}}': "f: half of a surrogate pair .* stands alone",
        '{"qid": [1], "docno": ["a"], "rel": [2]}': "f: a topic must be text or a number, not",
        200_000 * '["': "f: JSON must be .* nested far deeper|not JSON",
        200_000 * "[[": "f: JSON must be .* this is nested far deeper",
        "[1, 2]": "2 fields where at least 4 are needed",
        "{}": "f is empty: its JSON lists no document",
        "[]": "f is empty: its JSON lists no document",
        '[{"topic": "1", "document": null, "grade": 1}]': "entry 1 .*: the document is missing",
        b'{"1": {"\xe9": 1}}': "f, line 1: byte 0xe9 is not UTF-8 text",
    },
    "sampleval": {
        "1 0 a 1\n": "line 1: 4 fields where at least 5 are needed",
        "1 0 a 1 1\n1 0 b x 1\n": "line 2: stratum x must be a whole number of 0 or",
        "1 0 a -1 1\n": "line 1: stratum -1 must be a whole number of 0 or more",
        "1 0 a 1.5 1\n": "line 1: stratum 1.5 must be a whole number of 0 or more",
        PROBS: "grade '0.5' is not .*columns of sampleval: topic iter document stratum grade",
    },
    "prels": {
        "1 a 1 2 1\n1 b -1 2 1\n": "line 2: grade -1 must be 0 or more",
        "1 a 1 2 0\n": r"line 1: inclusion probability 0.0 must lie in \(0, 1\]",
        "1 a 1 2 1\n1 b 1 2 1.5\n": "line 2: inclusion probability 1.5 must lie in",
        PROBS: "'a' is not a finite .*columns of prels: topic document grade method probability",
    },
    "probs": {
        "1 0 a -2 0.5\n": "line 1: grade -2 must be 0 or more",
        "1 0 a 1 -0.5\n": "line 1: inclusion probability -0.5 must lie in",
        "1 0 a 1 nan\n": "line 1: probability 'nan' is not a finite number",
        PRELS: "line 2: .*second time.*columns of probs: topic iter document grade probability",
        "qid,docno,rel,probability\n1,a,2,0\n": "f, line 2.*: inclusion probability 0 must",
        "qid,docno,rel,probability\n1,a,2,x\n": "f, line 2.*: probability 'x' is not a",
    },
    "labels": {
        "qid,docno,label\n1,d0,yes\n": r"document 'd0'\): 'yes' is not a finite number.*; write 1 ",
        "qid,docno,why\n1,d0,1\n": "must have one of the columns gpt, label, .*; there are topic,",
        "qid,docno,label\n1,d0,I cannot tell\n1,d3,1\n1,d4,nan\n": "line 2 .*, the first of 2 such "
        "labels; where the judge gave none, it is empty",
        "qid,docno,label\n": "has a header and no other line",
        "qid,docno,label\n1,d0,1\n1,d3,x\n": "f, line 3 .*'d3'.*: 'x' is not a finite number",
        "qid,docno,label\n1,d0,a, 1\n": "f, line 2: 4 cells where the header has 3",
        'qid,docno,why,label\n1,d0,"a\nb",1\n1,d3\n': "line 4: 2 cells where the header has 4",
        "1,d0,1\n": "with commas needs a first line that names its columns",
        "query,passage,x\n1,d0,1\n": "f, line 1: the columns are query, passage, x, and a",
        '{"topic": "1", "document": "d0", "label": "yes"}\n': r"f, entry 1 \(topic '1', document "
        r"'d0'\): 'yes' .*is empty \(null in JSON\)",
        '[{"topic": "1",\n"document": "d0", "x": 1}]\n': "one of the columns gpt, label, .*; there",
        '{"1": {"d0": 1}, "1": {"d3": 2}}': "f, .* line 1: '1' is there twice",
        "a b c\n1 d0 1\n": "line 1: label 'c' is not .* must be; a header line must be taken out",
        "1 0 d0\n1 0 d\xe9 1\n".encode("latin-1"): "line 2: byte 0xe9 is not UTF-8 text",
        "1 0 d0 2\n1 0 d3\n": "f, line 2: 3 fields where the lines before have 4",
    },
}


@pytest.mark.parametrize(
    ("reader", "number"), [(reader, n) for reader in FILES for n in range(len(FILES[reader]))]
)
def test_a_bad_file_is_refused_in_one_sentence_that_says_where(reader, number, tmp_path):
    data, message = list(FILES[reader].items())[number]
    path = tmp_path / "f"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(ValueError, match=message) as error:
        if reader == "run":
            read_collection(None, path)
        elif reader == "labels":
            be.add_predictions(small_collection(), "gpt", path)
        else:
            read_collection(path, None, qrels_format=reader)
    assert "\n" not in str(error.value)


RUN = pd.DataFrame({"run": "r", "topic": "1", "document": ["a", "b"], "score": [2.0, 1.0]})
QRELS = pd.DataFrame({"topic": "1", "document": ["a", "b"], "grade": [1, 0]})
LISTED = QRELS[:1].assign(probability=2.0)
LABELS = pd.DataFrame({"topic": [1, 1, 2], "document": ["d0", "d3", "d1"], "label": [2, 0.5, 1]})
FLOATS = QRELS.assign(topic="101.0")
FLOATING = "the column topic with '101.0' holds floating-point numbers: make them whole, or text"
NUMBERS = QRELS.assign(document=[2**53, 2**53 + 2])


def labelled(name, labels):
    return lambda: be.add_predictions(small_collection(), name, labels)


def of_table(contributed):
    table = pd.DataFrame({"run": ["r"], "contributed": pd.array([contributed], dtype=object)})
    return lambda: read_collection(QRELS, RUN, run_table=table)


CALLS = [
    (lambda: read_collection(QRELS, RUN, qrels_format="xml"), "qrels_format .*prels.*, not 'xml'"),
    (lambda: read_collection(QRELS, RUN, on_duplicate="last"), "on_duplicate must be .*'last'"),
    (lambda: read_collection(QRELS, RUN, score_type="float16"), "score_type must be .*'float16'"),
    (
        lambda: read_collection(QRELS, RUN, negative_grades="zero"),
        "negative_grades must be one of unjudged, judged, not 'zero'",
    ),
    (lambda: read_collection(QRELS, RUN, depth=0), "depth is 0; allowed: a whole number, 1 or mor"),
    (lambda: read_collection(None, []), "no run file is named"),
    (lambda: read_collection(None, None), "needs judgments or runs"),
    (lambda: read_collection(None, 7), "must be a path, a glob, a DataFrame, a dict"),
    (lambda: read_collection(3), "judgments must be a path, a glob, a DataFrame, a dict"),
    (lambda: read_collection(QRELS, {"bm25": 3}), "'bm25' must be a path, a DataFrame.*not int"),
    (lambda: read_collection({"1": 2}), "a dict of judgments must be .*grade.*, and '1' holds no "),
    (lambda: read_collection([ir_measures.ScoredDoc("1", "a", 1.0)]), "query_id, doc_id and relev"),
    (lambda: read_collection(None, RUN.drop(columns="score")), "no column 'score'"),
    (
        lambda: read_collection(None, RUN.set_axis(["run", "topic", "topic", "score"], axis=1)),
        "more than one column 'topic'",
    ),
    (
        lambda: read_collection(QRELS.rename(columns={"grade": "x"})),
        "no column 'grade'; it needs .* and has topic, document",
    ),
    (lambda: read_collection(QRELS.assign(Topic="2").rename(columns={"topic": "TOPIC"})),
     "has no column 'topic'"),  # which of the two?
    (lambda: read_collection(None, RUN[:0]), "runs DataFrame is empty"),
    (
        lambda: read_collection(None, RUN.assign(score=[1.0, None])),
        "row 1 .topic '1', document 'b'.: score 'nan' is not a finite",
    ),
    (
        lambda: read_collection(None, RUN.assign(document=["a", None])),
        "row 1 .*: the document is missing or empty",
    ),
    (
        lambda: read_collection(None, RUN.assign(document="a")),
        "row 1 .*: document 'a' is in the ranking of topic '1' a second",
    ),
    (lambda: read_collection(None, [RUN, RUN]), "two runs are named 'r'"),
    (lambda: read_qrels(QRELS.assign(document="a")), "row 1: document 'a' of topic '1' is judged "),
    (
        lambda: read_qrels(QRELS.assign(grade=[np.nan, 0.9])),
        "row 1 .topic '1', document 'b'.: grade 0.9 is not",
    ),
    (lambda: read_qrels(LISTED, "probs"), "row 0: inclusion probability 2.0 must lie in"),
    (
        lambda: read_qrels(LISTED.assign(grade=-1, probability=0.5), "probs"),
        "row 0: grade -1 must be 0 or more",
    ),
    (
        lambda: read_qrels(LISTED.assign(grade=np.nan, probability=0.5), "probs"),
        "row 0: grade nan must be 0 or more",
    ),
    (lambda: read_qrels(LISTED.assign(stratum="low"), "sampleval"), "row 0: stratum low must be a"),
    (lambda: read_collection(FLOATS, RUN), f"they have '101.0' and so on; {FLOATING}"),
    (
        lambda: read_collection(QRELS, RUN.assign(topic="101.0")),
        f"they have '1' and so on; {FLOATING}",
    ),
    (lambda: read_collection(QRELS.assign(topic=301), RUN), r"they have '301' and so on\.$"),
    (
        lambda: read_collection(QRELS, RUN.assign(document=[2.0**53, 1.0])),
        "document 9007199254740992 is a floating-point number, which does not hold",
    ),
    (
        lambda: read_collection(QRELS, RUN.astype({"score": "float32"}).assign(
            document=np.array([2**24, 1], dtype="float32"))),
        "is a floating-point number, which does not hold",
    ),
    (lambda: read_collection(QRELS, RUN, run_table=pd.DataFrame({"run": ["s"]})), "lacks run 'r'"),
    *((of_table(value), "contributed is .* for run 'r'; it must be True or False")
      for value in ("no", "yes", None, np.nan, 2, "True")),
    *((lambda e=empty: read_collection(QRELS, {"r": RUN, "s": e}), "run 's' is empty; a run needs")
      for empty in ({}, {"1": {}}, RUN[:0])),
    *((lambda e=empty: add_runs(read_collection(QRELS, RUN), {"t": RUN, "s": e}),
       "run 's' is empty; a run needs at least one")
      for empty in ({}, {"1": {}}, RUN[:0])),
    (lambda: add_runs(read_collection(None, RUN), RUN), "DataFrame: run 'r' is in the collection"),
    (
        lambda: add_runs(read_collection(None, RUN), RUN.assign(topic="7", run="s")),
        "run 's' has no topic in common",
    ),
    (
        lambda: add_runs(read_collection(None, RUN), RUN.assign(run="s"), team="us",
                         run_table=pd.DataFrame({"run": ["s"], "team": ["them"]})),
        "team is given, and run_table has 'team' too",
    ),
    (labelled("gpt", LABELS.assign(topic="7")), "none of 3 labels is of a pair of the collection"),
    (labelled("gpt", pd.concat([LABELS, LABELS])), "document 'd0' of topic '1' has a second label"),
    (
        labelled("gpt", LABELS.assign(label=["2", "high", "1"])),
        r"row 1 \(.*\): 'high' is not a finite number, as every label must be; where .* is NaN",
    ),
    (labelled("gpt", LABELS.assign(label=np.inf)), r"row 0 \(.*\): 'inf' is not a finite number"),
    (
        labelled("gpt", LABELS.drop(columns="label")),
        "must have one of the columns gpt, label, .*; there are topic, document",
    ),
    (labelled("gpt", LABELS.assign(label=np.nan)), "no document has a label, all 3 are missing"),
    (labelled("llm", LABELS), "named 'llm' is there already"),
    (labelled("gpt", "absent.txt"), "labels file absent.txt does not exist"),
    (labelled("gpt", 50 * "1 d0 2\n"), "a path is needed, not what a file holds"),
    (labelled("gpt", 3), "must be a path, a DataFrame, a dict .* not int"),
    (labelled(["gpt", "llama"], [LABELS]), "2 judges are named, and there are labels of 1"),
    (labelled(["gpt", "gpt"], LABELS), "named 'gpt' is there already"),
    (labelled(["gpt", "llama"], "labels.csv"), "are a list with a file or dict for each"),
    (labelled("topic", LABELS), "cannot be named 'topic', as a part of the collection is"),
    (labelled("pair", LABELS), "cannot be named 'pair', as a part of the collection is"),
    (labelled("gpt/4", LABELS), "'gpt/4' cannot name a judge"),
    (labelled("", LABELS), "'' cannot name a judge"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[message[:50] for _, message in CALLS])
def test_bad_tables_and_options_are_refused_in_one_sentence(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


GRADES = {topic: {"a": 1, "b": 0} for topic in ("1", "2", "10")}
SCORES = {topic: {"a": 2.0, "b": 1.0} for topic in ("01", "02", "10")}
ZEROS = {"r": {"1": {"007": 2.0, "12": 1.0, "a": 0.5}}}  # where a table lost its zeros
MANY = {"1": {f"d{n}": n % 2 for n in range(12)}}
UNLIKE = {"1": {f"x{n}": float(n) for n in range(12)}}
OTHER_TOPICS = {"1": {"z": 1}, "2": {"x": 1}}
SUSPECTED = [
    (lambda: read_collection(QRELS.assign(document=["1", "2"]), RUN),
     "they have '1' and so on, the runs 'a' and so on"),
    (lambda: read_collection(OTHER_TOPICS, {"1": {"x": 1.0}, "2": {"z": 1.0}}),
     "for other topics: are the topics the same"),
    (lambda: read_collection(GRADES, SCORES),
     "topic '01' of the runs has no judgment and '1' of the judgments no run; there are 2 such"),
    (lambda: read_collection({"1": {"7": 1, "12": 0}}, ZEROS),
     "topic '1' has documents '007' and '7', .* with 1 in all: are they the same"),
    (lambda: read_collection(None, ZEROS | {"s": {"1": {"A": 1.0}}}), "'A' and 'a'"),
    (lambda: add_runs(read_collection(None, ZEROS), {"s": {"1": {"A": 1.0}}}), "'A' and 'a'"),
    (lambda: read_collection(MANY, {"a": MANY, "b": UNLIKE}),
     "no document of run 'b' is among the judged ones: it has 'x11' .* they have 'd0'"),
    (lambda: add_runs(read_collection(MANY, {"a": MANY}), {"c": UNLIKE, "d": UNLIKE, "e": MANY}),
     "no document of run 'c' is among the judged ones, nor of 1 other run: it has"),
    *((lambda n=name: read_collection(QRELS.assign(**{n: 1})),
       f"a column '{name}'.*ignored.*set qrels_format") for name in ("stratum", "probability")),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), SUSPECTED, ids=[text[:50] for _, text in SUSPECTED])
def test_what_may_be_a_mistake_is_read_with_one_warning(call, message):
    with pytest.warns(UserWarning, match=message) as warned:
        call()
    assert len(warned) == 1


def test_what_is_no_mistake_is_read_without_a_warning():
    read_collection(QRELS.assign(document=["b", "3"]), RUN)
    read_collection(QRELS)
    read_collection(GRADES | {"3": {"a": 1}}, {"r": {"10": SCORES["10"]}})  # not all topics
    cut = read_collection(QRELS[1:], RUN, depth=1)
    assert cut["rankings/ranking"].sizes["rank"] == 1
    read_collection({"1": {"a": 1}}, {"r": {"1": {"A": 2.0, "a": 1.0}}})  # told apart by a run
    read_collection({"1": {"a": 1, "A": 0}}, {"r": {"1": {"a": 1.0}}, "s": {"1": {"A": 1.0}}})
    read_collection({"1": {"a": 1}, "2": {"A": 1}}, {"r": {"1": {"a": 1.0}, "2": {"b": 1.0}}})


def test_qrels_with_more_fields_are_read_with_a_warning(tmp_path):
    (tmp_path / "q").write_text("1 0 a 2 1\n")
    with pytest.warns(UserWarning, match="line 1: 5 fields where qrels have 4"):
        assert read_qrels(tmp_path / "q")["grade"].tolist() == [2]


def test_files_must_be_there_and_are_read_once(tmp_path):
    for name, text in (("r", GOOD_RUN), ("qrels", "1 0 a 1\n"), ("bad", "1 Q0 a 1 high tag\n")):
        (tmp_path / name).write_text(text)
    run, qrels, glob = tmp_path / "r", tmp_path / "qrels", str(tmp_path / "*r*")
    for sources, message in (
        ((None, tmp_path / "missing"), "run file .*missing does not exist"),
        ((tmp_path / "missing", None), "judgments file .*missing does not exist"),
        ((None, str(tmp_path / "*.txt")), "matches no run file"),
        ((None, tmp_path), "is a folder"),
        ((None, [run, str(tmp_path / "r*")]), "run file .*r is named twice; once is allowed"),
        (([qrels, tmp_path / ".." / tmp_path.name / "qrels"], None), "judgments .*qrels is named"),
        ((None, {"a": tmp_path / "missing"}), "run file .*missing does not exist"),
        ((None, {"a": tmp_path / "bad"}), "bad, line 1: score 'high' is not a finite number"),
        ((None, {"a": run, "b": run}), "r is named twice; once is allowed"),
        ((None, {"a": glob}), "run 'a' is one file, and glob .* matches 2"),
        ((None, {1: run, "1": RUN}), "two runs are named '1'"),
    ):
        with pytest.raises(ValueError, match=message):
            read_collection(*sources)
    collection = read_collection(None, run)
    with pytest.raises(ValueError, match="run 'r' is in the collection already"):
        add_runs(collection, run)
    with pytest.raises(ValueError, match="line 1: score is too large for float32"):
        run.write_text("1 Q0 a 1 1e39 r\n")
        read_collection(None, run, score_type="float32")


def test_what_a_file_holds_is_no_path_and_is_not_shown_whole():
    for first, said in (("1 Q0 a 1 2 r", "run file '1 Q0 .* does not exist"),
                        ("1 Q0 a* 1 2 r", "glob '1 Q0 .* matches no run file")):  # fmt: skip
        with pytest.raises(ValueError, match=said) as error:
            read_collection(None, first + "\n" + GOOD_RUN * 500)
        assert "a path is needed, not what a file holds" in str(error.value)
        assert "\n" not in str(error.value) and len(str(error.value)) < 200


def test_compression_must_be_known_and_whole(tmp_path, monkeypatch):
    (tmp_path / "run.zip").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"ends in .zip; plain text or .gz, .xz, .bz2, .zst"):
        read_collection(None, tmp_path / "run.zip")
    names = {"gz": "gzip", "xz": "xz", "bz2": "bzip2", "zst": "zstandard"}
    for ending, name in names.items():
        (tmp_path / f"run.{ending}").write_text(GOOD_RUN)
        with pytest.raises(ValueError, match=rf"not {name} data \(its name ends in .{ending}\)"):
            read_collection(None, tmp_path / f"run.{ending}")
    (tmp_path / "run.gz").write_bytes(gzip.compress(GOOD_RUN.encode() * 99)[:-20])
    with pytest.raises(ValueError, match="is not a whole .gz file"):
        read_collection(None, tmp_path / "run.gz")

    def absent(name, package=None):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ValueError, match="install the package 'zstandard'"):
        read_collection(None, tmp_path / "run.zst")


@pytest.mark.parametrize("name", ["pickle", "Feather"])
def test_binary_tables_are_named(tmp_path, name):
    if name != "pickle":
        pytest.importorskip("pyarrow")
    table = pd.DataFrame({"topic": ["1"] * 3, "document": list("abc"), "grade": [0, 1, 2]})
    getattr(table, f"to_{name.lower()}")(tmp_path / "qrels")
    with pytest.raises(ValueError, match=f"qrels is a {name} file, which is not read; write CSV"):
        read_collection(tmp_path / "qrels", None)
    (tmp_path / "plain").write_text("PAR1 0 a 1\n")
    assert read_collection(tmp_path / "plain", None)["topic"].values.tolist() == ["PAR1"]
