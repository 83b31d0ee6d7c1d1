"""Bad input of every kind: one sentence that says where, what and what is allowed."""

import gzip
import importlib

import numpy as np
import pandas as pd
import pytest

from bayeseval.trec import add_runs, read_collection, read_qrels

GOOD_RUN = "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n"
BAD_RUNS = {
    "1 Q0 a 1 2 r\n1 Q0 a 2 1 r\n": "run, line 2: document 'a' is in the ranking of topic '1'",
    "1 Q0 a 1 2 r\n\n1 Q0 b 2 r\n": "run, line 3: 5 fields where at least 6 are needed",
    "1 Q0 a 1 2 r\n# x\n1 Q0 b 2 high r\n": "run, line 3: score 'high' is not a finite number",
    "1 Q0 a 1 nan r\n": "run, line 1: score 'nan' is not a finite number",
    "1 Q0 a 1 -inf r\n": "run, line 1: score '-inf' is not a finite number",
    "1 Q0 a 1 1e999 r\n": "run, line 1: score '1e999' is not a finite number",
    "1 Q0 a 1 1_0 r\n": "run, line 1: score '1_0' is not a finite number",
    "1 Q0 a 1 1,5 r\n": "run, line 1: score '1,5' is not a finite number",
    "1 Q0 a 1 0x10 r\n": "run, line 1: score '0x10' is not a finite number",
    "": "run is empty",
    " \n\n": "run is empty",
    "# only\n# comments\n": "run is empty: it has comments or blank lines only",
    "1 Q0 a 1 2 r\n1 Q0 \0 2 1 r\n": "run, line 2: a NUL byte is not UTF-8 text",
}
BAD_QRELS = {
    (
        "qrels",
        "1 0 a 1\n1 0 a 1\n",
    ): "line 2: document 'a' of topic '1' is judged a second time; .*of several assessors give one",
    ("qrels", "1 0 a\n"): "line 1: 3 fields where at least 4 are needed .topic iter document grade",
    ("qrels", "1 0 a 1\n1 0 b 1.5\n"): "line 2: grade '1.5' is not a whole number",
    ("qrels", "1 0 a good\n"): "line 1: grade 'good' is not a finite number",
    ("qrels", "1 0 a 99999999999\n"): "line 1: grade '99999999999' is not a whole number",
    ("sampleval", "1 0 a 1\n"): "line 1: 4 fields where at least 5 are needed",
    ("sampleval", "1 0 a 1 1\n1 0 b x 1\n"): "line 2: stratum x must be a whole number of 0 or",
    ("sampleval", "1 0 a -1 1\n"): "line 1: stratum -1 must be a whole number of 0 or more",
    ("sampleval", "1 0 a 1.5 1\n"): "line 1: stratum 1.5 must be a whole number of 0 or more",
    ("prels", "1 a 1 2 1\n1 b -1 2 1\n"): "line 2: grade -1 must be 0 or more",
    ("probs", "1 0 a -2 0.5\n"): "line 1: grade -2 must be 0 or more",
    ("prels", "1 a 1 2 0\n"): r"line 1: inclusion probability 0.0 must lie in \(0, 1\]",
    ("prels", "1 a 1 2 1\n1 b 1 2 1.5\n"): "line 2: inclusion probability 1.5 must lie in",
    ("probs", "1 0 a 1 -0.5\n"): "line 1: inclusion probability -0.5 must lie in",
    ("probs", "1 0 a 1 nan\n"): "line 1: probability 'nan' is not a finite number",
    (
        "prels",
        "1 0 a 1 0.5\n",  # probs
    ): "'a' is not a finite number.*columns of prels: topic document grade method probability",
    (
        "probs",
        "1 a 1 2 0.5\n1 b 1 2 0.5\n",  # prels
    ): "line 2: .*second time.*columns of probs: topic iter document grade probability",
    (
        "sampleval",
        "1 0 a 1 0.5\n",  # probs
    ): "grade '0.5' is not a whole.*columns of sampleval: topic iter document stratum grade",
    (
        "qrels",
        "1 Q0 a 1 2 r\n",
    ): "line 1: 6 fields where qrels have 4 .*, the second Q0, as in a run",
    ("qrels", ""): "qrels is empty",
}


@pytest.mark.parametrize("text", BAD_RUNS)
def test_a_bad_run_is_an_error_that_names_the_line(tmp_path, text):
    (tmp_path / "run").write_text(text)
    with pytest.raises(ValueError, match=BAD_RUNS[text]) as error:
        read_collection(None, tmp_path / "run")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("qrels_format", "text"), BAD_QRELS)
def test_bad_judgments_are_an_error_that_names_the_line(tmp_path, qrels_format, text):
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(ValueError, match=BAD_QRELS[qrels_format, text]):
        read_collection(tmp_path / "qrels", None, qrels_format=qrels_format)


def test_topics_must_overlap(tmp_path):
    (tmp_path / "run").write_text(GOOD_RUN)
    (tmp_path / "qrels").write_text("7 0 a 1\n")
    with pytest.raises(ValueError, match="run: run 'r' has no topic in common.*'1'.*'7'"):
        read_collection(tmp_path / "qrels", tmp_path / "run")
    (tmp_path / "other").write_text("7 Q0 a 1 2 s\n")
    with pytest.raises(ValueError, match="other: run 's' has no topic in common"):
        add_runs(read_collection(None, tmp_path / "run"), tmp_path / "other")


def test_topics_that_are_floating_point_numbers_are_told_so():
    run = pd.DataFrame({"run": "a", "topic": ["101", "102"], "document": "d", "score": 1.0})
    qrels = pd.DataFrame({"topic": [101, 102], "document": "d", "grade": 1})
    told = "the column topic with '101.0' holds floating-point numbers: make them whole, or text"
    with pytest.raises(ValueError, match=f"they have '101.0' and so on; {told}"):
        read_collection(qrels.assign(topic=["101.0", "102.0"]), run)
    with pytest.raises(ValueError, match=f"they have '101' and so on; {told}"):
        read_collection(qrels, run.assign(topic=["101.0", "102.0"]))
    both = read_collection(qrels.astype({"topic": float}), run.astype({"topic": float}))
    assert both["topic"].values.tolist() == ["101", "102"]
    with pytest.raises(ValueError, match=r"they have '301' and so on\.$"):
        read_collection(qrels.assign(topic=[301, 302]), run)


def test_files_must_be_there(tmp_path):
    with pytest.raises(ValueError, match="run file .*missing does not exist"):
        read_collection(None, tmp_path / "missing")
    with pytest.raises(ValueError, match="judgments file .*missing does not exist"):
        read_collection(tmp_path / "missing", None)
    with pytest.raises(ValueError, match="matches no run file"):
        read_collection(None, str(tmp_path / "*.txt"))
    with pytest.raises(ValueError, match="is a folder"):
        read_collection(None, tmp_path)
    with pytest.raises(ValueError, match="no run file is named"):
        read_collection(None, [])
    with pytest.raises(ValueError, match="needs judgments or runs"):
        read_collection(None, None)
    with pytest.raises(TypeError, match="must be a path, a glob, a DataFrame, a dict"):
        read_collection(None, 7)


def test_what_a_file_holds_is_no_path_and_is_not_shown_whole():
    for first, said in (("1 Q0 a 1 2 r", "run file '1 Q0 .* does not exist"),
                        ("1 Q0 a* 1 2 r", "glob '1 Q0 .* matches no run file")):  # fmt: skip
        with pytest.raises(ValueError, match=said) as error:
            read_collection(None, first + "\n" + GOOD_RUN * 500)
        assert "a path is needed, not what a file holds" in str(error.value)
        assert "\n" not in str(error.value) and len(str(error.value)) < 200


def test_compression_must_be_known_and_whole(tmp_path):
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
    (tmp_path / "run").write_bytes(gzip.compress(GOOD_RUN.encode()))
    with pytest.raises(ValueError, match="holds .gz data; name it so that it ends in .gz"):
        read_collection(None, tmp_path / "run")


def test_zstandard_that_is_not_installed_is_named(tmp_path, monkeypatch):
    (tmp_path / "run.zst").write_bytes(b"\x28\xb5\x2f\xfd")

    def absent(name, package=None):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ValueError, match="install the package 'zstandard'"):
        read_collection(None, tmp_path / "run.zst")


def test_text_must_be_utf8(tmp_path):
    (tmp_path / "run").write_bytes(GOOD_RUN.encode() + "1 Q0 é 3 0 r\n".encode("latin-1"))
    with pytest.raises(ValueError, match="run, line 3: byte 0xe9 is not UTF-8 text"):
        read_collection(None, tmp_path / "run")
    (tmp_path / "run").write_text(GOOD_RUN, encoding="utf-16")
    with pytest.raises(ValueError, match="line 1: a NUL byte .the file looks like UTF-16. is not"):
        read_collection(None, tmp_path / "run")


def test_float32_scores_must_fit(tmp_path):
    (tmp_path / "run").write_text("1 Q0 a 1 1e39 r\n")
    with pytest.raises(ValueError, match="line 1: score is too large for float32"):
        read_collection(None, tmp_path / "run", score_type="float32")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qrels_format": "xml"}, "qrels_format must be one of .*prels.*, not 'xml'"),
        ({"on_duplicate": "last"}, "on_duplicate must be one of .*, not 'last'"),
        ({"score_type": "float16"}, "score_type must be one of .*, not 'float16'"),
        (
            {"negative_grades": "zero"},
            "negative_grades must be one of unjudged, judged, not 'zero'",
        ),
        ({"depth": 0}, "depth is 0; allowed: a whole number, 1 or more"),
    ],
)
def test_options_say_what_is_allowed(tmp_path, options, message):
    frame = pd.DataFrame({"topic": ["1"], "document": ["a"], "grade": [1]})
    run = pd.DataFrame({"run": ["r"], "topic": ["1"], "document": ["a"], "score": [1.0]})
    with pytest.raises(ValueError, match=message):
        read_collection(frame, run, **options)


def test_bad_frames_are_errors_that_name_the_row():
    run = pd.DataFrame({"run": "r", "topic": "1", "document": ["a", "b"], "score": [2.0, 1.0]})
    cases = [
        (run.drop(columns="score"), "no column 'score'"),
        (run.set_axis(["run", "topic", "topic", "score"], axis=1), "more than one column 'topic'"),
        (run[:0], "runs DataFrame is empty"),
        (
            run.assign(score=[1.0, None]),
            "row 1 .topic '1', document 'b'.: score 'nan' is not a finite",
        ),
        (run.assign(document=["a", None]), "row 1 .*: the document is missing or empty"),
        (
            run.assign(document="a"),
            "row 1 .*: document 'a' is in the ranking of topic '1' a second",
        ),
        ([run, run], "two runs are named 'r'"),
    ]
    for frame, message in cases:
        with pytest.raises(ValueError, match=message):
            read_collection(None, frame)
    judged = pd.DataFrame({"topic": "1", "document": ["a", "a"], "grade": [1, 0]})
    with pytest.raises(ValueError, match="row 1: document 'a' of topic '1' is judged a second"):
        read_qrels(judged)
    with pytest.raises(ValueError, match="row 1 .topic '1', document 'b'.: grade 0.9 is not"):
        read_qrels(judged.assign(document=["a", "b"], grade=[np.nan, 0.9]))
    listed = pd.DataFrame({"topic": "1", "document": ["a"], "grade": [1], "probability": [2.0]})
    with pytest.raises(ValueError, match="row 0: inclusion probability 2.0 must lie in"):
        read_qrels(listed, "probs")
    for grade in (-1, np.nan):
        with pytest.raises(ValueError, match=f"row 0: grade {grade} must be 0 or more"):
            read_qrels(listed.assign(grade=grade, probability=0.5), "probs")
    with pytest.raises(ValueError, match="row 0: stratum low must be a whole number"):
        read_qrels(listed.assign(stratum="low"), "sampleval")


def test_a_file_is_read_once(tmp_path):
    (tmp_path / "run").write_text(GOOD_RUN)
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    with pytest.raises(ValueError, match="run file .*run is named twice; once is allowed"):
        read_collection(None, [tmp_path / "run", str(tmp_path / "ru*")])
    with pytest.raises(ValueError, match="judgments file .*qrels is named twice"):
        read_collection([tmp_path / "qrels", tmp_path / ".." / tmp_path.name / "qrels"], None)


def test_a_run_that_is_in_the_collection_is_not_added_again(tmp_path):
    (tmp_path / "r").write_text(GOOD_RUN)
    collection = read_collection(None, tmp_path / "r")
    with pytest.raises(ValueError, match="run 'r' is in the collection already"):
        add_runs(collection, tmp_path / "r")
    frame = pd.DataFrame({"run": ["r"], "topic": ["1"], "document": ["a"], "score": [1.0]})
    with pytest.raises(ValueError, match="runs DataFrame: run 'r' is in the collection already"):
        add_runs(collection, frame)


def test_judgments_of_none_of_the_documents_that_runs_retrieve_are_suspected():
    run = pd.DataFrame({"run": "r", "topic": "1", "document": ["d-1", "d-2"], "score": [2.0, 1.0]})
    judged = pd.DataFrame({"topic": "1", "document": ["1", "2"], "grade": 1})
    with pytest.warns(UserWarning, match="they have '1' and so on, the runs 'd-1' and so on"):
        read_collection(judged, run)
    read_collection(judged.assign(document=["d-2", "3"]), run)
    read_collection(judged)


def test_documents_that_are_in_runs_for_other_topics_alone_are_asked_about():
    run = pd.DataFrame({"topic": ["1", "2"], "document": ["x", "z"], "score": 1.0})
    qrels = pd.DataFrame({"topic": ["1", "2"], "document": ["z", "x"], "grade": 1})
    with pytest.warns(UserWarning, match="for other topics: are the topics the same"):
        read_collection(qrels, run)


def test_ranks_that_were_cut_do_not_make_judgments_suspect():
    run = pd.DataFrame({"topic": "1", "document": ["x", "y"], "score": [2.0, 1.0]})
    qrels = pd.DataFrame({"topic": ["1"], "document": ["y"], "grade": [1]})
    cut = read_collection(qrels, run, depth=1)
    assert cut["rankings/ranking"].sizes["rank"] == 1


@pytest.mark.parametrize(
    ("name", "written"),
    [("Parquet", "to_parquet"), ("pickle", "to_pickle"), ("Feather", "to_feather")],
)
def test_binary_tables_are_named(tmp_path, name, written):
    if name != "pickle":
        pytest.importorskip("pyarrow")
    table = pd.DataFrame({"topic": ["1"] * 3, "document": list("abc"), "grade": [0, 1, 2]})
    getattr(table, written)(tmp_path / "qrels")
    with pytest.raises(ValueError, match=f"qrels is a {name} file, which is not read; write CSV"):
        read_collection(tmp_path / "qrels", None)
    (tmp_path / "plain").write_text("PAR1 0 a 1\n")
    assert read_collection(tmp_path / "plain", None)["topic"].values.tolist() == ["PAR1"]
