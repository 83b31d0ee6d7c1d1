"""Judgments and runs of ir_datasets by their ID: the real package, over files of this test."""

import sys

import ir_datasets
import numpy as np
import pytest
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import TrecQrels, TrecScoredDocs
from ir_datasets.util import LocalDownload

import bayeseval as be
from bayeseval.cli import main

QRELS = "1 0 a 2\n1 0 b 0\n2 0 a 0\n2 0 c 1\n"
RUN = "1 Q0 a 1 2 bm25\n1 Q0 b 2 1 bm25\n2 Q0 b 1 2 bm25\n2 Q0 c 2 1 bm25\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Folder with the files of a data set that is registered as `bayeseval-test`."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "qrels").write_text(QRELS)
    (folder / "run").write_text(RUN)
    whole = Dataset(
        TrecQrels(LocalDownload(folder / "qrels"), {0: "not relevant", 1: "relevant"}),
        TrecScoredDocs(LocalDownload(folder / "run")),
    )
    ir_datasets.registry.register("bayeseval-test", whole)
    ir_datasets.registry.register("bayeseval-test/bare", Dataset())
    return folder


def test_the_judgments_of_a_data_set_are_those_of_its_file(data):
    ours = be.read_collection("ir_datasets:bayeseval-test", data / "run")
    theirs = be.read_collection(data / "qrels", data / "run")
    np.testing.assert_array_equal(ours["judgments/grade"], theirs["judgments/grade"])
    run = be.read_collection(data / "qrels", {"bm25": "ir_datasets:bayeseval-test"})
    np.testing.assert_array_equal(run["rankings/ranking"], theirs["rankings/ranking"])


def test_the_program_takes_the_id_for_qrels(data, capsys):
    words = [str(data / "run"), "--estimator", "assumed", "-m", "P@1", "--format", "csv"]
    assert main(["evaluate", "ir_datasets:bayeseval-test", *words]) == 0
    by_id = capsys.readouterr().out
    assert main(["evaluate", str(data / "qrels"), *words]) == 0
    assert capsys.readouterr().out == by_id and "bm25,all,P@1,assumed,0.5" in by_id


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bayeseval-none", "ir_datasets has no data set 'bayeseval-none'; its IDs are listed at"),
        ("bayeseval-test/bare", "data set 'bayeseval-test/bare' of ir_datasets has no judgments"),
    ],
)
def test_a_data_set_without_judgments_is_named(data, name, message, capsys):
    with pytest.raises(ValueError, match=message):
        be.read_collection(f"ir_datasets:{name}")
    words = [str(data / "run"), "--estimator", "assumed", "-m", "P@1"]
    assert main(["evaluate", f"ir_datasets:{name}", *words]) == 2
    assert message in capsys.readouterr().err


def test_the_package_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(ValueError, match="needs the package ir_datasets; install it"):
        be.read_collection("ir_datasets:cranfield")
