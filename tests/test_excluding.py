"""Documents that do not count for a topic leave rankings and judgments, and later ranks move up."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.cli import main

GRADES = {"q1": {"q1": 2, "a": 1, "b": 0, "u": 1}, "q2": {"a": 0, "b": 1, "q2": 0}}
RUNS = {
    "r": {"q1": {"q1": 9.0, "b": 8.0, "a": 7.0}, "q2": {"c": 3.0, "b": 2.0, "a": 1.0}},
    "s": {"q1": {"a": 9.0, "q1": 8.0, "c": 7.0}, "q2": {"q2": 3.0, "a": 2.0, "b": 1.0}},
}
EXCLUDED = {"q1": ["q1", "u"], "q2": ["q2"]}
FILES = {
    "lines": "q1 q1\nq1\tu\n\nq2 q2\n",
    "commas.csv": "topic,document\nq1,q1\nq1,u\nq2,q2\n",
    "semicolons": "why;qid;docno\nown;q1;q1\n;q1;u\n;q2;q2\n",
    "dict.json": json.dumps(EXCLUDED),
    "list.json": json.dumps([{"qid": t, "docid": d} for t, of in EXCLUDED.items() for d in of]),
}


def without(table: dict) -> dict:
    """The same judgments or run, less the excluded documents."""
    return {
        topic: {document: x for document, x in of.items() if document not in EXCLUDED[topic]}
        for topic, of in table.items()
    }


def check_same(found: xr.DataTree, expected: xr.DataTree) -> None:
    for name in ("topic", "run", "document", "pair_topic"):
        np.testing.assert_array_equal(found[name], expected[name])
    for name in ("rankings/ranking", "judgments/grade", "judgments/pooled"):
        np.testing.assert_array_equal(found[name], expected[name])
    assert found.attrs["runs_cut"] == expected.attrs["runs_cut"]


@pytest.mark.parametrize("depth", [None, 1, 2, 9])
def test_what_is_excluded_might_as_well_not_have_been_there(depth):
    found = be.read_collection(GRADES, RUNS, exclude=EXCLUDED, depth=depth)
    runs = {name: without(run) for name, run in RUNS.items()}
    check_same(found, be.read_collection(without(GRADES), runs, depth=depth))
    assert found.attrs["excluded"] == 3
    one = be.read_collection(GRADES, {"r": RUNS["r"]}, exclude=EXCLUDED, depth=depth)
    check_same(be.add_runs(one, {"s": RUNS["s"]}, exclude=EXCLUDED), found)


@pytest.mark.parametrize("name", FILES)
def test_documents_to_exclude_come_in_any_table(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    expected = be.read_collection(GRADES, RUNS, exclude=EXCLUDED)
    check_same(be.read_collection(GRADES, RUNS, exclude=tmp_path / name), expected)
    rows = [(topic, document) for topic, of in EXCLUDED.items() for document in of]
    frame = pd.DataFrame(rows, columns=["topic", "document"])
    check_same(be.read_collection(GRADES, RUNS, exclude=frame), expected)


def test_the_program_leaves_them_out_of_samples_too(tmp_path, capsys):
    for name, run in RUNS.items():
        lines = [f"{t} Q0 {d} 0 {x} {name}\n" for t, of in run.items() for d, x in of.items()]
        (tmp_path / name).write_text("".join(lines))
    lines = [f"{t} 0 {d} {x}\n" for t, of in GRADES.items() for d, x in of.items()]
    (tmp_path / "qrels").write_text("".join(lines))
    (tmp_path / "out").write_text(FILES["lines"])
    runs = [str(tmp_path / name) for name in RUNS]
    given = [str(tmp_path / "qrels"), *runs, "--estimator", "assumed", "-m", "P@1"]
    flags = ["--exclude", str(tmp_path / "out")]
    assert main(["evaluate", *given, *flags, "--format", "csv"]) == 0
    out = capsys.readouterr().out  # of r b and c, of s a and a
    assert "r,all,P@1,assumed,0.0," in out and "s,all,P@1,assumed,0.5," in out
    assert main(["evaluate", *given, *flags, "--output", str(tmp_path / "out")]) == 2
    assert "would replace" in capsys.readouterr().err
    assert main(["sample", *runs, *flags, "--design-file", str(tmp_path / "design.nc")]) == 0
    listed = {tuple(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert listed == {("q1", d) for d in "abc"} | {("q2", d) for d in "abc"}


def test_what_cannot_be_excluded_is_refused(tmp_path):
    with pytest.warns(UserWarning, match="none of 1 documents to exclude is .* 'q1' document 'A'"):
        be.read_collection(GRADES, RUNS, exclude={"q1": ["A"]})
    (tmp_path / "f").write_text("q1 a\nq1 0 b\n")
    with pytest.raises(ValueError, match="f, line 2: 3 fields where documents to exclude have 2"):
        be.read_collection(GRADES, RUNS, exclude=tmp_path / "f")
    (tmp_path / "f").write_text('{"q1": "a"}')
    with pytest.raises(ValueError, match=r"f must be {topic: \[document, ...\]}"):
        be.read_collection(GRADES, RUNS, exclude=tmp_path / "f")
    with pytest.raises(TypeError, match="exclude must be a path, a DataFrame .*, not int"):
        be.read_collection(GRADES, RUNS, exclude=3)
    sampled = pd.DataFrame(
        {"topic": "q1", "document": ["a"], "grade": [1], "method": "x", "probability": [0.5]}
    )
    with pytest.raises(ValueError, match="exclude goes with plain qrels"):
        be.read_collection(sampled, RUNS, qrels_format="prels", exclude={"q1": ["a"]})


def test_a_design_that_may_draw_an_excluded_document_is_refused(tmp_path, capsys):
    for name, run in RUNS.items():
        lines = [f"{t} Q0 {d} 0 {x} {name}\n" for t, of in run.items() for d, x in of.items()]
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "qrels").write_text(
        "".join(f"{t} 0 {d} {x}\n" for t, of in GRADES.items() for d, x in of.items())
    )
    (tmp_path / "out").write_text(FILES["lines"])
    runs, design = [str(tmp_path / name) for name in RUNS], str(tmp_path / "design.nc")
    assert main(["sample", *runs, "--design-file", design, "--output", str(tmp_path / "l")]) == 0
    words = [str(tmp_path / "qrels"), *runs, "--design", design, "-m", "P@1"]
    capsys.readouterr()
    assert main(["evaluate", *words, "--exclude", str(tmp_path / "out")]) == 2
    assert "which the design may draw; draw the sample without" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"topic": "q1", "document": "a"}', '{"q1": ["a"]}'])
def test_one_object_of_json_is_a_row_or_a_table_by_topic(tmp_path, text):
    (tmp_path / "f.json").write_text(text)
    found = be.read_collection(GRADES, RUNS, exclude=tmp_path / "f.json")
    check_same(found, be.read_collection(GRADES, RUNS, exclude={"q1": ["a"]}))
