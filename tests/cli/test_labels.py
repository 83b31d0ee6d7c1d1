"""`--labels` in the commands: read, joined, counted and used."""

import csv
import io
import json

import numpy as np
import pytest

import bayeseval as be


@pytest.fixture
def labels(files):
    """A judge that agrees with the qrels, and one more document that nobody retrieved."""
    (files / "gpt.txt").write_text((files / "qrels").read_text() + "1 0 elsewhere 1\n")
    return files / "gpt.txt"


@pytest.fixture
def drawn(files, draw_sample):
    """Words that name judgments of 12 documents a topic, the runs and their design."""
    design = draw_sample(files, runs="ab", n_strata=4, seed=3)
    return [files / "judged", files / "a", files / "b", *design, "-m", "P@5"]


def errors_of(out):
    return [float(row["standard_error"]) for row in csv.DictReader(io.StringIO(out))]


def test_evaluate_uses_labels_and_counts_them(command, drawn, labels):
    words = ["evaluate", *drawn, "--estimator", "dyn", "--format", "csv"]
    plain = command(*words)
    code, out, err = command(*words, "--labels", labels)
    assert code == 0
    assert "labels 'gpt': 120 of 120 pairs have one" in err
    assert "1 of 121 labels are left out" in err
    assert np.mean(errors_of(out)) < 0.9 * np.mean(errors_of(plain[1]))


def test_sample_takes_labels_into_its_strata(files, labels, draw_sample):
    draw_sample(files, labels=labels)
    design = be.read_design(files / "design.nc")
    assert json.loads(design.attrs["parameters"])["labels"] == ["gpt"]


@pytest.mark.parametrize("name", ["compare", "rank"])
def test_comparisons_use_labels_too(command, drawn, labels, name):
    code, _, err = command(name, *drawn, "--estimator", "dyn", "--labels", labels)
    assert code == 0 and "labels 'gpt': 120 of 120 pairs" in err


def test_fit_takes_labels_as_observations(command, files, drawn, labels):
    words = ["--labels", labels, "--seed", 1]
    code, _, err = command("fit", *drawn, *words, "--draws", 50, "--output", files / "fit")
    assert code == 0, err
    assert "gpt_rate" in be.open_fit(files / "fit" / "fit.nc")["posterior"]


@pytest.mark.parametrize("words", [["evaluate", "--estimator", "dyn"], ["fit", "--seed", "1"]])
def test_labels_of_the_sampled_documents_alone_are_refused(command, files, drawn, words):
    name, *options = words
    options += ["--output", files / "fit"] if name == "fit" else []
    code, out, err = command(name, *drawn, "--labels", f"gpt={files / 'judged'}", *options)
    assert (code, out) == (2, "") and not (files / "fit").exists()
    assert "36 of 36 sampled documents have one and 0 of 84 others" in err
