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


def evaluated(files, estimator="assumed"):
    collection = be.read_collection(str(files / "qrels"), [str(files / name) for name in "abc"])
    return be.evaluate(collection, MEASURES, estimator=estimator)


def test_csv_has_the_columns_and_the_numbers_of_evaluate(command, files):
    code, out, err = command(
        "evaluate", files / "qrels", files / "a", files / "b", files / "c", *FLAGS,
        "--estimator", "assumed", "--per-topic", "--format", "csv",
    )  # fmt: skip
    assert (code, out.splitlines()[0]) == (0, f"{HEADER},{FURTHER}")
    rows = pd.read_csv(io.StringIO(out), dtype={"topic": str})
    order = [(run, topic) for run in "abc" for topic in ("1", "2", "10", "all")]
    assert list(rows[["run", "topic"]].drop_duplicates().itertuples(index=False, name=None)) == (
        order
    )
    assert set(rows["estimator"]) == {"assumed"}
    scores = evaluated(files)
    mean = be.mean_over_topics(scores)
    for row in rows.itertuples():
        place = {"run": row.run, "measure": row.measure}
        known = mean.sel(place) if row.topic == "all" else scores.sel(place | {"topic": row.topic})
        assert row.estimate == pytest.approx(known["estimate"].item(), abs=1e-15)


def test_the_order_of_lines_and_the_blanks_between_fields_do_not_matter(command, files):
    words = [*FLAGS, "--estimator", "assumed", "--format", "csv", "--per-topic"]
    first = command("evaluate", files / "qrels", files / "a", *words)
    rng = np.random.default_rng(5)
    for name in ("qrels", "a"):
        lines = [line.replace(" ", "\t  ") for line in (files / name).read_text().splitlines()]
        (files / name).write_text("# shuffled\n" + "\n\n".join(rng.permutation(lines)) + "\n")
    assert first[0] == 0
    assert command("evaluate", files / "qrels", files / "a", *words) == first


def test_without_per_topic_only_the_mean_is_written(command, files):
    code, out, err = command(
        "evaluate", files / "qrels", files / "a", "-m", "P@10", "--estimator", "assumed",
        "--format", "csv",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [(row["run"], row["topic"], row["measure"]) for row in rows] == [("a", "all", "P@10")]
    assert (rows[0]["lower"], rows[0]["upper"]) == ("", "")


def test_json_says_what_was_asked_and_has_null_where_there_is_no_number(command, files):
    code, out, err = command(
        "evaluate", files / "qrels", files / "a", "-m", "P@10", "--estimator", "assumed",
        "--format", "json", "--ci-prob", "0.8",
    )  # fmt: skip
    answer = json.loads(out)
    assert (code, answer["estimator"], answer["ci_prob"]) == (0, "assumed", 0.8)
    assert answer["scores"][0]["lower"] is None
    assert set(answer["scores"][0]) == {*HEADER.split(","), *FURTHER.split(",")}
    assert answer["scores"][0]["n_topics"] == 3


def test_json_has_null_for_infinite_degrees_of_freedom(command, files, draw_sample):
    """Where all is judged the errors are known; Infinity is no JSON."""
    design = draw_sample(files, runs="a", budget=40)
    words = [files / "qrels", files / "a", *design, "--estimator", "dyn", "-m", "P@10"]
    code, out, err = command("evaluate", *words, "--format", "json")
    row = json.loads(out, parse_constant=pytest.fail)["scores"][0]
    assert (code, row["standard_error"], row["degrees_of_freedom"]) == (0, 0.0, None)


def test_trec_eval_format_has_three_columns(command, files):
    code, out, err = command(
        "evaluate", files / "qrels", files / "a", files / "b", *FLAGS, "--estimator", "assumed",
        "--per-topic", "--format", "trec_eval",
    )  # fmt: skip
    lines = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert {len(line) for line in lines} == {3}
    assert [line[2] for line in lines if line[0].strip() == "runid"] == ["a", "b"]
    assert len(lines) == 2 * (1 + 4 * 3)


def test_table_names_every_run_and_measure(command, files):
    code, out, err = command(
        "evaluate", files / "qrels", files / "a", files / "b", *FLAGS, "--estimator", "assumed"
    )
    assert code == 0
    assert "RBP(p=0.8)" in out
    assert "intervals over" not in out
    mean = be.mean_over_topics(evaluated(files))
    assert f"{mean['estimate'].sel(run='b', measure='AP').item():.4f}" in out


def test_output_goes_to_a_file_and_stdout_stays_empty(command, files):
    target = files / "scores.csv"
    code, out, err = command(
        "evaluate", files / "qrels", files / "a", "-m", "AP", "--estimator", "assumed",
        "--format", "csv", "--output", target,
    )  # fmt: skip
    assert (code, out) == (0, "")
    assert target.read_text().splitlines()[0] == f"{HEADER},{FURTHER}"
    before = sorted(path.name for path in files.iterdir())
    code, out, err = command(
        "evaluate", files / "qrels", files / "a", "-m", "RR", "--estimator", "stat",
        "--format", "csv", "--output", target,
    )  # fmt: skip
    assert code == 2
    assert target.read_text().splitlines()[0] == f"{HEADER},{FURTHER}"
    assert sorted(path.name for path in files.iterdir()) == before


def test_options_reach_evaluate(command, files):
    rows = {}
    for flags in ([], ["--relevance-level", "2"], ["--depth", "5"]):
        code, out, err = command(
            "evaluate", files / "qrels", files / "a", "-m", "NumRelRet", "--estimator", "assumed",
            "--format", "csv", *flags,
        )  # fmt: skip
        assert code == 0
        rows[" ".join(flags)] = next(csv.DictReader(io.StringIO(out)))
    assert rows["--relevance-level 2"]["measure"] == "NumRelRet(rel=2)"
    plain, strict, shallow = (float(row["estimate"]) for row in rows.values())
    assert plain > strict > 0
    assert shallow <= 5


def test_a_duplicate_can_be_kept_once_and_is_counted(command, files):
    with (files / "a").open("a") as run:
        run.write("1 Q0 d00 0 -5 a\n")
    words = ["evaluate", files / "qrels", files / "a", "-m", "AP", "--estimator", "assumed"]
    assert command(*words)[0] == 2
    code, out, err = command(*words, "--on-duplicate", "best", "--format", "csv")
    assert code == 0
    assert [line for line in err.splitlines() if "warning" in line and "1 " in line]


def test_a_topic_without_judgment_is_one_warning_line(command, files):
    (files / "few").write_text("1 0 d00 1\n2 0 d01 1\n10 0 d02 -1\n")
    code, out, err = command(
        "evaluate", files / "few", files / "a", "-m", "P@10", "--estimator", "assumed",
        "--format", "csv", "--per-topic",
    )  # fmt: skip
    warned = [line for line in err.splitlines() if "warning" in line]
    assert code == 0
    assert len(warned) == 1
    note = "1 topic has no judgment yet and is left out: '10'; means are over 2 topics"
    assert note in warned[0]
    values = {row["topic"]: row["estimate"] for row in csv.DictReader(io.StringIO(out))}
    assert values["10"] == ""
    assert values["1"] != ""


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
    code, out, err = command(
        "evaluate", files / "sampled", files / "a", "-m", "P@10", "--estimator", "stat",
        "--qrels-format", "sampleval", "--format", "csv",
    )  # fmt: skip
    row = next(csv.DictReader(io.StringIO(out)))
    assert code == 0
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
