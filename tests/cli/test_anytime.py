"""Looking while judging goes on: intervals, gates, and what is still to be judged."""

import csv
import io
import json

import pytest

import bayeseval as be
from tests.cli.conftest import written


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run d has the relevant documents last; an order of all runs; judgments to three lengths."""
    folder = written(tmp_path_factory.mktemp("looks"))
    grades = {}
    for line in (folder / "qrels").read_text().splitlines():
        topic, _, document, grade = line.split()
        grades[topic, document] = int(grade)
    worst = [f"{t} Q0 {d} 0 {-grade} d" for (t, d), grade in grades.items()]
    (folder / "d").write_text("\n".join(worst) + "\n")
    collection = be.read_collection(None, [str(folder / name) for name in "abcd"])
    order = be.designs.order(collection, budget=16, random_seed=1)
    be.save_design(order, folder / "order.nc")
    for budget in (16, 30, 40):
        listed = be.designs.to_judge(order, budget=budget)
        listed["grade"] = [grades[pair] for pair in zip(listed.topic, listed.document, strict=True)]
        listed.to_csv(folder / f"{budget}.csv", index=False)
    return folder


def words(folder, budget, runs="abcd"):
    files = [folder / f"{budget}.csv", *(folder / name for name in runs)]
    return [*files, "--design", folder / "order.nc", "-m", "P@10", "--estimator", "dyn"]


def rows_of(out):
    return list(csv.DictReader(io.StringIO(out)))


def test_intervals_at_every_look_are_those_of_the_function(command, folder):
    code, out, err = command("evaluate", *words(folder, 30), "--anytime", "--format", "csv")
    assert code == 0, err
    collection = be.read_collection(None, [str(folder / name) for name in "abcd"])
    sampled = be.attach_judgments(collection, folder / "order.nc", folder / "30.csv")
    expected = be.scores(sampled, "P@10", estimator="dyn", anytime=True).isel(measure=0)
    for row in rows_of(out):
        bounds = expected.interval.sel(run=row["run"]).values
        assert [float(row["lower"]), float(row["upper"])] == pytest.approx(bounds.tolist())
    table = command("evaluate", *words(folder, 30), "--anytime")[1]
    assert "90% intervals at every look over these topics" in " ".join(table.split())


def test_half_width_says_for_each_run_whether_it_is_enough(command, folder):
    asked = [*words(folder, 30), "--anytime", "--half-width", "0.1"]
    rows = rows_of(command("evaluate", *asked, "--format", "csv")[1])
    half = [(float(row["upper"]) - float(row["lower"])) / 2 for row in rows]
    more = [int(row["more_judgments"]) for row in rows]
    assert [number == 0 for number in more] == [one <= 0.1 for one in half] and any(more)
    table = command("evaluate", *asked)[1]
    assert f"{max(more)} more" in table and "half of the interval's length is 0.1" in table
    whole = command("evaluate", *words(folder, 40), "--anytime", "--half-width", "0.1")[1]
    assert whole.count("enough") == 4 and " more" not in whole
    written = json.loads(command("evaluate", *asked, "--format", "json")[1])
    assert written["anytime"] is True and written["half_width"] == 0.1


def test_the_gate_may_be_asked_again_and_again(command, folder):
    asked = ["--anytime", "--reference", "a", "--fail-if-worse", "--equivalence", "0.05"]
    code, out, err = command("compare", *words(folder, 16, "ab"), *asked)
    assert code == 2 and "--fail-if-worse cannot tell yet: 1 of 1 comparison" in err
    assert "more documents of each topic would decide all (most for P@10 of b)" in err
    code, out, err = command("compare", *words(folder, 40, "ad"), *asked)
    assert code == 3 and "worse than a: d (P@10)" in err
    asked[2] = "d"
    code, out, err = command("compare", *words(folder, 40, "ad"), *asked)
    assert code == 0 and "90% intervals at every look" in " ".join(out.split())


def test_rank_says_when_the_best_is_known(command, folder):
    asked = ["--anytime", "--top", "1"]
    code, out, err = command("rank", *words(folder, 16), *asked)
    assert code == 0 and "P@10: 3 runs may be among the best 1" in err
    assert "all at once, at every look" in " ".join(out.split())
    code, _, err = command("rank", *words(folder, 40), *asked)
    assert code == 0 and "P@10: the best 1 with 90% confidence: " in err


def test_reports_and_plans_go_by_every_look(command, folder):
    page = folder / "page.html"
    asked = [word for word in words(folder, 30) if word not in ("--estimator", "dyn")]
    code, _, err = command("report", *asked, "--anytime", "--output", page)
    assert code == 0, err
    text = page.read_text()
    assert "at every look while judging goes on" in text and "combined" not in text
    files = [folder / "qrels", folder / "a", folder / "b", "-m", "P@10", "--budget", "20"]
    code, out, err = command("plan", *files, "--anytime")
    assert code == 0 and "times as long as those of a single look" in err
    assert "intervals at every look over these topics, planned" in " ".join(out.split())


def test_topics_at_unlike_depths_are_told(command, folder):
    rows = rows_of((folder / "40.csv").read_text())
    kept = [row for row in rows if row["topic"] != "1" or row["round"] == "1"]
    with (folder / "unlike.csv").open("w", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0])
        writer.writeheader()
        writer.writerows(row for row in kept if int(row["round"]) < 4)
    code, _, err = command("evaluate", *words(folder, "unlike"), "--anytime")
    assert code == 0 and "topics are judged to unlike depths, 1 to 3 rounds" in err


REFUSED = [
    ("evaluate", ["--anytime", "--per-topic"], "intervals of topics are of one look"),
    ("evaluate", ["--half-width", "-1"], "--half-width must be a number above 0"),
    ("compare", ["--anytime", "--population", "topics"], "--anytime is for these topics"),
]


@pytest.mark.parametrize(("name", "asked", "message"), REFUSED)
def test_what_does_not_hold_at_every_look_is_refused(command, folder, name, asked, message):
    code, out, err = command(name, *words(folder, 30), *asked)
    assert (code, out) == (2, "") and message in err
