"""Scores of other tools in the place of judgments and runs: `--scores`."""

import io

import pandas as pd
import pytest

import bayeseval as be


@pytest.fixture
def judged(files, command):
    """Words for the judgments and runs, and a folder of their scores as trec_eval writes them."""
    words = [files / "qrels", *(files / name for name in "abc"), "--estimator", "assumed"]
    asked = ["-m", "P@10", "-m", "AP", "--per-topic", "--format", "trec_eval"]
    (files / "scores").write_text(command("evaluate", *words, *asked)[1])
    return words, ["--scores", files / "scores"]


def rows(out):
    return pd.read_csv(io.StringIO(out))


@pytest.mark.parametrize("name", ["compare", "rank", "evaluate"])
def test_answers_from_scores_are_those_from_judgments(command, judged, name):
    words, scores = judged
    asked = ["-m", "map", "--format", "csv"]
    _, out, said = command(name, *words, *asked)
    expected = rows(out)
    code, out, err = command(name, *scores, *asked)
    assert (code, err) == (0, said) and set(rows(out)["estimator"]) == {"given"}
    unknown = [column for column in expected if column.startswith("outside_weight")]
    shown = [column for column in expected if column not in ("estimator", *unknown)]
    pd.testing.assert_frame_equal(rows(out)[shown], expected[shown], atol=1e-3, rtol=2e-2)
    assert rows(out)[unknown].isna().all(axis=None)


def test_a_table_of_runs_gives_plans_and_a_page(command, files):
    table = files / "ap.csv"
    table.write_text("a,b\n.5,.4\n.3,.3\n.9,.6\n.2,.1\n")
    asked = ["--scores", table, "-m", "my score"]
    code, out, err = command("plan", *asked, "--n-topics", "4", "--half-width", ".1",
                             "--format", "csv")  # fmt: skip
    planned = be.plan(be.read_scores(table, measure="my score"), n_topics=[4], half_width=0.1)
    row = rows(out).iloc[0]
    assert code == 0 and pd.isna(row[["budget", "judgments", "coverage"]]).all()
    assert row["detectable"] == pytest.approx(planned["detectable"].item())
    assert f"my score within +-0.1 (median run): {row['topics_needed']:.0f} topics" in err
    assert command("plan", *asked)[0] == 0
    code, _, err = command("report", *asked, "--output", files / "page.html")
    assert code == 0 and "my score" in (files / "page.html").read_text()
    code, _, err = command("compare", *asked, "--reference", "a", "--fail-if-worse")
    assert code == 0 or "worse than a: b" in err


REFUSED = [
    ("compare q r --scores s", "QRELS does not go with --scores"),
    ("rank --scores s --estimator dyn", "--estimator does not go with --scores"),
    ("plan --scores s --budget 5", "--budget does not go with --scores"),
    ("report --scores s --output p --anytime", "--anytime does not go with --scores"),
    ("evaluate --scores s --per-topic", "--per-topic does not go with --scores"),
    ("evaluate --scores {0} -m AP --half-width .1", "--half-width is for a collection"),
    ("compare", "Missing argument 'QRELS': .* or --scores"),
    ("report --output p", "Missing argument 'QRELS': .* or --scores"),
    ("rank --scores s", "scores file s does not exist"),
    ("rank --scores {0}", "no column 'run' .* --measure names the one"),
    ("rank --scores {0} -m AP --output {0}", "--output .* would replace .*, which this command"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_scores_are_given_alone_and_whole(command, tmp_path, words, message):
    table = tmp_path / "s.csv"
    table.write_text("a,b\n1,2\n2,3\n")
    code, out, err = command(*words.format(table).split())
    assert (code, out) == (2, "") and pd.Series([err]).str.contains(message).item(), err
