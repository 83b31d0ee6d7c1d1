"""`bayeseval demo`: the shipped collection, sampled, estimated and compared."""

import pandas as pd
import pytest


def test_demo_prints_the_best_runs_and_saves_scores_and_plot(command, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    code, out, err = command("demo")
    assert code == 0, err
    assert all(word in out for word in ("truth", "assumed", "stat", "dyn", "P@10"))
    assert "truth: the score with all documents of the pool judged" in out
    assert (tmp_path / "demo-output" / "intervals.png").read_bytes()[:4] == b"\x89PNG"
    rows = pd.read_csv(tmp_path / "demo-output" / "scores.csv")
    assert rows["run"].nunique() == 129
    wide = rows[rows["measure"] == "P@10"].pivot(
        index="run", columns="estimator", values="estimate"
    )
    error = wide.sub(wide["truth"], axis=0)
    assert error["dyn"].pow(2).mean() < error["stat"].pow(2).mean()
    assert error["dyn"].mean() == pytest.approx(0.0, abs=0.03)
    assert error["assumed"].mean() < -0.03


def test_demo_files_are_a_collection_that_the_commands_read(command, tmp_path):
    folder = tmp_path / "files"
    code, out, err = command("demo", "--files", folder)
    assert (code, out) == (0, "") and "6 runs in runs/ and 2 in new/" in err
    code, out, err = command(
        "evaluate", folder / "complete.qrels", folder / "runs/*", folder / "new/*", "-m", "P@10",
        "--estimator", "assumed", "--format", "csv",
    )  # fmt: skip
    assert code == 0 and "unjudged" not in err and len(out.splitlines()) == 9
    assert command("demo", "--files", folder)[0] == 2
