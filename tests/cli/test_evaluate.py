"""`bayeseval evaluate`: formats, options and where each line goes."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayeseval as be

TOPICS = ("1", "2", "10")
HEADER = "run,topic,measure,estimator,estimate,standard_error,lower,upper"
FURTHER = "degrees_of_freedom,design_error,n_topics,outside_weight"
MEASURES = ["P@10", "RBP(p=0.8)", "AP"]
FLAGS = ["-m", "P@10", "-m", "RBP(p=0.8)", "-m", "AP"]


@pytest.fixture
def evaluate(command, files):
    """Evaluate runs by complete judgments."""

    def run(*words, runs="a", qrels="qrels"):
        paths = [files / name for name in runs]
        return command("evaluate", files / qrels, *paths, "--estimator", "assumed", *words)

    return run


def in_csv(answer):
    """Rows of an answer without mistake."""
    assert answer[0] == 0, answer[2]
    return list(csv.DictReader(io.StringIO(answer[1])))


@pytest.fixture
def scores(files):
    collection = be.read_collection(str(files / "qrels"), [str(files / name) for name in "abc"])
    return be.evaluate(collection, MEASURES, estimator="assumed")


def test_csv_has_the_columns_and_the_numbers_of_evaluate(evaluate, scores):
    code, out, err = evaluate(*FLAGS, "--per-topic", "--format", "csv", runs="abc")
    assert (code, out.splitlines()[0]) == (0, f"{HEADER},{FURTHER}")
    rows = pd.read_csv(io.StringIO(out), dtype={"topic": str})
    order = [(run, topic) for run in "abc" for topic in (*TOPICS, "all")]
    assert list(rows[["run", "topic"]].drop_duplicates().itertuples(index=False, name=None)) == (
        order
    )
    assert set(rows["estimator"]) == {"assumed"}
    mean = be.mean_over_topics(scores)
    for row in rows.itertuples():
        place = {"run": row.run, "measure": row.measure}
        known = mean.sel(place) if row.topic == "all" else scores.sel(place | {"topic": row.topic})
        assert row.estimate == pytest.approx(known["estimate"].item(), abs=1e-15)


def test_the_order_of_lines_and_the_blanks_between_fields_do_not_matter(evaluate, files):
    words = [*FLAGS, "--format", "csv", "--per-topic"]
    first = evaluate(*words)
    rng = np.random.default_rng(5)
    for name in ("qrels", "a"):
        lines = [line.replace(" ", "\t  ") for line in (files / name).read_text().splitlines()]
        (files / name).write_text("# shuffled\n" + "\n\n".join(rng.permutation(lines)) + "\n")
    assert first[0] == 0 and evaluate(*words) == first


def test_without_per_topic_only_the_mean_is_written(evaluate):
    (row,) = in_csv(evaluate("-m", "P@10", "--format", "csv"))
    assert (row["run"], row["topic"], row["measure"]) == ("a", "all", "P@10")
    assert float(row["lower"]) < float(row["estimate"]) < float(row["upper"])


def test_json_has_what_was_asked_and_null_where_there_is_no_number(evaluate):
    code, out, err = evaluate("-m", "P@10", "--format", "json", "--ci-prob", "0.8")
    answer = json.loads(out)
    assert (code, answer["estimator"], answer["ci_prob"]) == (0, "assumed", 0.8)
    assert answer["scores"][0]["design_error"] is None
    assert set(answer["scores"][0]) == {*HEADER.split(","), *FURTHER.split(",")}
    assert answer["scores"][0]["n_topics"] == 3


def test_json_has_null_for_infinite_degrees_of_freedom(command, files, draw_sample):
    """Where all is judged the errors are known; Infinity is no JSON."""
    design = draw_sample(files, runs="a", budget=40)
    words = [files / "qrels", files / "a", *design, "--estimator", "dyn", "-m", "P@10"]
    code, out, err = command("evaluate", *words, "--format", "json")
    row = json.loads(out, parse_constant=pytest.fail)["scores"][0]
    assert (code, row["standard_error"], row["degrees_of_freedom"]) == (0, 0.0, None)


def test_trec_eval_format_has_three_columns(evaluate):
    code, out, err = evaluate(*FLAGS, "--per-topic", "--format", "trec_eval", runs="ab")
    lines = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and {len(line) for line in lines} == {3}
    assert [line[2] for line in lines if line[0].strip() == "runid"] == ["a", "b"]
    assert len(lines) == 2 * (1 + 4 * 3)


def test_table_names_every_run_and_measure(evaluate, scores):
    code, out, err = evaluate(*FLAGS, runs="ab")
    assert code == 0 and "RBP(p=0.8)" in out and "intervals over the population" in out
    mean = be.mean_over_topics(scores)
    assert f"{mean['estimate'].sel(run='b', measure='AP').item():.4f}" in out


def test_output_goes_to_a_file_and_stdout_stays_empty(evaluate, files):
    words = ["--format", "csv", "--output", files / "scores.csv"]
    code, out, err = evaluate("-m", "AP", *words)
    assert (code, out) == (0, "")
    written = (files / "scores.csv").read_text()
    assert written.splitlines()[0] == f"{HEADER},{FURTHER}"
    before = sorted(path.name for path in files.iterdir())
    assert evaluate("-m", "RR", *words, "--estimator", "stat")[0] == 2
    assert (files / "scores.csv").read_text() == written
    assert sorted(path.name for path in files.iterdir()) == before


def test_options_reach_evaluate(evaluate):
    words = ["-m", "NumRelRet", "--format", "csv"]
    rows = [in_csv(evaluate(*words, *flag))[0] for flag in ([], ["--relevance-level", "2"])]
    assert rows[1]["measure"] == "NumRelRet(rel=2)"
    plain, strict = (float(row["estimate"]) for row in rows)
    assert plain > strict > 0


def test_a_topic_without_judgment_is_one_warning_line(evaluate, files):
    (files / "few").write_text("1 0 d00 1\n2 0 d01 1\n10 0 d02 -1\n")
    answer = evaluate("-m", "P@10", "--format", "csv", "--per-topic", qrels="few")
    (warning,) = [line for line in answer[2].splitlines() if "warning" in line]
    assert "1 topic has no judgment yet and is left out: '10'; means are over 2 topics" in warning
    values = {row["topic"]: row["estimate"] for row in in_csv(answer)}
    assert values["10"] == "" and values["1"] != ""


def test_intervals_rest_on_the_error_that_stands_beside_them(command, files, draw_sample):
    design = draw_sample(files, budget=6)
    words = [files / "judged", *(files / name for name in "abc"), *design, "--estimator", "dyn"]
    words += ["-m", "AP", "-m", "P@5", "--format", "csv", "--population"]
    for population in ("sample", "topics"):
        rows = pd.read_csv(io.StringIO(command("evaluate", *words, population)[1]))
        half = stats.t.ppf(0.95, rows["degrees_of_freedom"]) * rows["standard_error"]
        inside = rows["upper"] != 1.0  # and not cut to what is possible
        length = rows["upper"] - rows["estimate"]
        np.testing.assert_allclose(length[inside], half[inside], atol=1e-12)
        assert inside.any()
        assert (rows["standard_error"] > 0).all() and (rows["design_error"] > 0).all()


def test_sampleval_brings_its_own_design(command, files):
    lines = []
    for line in (files / "qrels").read_text().splitlines():
        topic, iteration, document, grade = line.split()
        number = int(document[1:])
        shown = grade if number < 10 or number % 3 == 0 else "-1"
        lines.append(f"{topic} {iteration} {document} {1 if number < 10 else 2} {shown}")
    (files / "sampled").write_text("\n".join(lines) + "\n")
    words = ["-m", "P@10", "--estimator", "stat", "--qrels-format", "sampleval", "--format", "csv"]
    (row,) = in_csv(command("evaluate", files / "sampled", files / "a", *words))
    assert float(row["standard_error"]) > 0
    assert float(row["lower"]) < float(row["estimate"]) < float(row["upper"])


def process(command, folder):
    """Run a shell command in a folder, with this package on the path."""
    environment = os.environ | {"PYTHONPATH": str(Path(be.__file__).parents[1])}
    return subprocess.run(
        ["bash", "-c", command.replace("bayeseval", f"{sys.executable} -m bayeseval", 1)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_the_program_runs_as_a_process(files):
    done = process("bayeseval evaluate qrels a -m AP --estimator assumed --format csv", files)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"{HEADER},{FURTHER}")


def test_a_reader_that_stops_early_is_no_error(files):
    words = "bayeseval evaluate qrels a b c -m AP --estimator assumed --per-topic --format csv"
    done = process(f"{words} | true; exit ${{PIPESTATUS[0]}}", files)
    assert (done.returncode, done.stderr) == (0, "")
