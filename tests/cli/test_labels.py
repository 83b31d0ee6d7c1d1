"""`--labels` in the commands: read, joined, said, learned from."""

import csv
import io
import json

import numpy as np
import pytest

import bayeseval as be
from bayeseval.predictors import PREDICTORS, pooled


@pytest.fixture
def labels(files):
    """A judge that agrees with the qrels, and one more document that nobody retrieved."""
    (files / "gpt.txt").write_text((files / "qrels").read_text() + "1 0 elsewhere 1\n")
    return files / "gpt.txt"


def drawn(command, files, *words):
    """Sample 12 documents a topic and judge them."""
    said = command(
        "sample", files / "a", files / "b", "--budget", 12, "--n-strata", 4, "--seed", 3,
        "--design-file", files / "design.nc", "--output", files / "judge", *words,
    )  # fmt: skip
    wanted = {tuple(line.split("\t")) for line in (files / "judge").read_text().splitlines()}
    lines = [line for line in (files / "qrels").read_text().splitlines()
             if (line.split()[0], line.split()[2]) in wanted]  # fmt: skip
    (files / "judged").write_text("\n".join(lines) + "\n")
    return said


def errors_of(out):
    return [float(row["standard_error"]) for row in csv.DictReader(io.StringIO(out))]


def test_evaluate_learns_from_labels_and_says_how_many_there_are(command, files, labels):
    drawn(command, files)
    words = ["evaluate", files / "judged", files / "a", files / "b", "--design",
             files / "design.nc", "--estimator", "dyn", "-m", "P@5", "--format", "csv"]  # fmt: skip
    plain = command(*words)
    code, out, err = command(*words, "--labels", labels)
    assert code == 0
    assert "labels 'gpt': 120 of 120 pairs have one" in err
    assert "1 of 121 labels are left out" in err
    assert np.mean(errors_of(out)) < 0.9 * np.mean(errors_of(plain[1]))
    raw = command(*words, "--labels", f"judge={labels}", "--predictor", "external")
    assert raw[0] == 0 and "'judge' are taken for the relevance as they are" in raw[2]


def test_a_new_row_of_predictors_is_one_for_the_command_line(command, files, labels, monkeypatch):
    drawn(command, files)
    alike = {
        "pooled_too": lambda sample, relevance: pooled(sample, relevance),
        "labels_too": lambda sample, relevance, *, values: pooled(sample, relevance),
    }
    for name, predictor in alike.items():
        monkeypatch.setitem(PREDICTORS, name, predictor)
    words = ["evaluate", files / "judged", files / "a", "--design", files / "design.nc",
             "--estimator", "dyn", "-m", "P@5", "--format", "csv"]  # fmt: skip
    known = command(*words)[1]
    assert command(*words, "--predictor", "pooled_too")[:2] == (0, known)
    code, _, err = command(*words, "--predictor", "labels_too")
    assert code == 2 and "constant, pooled, rank_logistic, pooled_too or constant:VALUE" in err
    words += ["--labels", labels, "--predictor"]
    assert command(*words, "labels_too")[:2] == (0, known)
    code, _, err = command(*words, "pooled_too")
    assert code == 2 and "must be pooled, recalibrated, labels_too (learned from" in err


def test_sample_takes_labels_into_its_strata(command, files, labels):
    drawn(command, files, "--labels", f"gpt={labels}")
    design = be.read_design(files / "design.nc")
    assert json.loads(design.attrs["parameters"])["labels"] == ["gpt"]


@pytest.mark.parametrize("name", ["compare", "rank"])
def test_comparisons_learn_from_labels_too(command, files, labels, name):
    drawn(command, files)
    words = [name, files / "judged", files / "a", files / "b", "--design", files / "design.nc",
             "--estimator", "dyn", "-m", "P@5", "--labels", labels]  # fmt: skip
    code, _, err = command(*words)
    assert code == 0 and "labels 'gpt': 120 of 120 pairs" in err


def test_fit_takes_labels_as_observations(command, files, labels):
    drawn(command, files)
    code, _, err = command(
        "fit", files / "judged", files / "a", files / "b", "--design", files / "design.nc",
        "-m", "P@5", "--approximation", "laplace", "--labels", labels, "--no-plots", "--seed", 1,
        "--draws", 50, "--output", files / "fit",
    )  # fmt: skip
    assert code == 0, err
    assert "gpt_rate" in be.open_fit(files / "fit" / "fit.nc")["posterior"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--estimator", "stat"],
            "--labels goes with --estimator dyn or combined; 'stat' learns from none",
        ),
        (["--estimator", "dyn", "--predictor", "constant"], "--predictor with --labels must be"),
        (["--estimator", "dyn", "--labels", "x=nowhere"], "there is no file 'nowhere' of labels"),
        (["--estimator", "dyn", "--labels", "gpt=FILE"], "two judges 'gpt'"),
        (["--estimator", "dyn", "--labels", "=FILE"], "names no judge; write NAME=FILE"),
    ],
)
def test_labels_without_effect_or_file_are_refused(command, files, labels, words, message):
    words = [str(word).replace("FILE", str(labels)) for word in words]
    code, _, err = command(
        "evaluate", files / "qrels", files / "a", "-m", "P@5", "--labels", labels, *words
    )
    assert code == 2 and message in err
    code, _, err = command("fit", files / "qrels", files / "a", "-m", "P@5", "--model", "urn",
                           "--pool-depth", 3, "--labels", labels)  # fmt: skip
    assert code == 2 and "not with --model urn" in err


@pytest.mark.parametrize("words", [["evaluate", "--estimator", "dyn"], ["fit", "--seed", "1"]])
def test_labels_of_the_sampled_documents_alone_are_refused(command, files, words):
    drawn(command, files)
    name, *options = words
    given = [files / "judged", files / "a", files / "b", "--design", files / "design.nc",
             "-m", "P@5", "--labels", f"gpt={files / 'judged'}", *options]  # fmt: skip
    if name == "fit":
        given += ["--output", files / "fit"]
    code, out, err = command(name, *given)
    assert (code, out) == (2, "") and not (files / "fit").exists()
    assert "36 of 36 sampled documents have one and 0 of 84 others" in err
