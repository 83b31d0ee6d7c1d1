"""`bayeseval plan`: tables of errors to be expected, and the notes on them."""

import io
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayeseval as be

COLUMNS = (
    "measure,budget,n_topics,judgments,half_width,largest_half_width,error,coverage,"
    "difference_error,detectable"
)


@pytest.fixture(scope="module")
def pilot(kept_files, draw_sample):
    """Words of a plan from a sample of 12 of the 40 documents of each topic."""
    design = draw_sample(kept_files, n_strata=4)
    return ["plan", kept_files / "judged", *(kept_files / name for name in "abc"), *design]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Plans from few worlds and samples."""
    monkeypatch.setattr(be, "plan", partial(be.plan, n_simulations=4))


def test_a_row_for_each_measure_budget_and_number_of_topics(command, pilot):
    words = ["-m", "P@5", "-m", "AP", "--budget", 20, "--budget", 8, "--n-topics", 6,
             "--n-topics", 3, "--format", "csv"]  # fmt: skip
    code, out, err = command(*pilot, *words)
    assert code == 0, err
    rows = pd.read_csv(io.StringIO(out))
    assert out.splitlines()[0] == COLUMNS
    assert rows["measure"].tolist() == ["P@5"] * 4 + ["AP"] * 4
    assert rows["n_topics"].tolist() == [3, 3, 6, 6] * 2 and rows["budget"].tolist() == [8, 20] * 4
    assert rows["judgments"].tolist() == [24, 60, 48, 120] * 2
    assert (rows["half_width"] <= rows["largest_half_width"]).all()
    few, many = (rows.loc[rows["n_topics"] == n, "error"].to_numpy() for n in (3, 6))
    np.testing.assert_allclose(few, np.sqrt(2.0) * many)


def test_the_numbers_are_those_of_the_package(command, kept_files, pilot):
    code, out, _ = command(*pilot, "-m", "P@5", "--budget", 20, "--format", "json")
    collection = be.read_collection(None, [str(kept_files / name) for name in "abc"])
    sampled = be.attach_judgments(collection, pilot[-1], pilot[1])
    planned = be.plan(sampled, "P@5", budget=20)
    (row,) = json.loads(out)["rows"]
    assert code == 0
    assert row["detectable"] == pytest.approx(planned["detectable"].item())
    assert row["half_width"] == pytest.approx(planned["half_width"].median().item())


def test_a_target_width_is_answered_in_judgments(command, pilot):
    words = ["-m", "P@5", "--budget", 8, "--budget", 36, "--half-width"]
    code, out, err = command(*pilot, *words, "0.05", "--format", "csv")
    needed = pd.read_csv(io.StringIO(out))["budget_needed"]
    assert code == 0 and needed.nunique() == 1 and 8 < needed[0] < 36
    assert f"P@5 within +-0.05 (median run): about {needed[0]:.0f} judgments per topic" in err
    err = command(*pilot, *words, 5)[2]
    assert "P@5 within +-5 (median run): at most 8 judgments per topic with 3 topics" in err
    words[-2] = 12
    err = command(*pilot, *words, "1e-6")[2]
    assert err.endswith("(median run): more than 12 judgments per topic with 3 topics\n")


def test_judgments_without_a_design_count_as_complete_with_a_note(command, files):
    words = ["plan", files / "qrels", files / "a", files / "b", "-m", "P@5", "--budget", 50]
    code, out, err = command(*words, "--n-topics", 3)
    assert code == 0 and "planned" in out
    assert "judgments count as complete: 100% of the documents here are judged" in err
    assert "fewer documents in the frame than 50; they are judged in full there" in err


def test_a_pilot_without_its_design_gets_a_warning_first(command, pilot):
    code, _, err = command(*pilot[:-2], "-m", "P@5", "--budget", 50)
    assert code == 0 and err.splitlines()[0].startswith("bayeseval: warning: no plan: ")
    assert "give its design (--design)" in err.splitlines()[0]
    assert "no plan" not in command(*pilot, "-m", "P@5", "--budget", 20)[2]


def test_what_is_not_known_is_a_dash_in_the_table(command, files):
    words = ["plan", files / "qrels", files / "a", "-m", "P@5", "--budget", 1, "--budget", 30]
    code, out, _ = command(*words)
    cells = [line.split() for line in out.splitlines() if line.lstrip().startswith("P@5")]
    assert code == 0 and "nan" not in out
    assert [row[4:] for row in cells] == [["-"] * 3, [*cells[1][4:6], "-"]]


@pytest.mark.parametrize("n_topics", [3, 75, 77, 91])
def test_budgets_that_there_are_documents_for_get_no_note(command, files, n_topics):
    words = ["plan", files / "qrels", files / "a", files / "b", "-m", "P@5", "--budget", 10]
    words += ["--budget", 20, "--n-topics", n_topics]
    assert "fewer documents in the frame" not in command(*words)[2]


def test_a_pilot_of_some_topics_of_the_runs_is_planned_from_these(command, files):
    lines = (files / "qrels").read_text().splitlines()
    (files / "qrels").write_text("\n".join(x for x in lines if not x.startswith("10 ")) + "\n")
    words = ["plan", files / "qrels", files / "a", files / "b", "-m", "P@5", "--budget", 20]
    code, out, err = command(*words, "--format", "csv")
    assert code == 0 and out.splitlines()[1].startswith("P@5,20,2,40,")
    assert "1 topic has no judgment yet and is left out: '10'" in err
    assert "fewer documents in the frame" not in err
