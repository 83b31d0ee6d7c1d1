"""Files whose names are not UTF-8, as a zip from another system gives, are read and named."""

import json
import os
import sys

import pytest

import bayeseval as be

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 there")
LINES = {
    "run": "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n2 Q0 a 1 2 r\n",
    "other": "1 Q0 b 1 2 s\n1 Q0 a 2 1 s\n2 Q0 b 1 2 s\n",
    "qrels": "1 0 a 1\n1 0 b 0\n2 0 a 0\n2 0 b 1\n",
    "labels": "1 a 1\n1 b 0\n2 a 0\n2 b 1\n",
    "scores": "map\t1\t.5\nmap\t2\t.4\nmap\tall\t.45\n",
}
TABLES = {
    "run": "qid,docno,score\n1,a,2\n1,b,1\n2,a,2\n",
    "qrels": "topic,document,grade\n1,a,1\n1,b,0\n2,a,0\n2,b,1\n",
    "labels": "topic;document;label\n1;a;1\n1;b;0\n2;a;0\n2;b;1\n",
    "scores": "topic,x,y\n1,.1,.3\n2,.2,.2\n",
    "groups": "topic,group\n1,x\n2,y\n",
}
ASSUMED = ["--estimator", "assumed", "-m", "P@1"]


@pytest.fixture
def named(tmp_path):
    """A file with these contents, whose name has a byte that is no UTF-8."""

    def write(kind: str, text: str) -> str:
        path = os.path.join(os.fsencode(tmp_path), kind.encode() + b"\xe9.txt")
        with open(path, "wb") as file:
            file.write(text.encode())
        return os.fsdecode(path)

    return write


@pytest.mark.parametrize("texts", [LINES, TABLES], ids=["lines", "tables"])
def test_a_name_that_is_no_utf_8_is_read_and_escaped(texts, named, command):
    run, qrels, other = (
        named("run", texts["run"]),
        named("q", texts["qrels"]),
        named("o", LINES["other"]),
    )
    collection = be.read_collection(qrels, [run, other])
    name = "r" if texts is LINES else r"run\xe9.txt"
    assert collection["run"].to_numpy().tolist() == [name, "s"]
    labelled = be.add_predictions(collection, "gpt", named("labels", texts["labels"]))
    assert labelled["predictors/gpt"].notnull().sum() == 4
    assert be.read_scores(named("scores", texts["scores"]), measure="AP").sizes["topic"] == 2
    groups = named("groups", TABLES["groups"])
    for words in (
        ["evaluate", qrels, run, other, *ASSUMED],
        ["compare", qrels, run, other, *ASSUMED, "--topic-groups", groups],
    ):
        code, out, err = command(*words, "--format", "json")
        assert code == 0, err
        assert json.dumps(name)[1:-1] in out


@pytest.mark.parametrize("texts", [LINES, TABLES], ids=["lines", "tables"])
def test_a_name_that_is_no_utf_8_is_part_of_every_message(texts, named, command):
    wrong = "9\n" if texts is LINES else "9,9,9,9;9;9;9\n"
    good = {kind: named(f"good {kind}", text) for kind, text in texts.items()}
    bad = {kind: named(f"bad {kind}", text + wrong) for kind, text in texts.items()}
    collection = be.read_collection(good["qrels"], good["run"])
    readers = {
        "run": lambda path: be.read_collection(None, path),
        "qrels": be.read_collection,
        "labels": lambda path: be.add_predictions(collection, "gpt", path),
        "scores": lambda path: be.read_scores(path, measure="AP"),
    }
    words = {
        "run": lambda path: ["evaluate", good["qrels"], path, *ASSUMED],
        "qrels": lambda path: ["evaluate", path, good["run"], *ASSUMED],
        "labels": lambda path: ["doctor", good["qrels"], good["run"], "--labels", path],
        "scores": lambda path: ["compare", "--scores", path, "-m", "AP"],
    }
    for kind, read in readers.items():
        with pytest.raises(ValueError, match=rf"bad {kind}\\xe9.txt"):
            read(bad[kind])
        for path in (bad[kind], f"{bad[kind]}.missing"):
            code, out, err = command(*words[kind](path))
            if kind == "labels":  # which doctor lists
                assert code == 2 and r"bad labels\xe9.txt" in out + err
                continue
            assert (code, out) == (2, "") and rf"bad {kind}\xe9.txt" in err, kind
            assert err.count("\n") == 1
