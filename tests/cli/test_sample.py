"""`bayeseval sample`, the judgments that come back, and `evaluate --design`."""

import csv
import gzip
import io
import re

import pytest

import bayeseval as be


@pytest.fixture
def sampled(command, files):
    """Sample, and judge what was asked for; returns the flags so that they can be changed."""

    def run(*flags):
        (files / "design.nc").unlink(missing_ok=True)
        if "--output" not in flags:
            (files / "to_judge.txt").unlink(missing_ok=True)
        code, out, err = command(
            "sample", files / "a", files / "b", "--budget", "20",
            "--seed", "3", "--design-file", files / "design.nc", "--output", files / "to_judge.txt",
            *flags,
        )  # fmt: skip
        assert (code, out) == (0, ""), err
        truth = {}
        for line in (files / "qrels").read_text().splitlines():
            topic, _, document, grade = line.split()
            truth[topic, document] = grade
        asked = [line.split("\t") for line in (files / "to_judge.txt").read_text().splitlines()]
        judged = [f"{topic} 0 {document} {truth[topic, document]}\n" for topic, document in asked]
        (files / "judged").write_text("".join(judged))
        return asked, err

    return run


@pytest.mark.parametrize("scheme", ["order", "pps", "uniform", "poisson"])
def test_sample_judge_evaluate(command, files, sampled, scheme):
    asked, err = sampled("--scheme", scheme)
    design = be.read_design(files / "design.nc")
    if scheme != "order":
        assert len(asked) == int(design["selected"].sum())
    if scheme != "poisson":
        assert len(asked) == 3 * 20
    for estimator in ("stat", "dyn"):
        # run c was not there when the design was made
        code, out, err = command(
            "evaluate", files / "judged", files / "a", files / "c", "--design",
            files / "design.nc", "-m", "P@10", "-m", "AP", "--estimator", estimator,
            "--format", "csv", "--per-topic",
        )  # fmt: skip
        assert code == 0, err
        rows = list(csv.DictReader(io.StringIO(out)))
        assert len(rows) == 2 * 4 * 2
        assert all(row["estimate"] for row in rows)


def test_the_assessor_sees_topic_and_document_in_random_order(files, sampled):
    asked, err = sampled("--scheme", "pps")
    assert {len(fields) for fields in asked} == {2}
    topics = [topic for topic, _ in asked]
    assert topics == sorted(topics, key=int)
    by_topic = [[document for topic, document in asked if topic == name] for name in ("1", "2")]
    assert any(documents != sorted(documents) for documents in by_topic)
    design = be.read_design(files / "design.nc")
    selected = design["selected"].to_numpy()
    place = dict(
        zip(design["document"].values[selected], design["stratum"].values[selected], strict=True)
    )
    order = [place[document] for document in by_topic[0]]
    assert order != sorted(order)
    assert "seed 3" in err
    assert "frame of 120 (retrieved)" in err
    assert "covers the whole frame" not in err


def test_a_table_that_is_filled_in_is_the_judgments(command, files, sampled):
    asked, _ = sampled()
    words = ["--design", files / "design.nc", "-m", "P@10", "--estimator", "dyn", "--format", "csv"]
    plain = command("evaluate", files / "judged", files / "a", files / "b", *words)
    table = files / "to_judge.csv"
    code, out, err = command(
        "sample", files / "a", files / "b", "--budget", "20", "--seed", "3",
        "--design-file", files / "again.nc", "--output", table,
    )  # fmt: skip
    assert (code, out) == (0, ""), err
    rows = list(csv.reader(table.read_text().splitlines()))
    assert rows[0] == ["topic", "document", "round", "grade"]
    assert [[*row[:2], row[3]] for row in rows[1:]] == [[*pair, ""] for pair in asked]
    judged = dict(zip(map(tuple, asked), (files / "judged").read_text().split()[3::4], strict=True))
    with table.open("w", newline="") as opened:
        csv.writer(opened).writerows([rows[0], *([*row[:3], judged[*row[:2]]] for row in rows[1:])])
    assert command("evaluate", table, files / "a", files / "b", *words) == plain


def test_names_with_blanks_need_a_table(command, files):
    rows = [f"{topic},d {rank},{rank}\n" for topic in (1, 2) for rank in range(1, 6)]
    (files / "r.csv").write_text("topic,document,rank\n" + "".join(rows))
    words = ["sample", files / "r.csv", "--budget", "5", "--seed", "1"]
    note = r"'d [1-5]' has blanks, .* --output that ends in \.csv, a table to fill in"
    lines = ["--design-file", files / "lines.nc", "--output", files / "list.txt"]
    code, _, err = command(*words, *lines)
    assert code == 0 and re.search(note, err)
    table = ["--design-file", files / "design.nc", "--output", files / "list.csv"]
    code, _, err = command(*words, *table)
    assert code == 0 and "blanks" not in err
    (files / "judged.csv").write_text((files / "list.csv").read_text().replace(",\n", ",1\n"))
    words = ["-m", "P@5", "--estimator", "stat", "--design", files / "design.nc"]
    code, out, err = command("evaluate", files / "judged.csv", files / "r.csv", *words)
    assert code == 0 and "1.0000" in out, err


def test_a_list_is_compressed_as_its_name_ends(command, files, sampled):
    sampled()
    lines = (files / "to_judge.txt").read_text()
    sampled("--output", files / "to_judge.tsv.gz")
    with gzip.open(files / "to_judge.tsv.gz", "rt") as opened:
        assert opened.read() == lines
    sampled("--output", files / "to_judge.csv.gz")
    with gzip.open(files / "to_judge.csv.gz", "rt") as opened:
        rows = list(csv.reader(opened))
    assert rows[0] == ["topic", "document", "round", "grade"] and len(rows) == 61


def test_nothing_is_left_to_judge_where_all_is_kept(command, files, sampled):
    words = ["--seed", "1", "--design-file", files / "d.nc"]
    code, out, err = command("sample", files / "a", *words, "--certain", files / "qrels")
    assert code == 0, err
    assert out == ""
    assert "there is nothing left to judge" in err
    assert "whole frame" not in err


def test_one_judgment_to_a_topic_has_no_interval_for_a_reason(command, files, sampled):
    _, err = sampled("--budget", "1")
    assert "in 3 topics one judged document will represent others" in err
    words = ["evaluate", files / "judged", files / "a", "-m", "P@10", "--estimator"]
    over = ["--population", "sample"]
    _, _, err = command(*words, "stat", "--design", files / "design.nc", *over)
    assert "one draw gives no standard error; sample two or more per topic" in err
    _, _, err = command(*words, "assumed")
    assert "one draw" not in err


@pytest.mark.parametrize(
    "flags",
    [
        ["--budget", "2"],
        ["--budget", "5"],  # strata of one draw each have neighbours
        ["--budget", "2", "--scheme", "uniform"],
        ["--budget", "1", "--scheme", "poisson"],
    ],
)
def test_samples_with_a_standard_error_are_not_said_to_have_none(sampled, flags):
    _, err = sampled(*flags)
    assert "no standard error" not in err


def test_a_seed_gives_the_same_sample_again(files, sampled):
    first, _ = sampled("--scheme", "uniform")
    again, _ = sampled("--scheme", "uniform")
    other, _ = sampled("--scheme", "uniform", "--seed", "4")
    assert first == again
    assert first != other


def test_everything_judged_gives_the_plain_scores_without_error(command, files):
    words = ["--budget", "500", "--seed", "1", "--design-file", files / "d.nc"]
    code, out, err = command("sample", files / "a", *words)
    assert code == 0
    assert "judge all 120 documents" in err
    assert len(out.splitlines()) == 3 * 40
    answers = {}
    for estimator, design in (("assumed", []), ("stat", ["--design", files / "d.nc"])):
        code, out, err = command(
            "evaluate", files / "qrels", files / "a", "-m", "P@10", "-m", "AP", "--estimator",
            estimator, "--format", "csv", *design,
        )  # fmt: skip
        assert code == 0, err
        answers[estimator] = list(csv.DictReader(io.StringIO(out)))
    for plain, estimate in zip(answers["assumed"], answers["stat"], strict=True):
        assert float(estimate["estimate"]) == pytest.approx(float(plain["estimate"]), abs=1e-12)
        assert float(estimate["standard_error"]) == 0.0


def test_a_design_is_never_replaced(command, files):
    words = ["sample", files / "a", "--budget", "8", "--design-file", files / "d.nc", "--seed"]
    assert command(*words, "1")[0] == 0
    before = (files / "d.nc").read_bytes()
    code, out, err = command(*words, "2")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "cannot be evaluated without it; name another --design-file" in err
    assert (files / "d.nc").read_bytes() == before


def test_further_documents_come_beside_the_judged_ones(command, files, sampled):
    pps = ("--scheme", "pps")
    first, err = sampled(*pps)
    assert "warning" not in err
    (files / "before").write_text((files / "judged").read_text())
    more, err = sampled("--certain", files / "before", "--budget", "26", *pps, "--seed", "4")
    assert "18 documents to judge" in err and "besides 60 already judged" in err
    dear = "intervals may be twice as long as those of one sample of all; --scheme order gives"
    assert dear in err
    assert len(more) == 18 and not set(map(tuple, first)) & set(map(tuple, more))
    words = [files / "a", files / "c", "--design", files / "design.nc", "-m", "P@10"]
    words += ["--estimator", "dyn", "--format", "csv"]
    code, out, err = command("evaluate", files / "judged", *words)
    assert code == 2 and "no judgment for 60 of the selected pairs" in err
    assert err.endswith(
        "; 60 of these came with --certain: give both files of judgments together, as a glob such "
        "as 'judged/*'\n"
    )
    assert "judge them" not in err
    code, out, err = command("evaluate", files / "before", *words)
    assert code == 2 and "no judgment for 18 of the selected pairs" in err
    assert "of a topic that is not finished; in 3 topics none of those drawn is judged" in err
    assert "--certain" not in err
    both = (files / "before").read_text() + (files / "judged").read_text()
    (files / "judged").write_text(both)
    code, out, err = command("evaluate", files / "judged", *words)
    assert code == 0, err
    assert dear in err
    assert all(row["standard_error"] for row in csv.DictReader(io.StringIO(out)))


@pytest.fixture
def listed(command, files):
    """Two rounds, of 6 documents a topic, of an order of the runs a and b; returns their rows."""
    words = ["--seed", "1", "--pool-depth", "20", "--budget", "12"]
    words += ["--design-file", files / "order.nc", "--output", files / "l.csv"]
    code, _, err = command("sample", files / "a", files / "b", *words)
    assert code == 0 and "36 documents to judge" in err
    return read_rows(files / "l.csv")


def read_rows(path) -> list[dict[str, str]]:
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


def judge(files, name, rows, keep=lambda row: True) -> None:
    """Write the rows with the grades of those to keep."""
    truth = {}
    for line in (files / "qrels").read_text().splitlines():
        topic, _, document, grade = line.split()
        truth[topic, document] = grade
    with (files / name).open("w", newline="") as opened:
        writer = csv.DictWriter(opened, ["topic", "document", "round", "grade"])
        writer.writeheader()
        for row in rows:
            grade = truth[row["topic"], row["document"]] if keep(row) else ""
            writer.writerow(row | {"grade": grade})


def test_a_list_is_in_rounds_and_by_default_whole(command, files, listed):
    rounds = [int(row["round"]) for row in listed]
    assert rounds == [1] * 18 + [2] * 18
    topics = [row["topic"] for row in listed[:18]]
    assert topics == sorted(topics, key=int)
    words = ["--seed", "1", "--pool-depth", "20", "--design-file", files / "whole.nc"]
    code, out, err = command("sample", files / "a", files / "b", *words)
    assert code == 0 and f"{len(out.splitlines())} documents to judge from a frame of " in err
    assert "as far as you like, from its beginning; judge at least round 1, 60 documents" in err
    words[-1] = files / "other.nc"
    assert command("sample", files / "a", files / "b", *words, "-m", "P@5")[1] != out


def test_a_list_is_judged_to_any_line_and_goes_on(command, files, listed):
    done = listed[:27]
    judge(files, "judged.csv", listed, keep=lambda row: row in done)
    words = [files / "a", "-m", "P@10", "--format", "csv", "--estimator", "dyn", "--design"]
    code, out, err = command("evaluate", files / "judged.csv", *words, files / "order.nc")
    assert code == 0, err
    assert "judged 6 to 12 of 12 documents a topic" in err
    assert "missing" not in err and "set aside" not in err
    more = ["--design", files / "order.nc", "--judged", files / "judged.csv", "--budget", "20"]
    more += ["--design-file", files / "next.nc", "--output", files / "more.csv"]
    code, _, err = command("sample", *more)
    assert code == 0, err
    assert "33 documents to judge, besides 27 already judged" in err
    rows = read_rows(files / "more.csv")
    assert rows[:9] == listed[27:]
    judge(files, "whole.csv", [*done, *rows])
    one = command("evaluate", files / "whole.csv", *words, files / "order.nc")
    two = command("evaluate", files / "whole.csv", *words, files / "next.nc")
    assert one[:2] == two[:2]
    assert "judged 20 of 20 documents a topic" in two[2]


def test_judgments_after_a_gap_are_set_aside_and_a_topic_that_waits_is_named(
    command, files, listed
):
    words = [files / "a", "--design", files / "order.nc", "-m", "P@10", "--estimator", "dyn"]

    def answer(keep):
        judge(files, "judged.csv", listed, keep=keep)
        return command("evaluate", files / "judged.csv", *words)

    code, _, err = answer(lambda row: row != listed[0])
    assert code == 0
    assert "judgments of 1 topic ('1') are set aside, because round 1 is not judged whole" in err
    assert "1 topic has no judgment yet and is left out: '1'; means are over 2 topics" in err
    code, out, err = answer(lambda row: row in listed[:4])
    assert (code, out) == (2, "")
    assert "no judgment for some documents of round 1 of 1 topic ('1')" in err
    assert "are these the judgments of another list?" in err


def test_documents_that_nobody_can_judge_count_as_not_relevant(command, files, listed):
    judge(files, "judged.csv", listed)
    text = (files / "judged.csv").read_text()
    (files / "judged.csv").write_text(re.sub(r",[12]\n", ",unjudgeable\n", text, count=3))
    (files / "zero.csv").write_text(re.sub(r",[12]\n", ",0\n", text, count=3))
    words = [files / "a", "--design", files / "order.nc", "-m", "P@10", "--estimator", "dyn"]
    code, _, err = command("evaluate", files / "judged.csv", *words)
    assert code == 2 and "is marked unjudgeable; --unjudgeable nonrelevant counts such" in err
    marked = command("evaluate", files / "judged.csv", *words, "--unjudgeable", "nonrelevant")
    assert marked[0] == 0 and marked == command("evaluate", files / "zero.csv", *words)
    more = ["--design", files / "order.nc", "--judged", files / "judged.csv", "--budget", "13"]
    more += ["--design-file", files / "next.nc", "--unjudgeable", "nonrelevant"]
    code, out, err = command("sample", *more)
    assert code == 0, err
    assert len(out.splitlines()) == 3 and "besides 36 already judged" in err


def test_a_later_run_brings_its_documents_in_the_rounds_that_are_judged(command, files, listed):
    judge(files, "judged.csv", listed)
    later = ["--design", files / "order.nc", "--judged", files / "judged.csv"]
    later += ["--design-file", files / "later.nc", "--output", files / "more.csv"]
    code, _, err = command("sample", files / "c", *later)
    assert code == 0, err
    rows = read_rows(files / "more.csv")
    known = {(row["topic"], row["document"]) for row in listed}
    assert rows and not [row for row in rows if (row["topic"], row["document"]) in known]
    assert {row["round"] for row in rows} <= {"1", "2"}
    assert re.search(r"later runs add \d+ documents, in strata of their own", err)
    words = [files / "a", files / "c", "-m", "P@10", "--estimator", "stat", "--format", "csv"]
    before = command("evaluate", files / "judged.csv", *words, "--design", files / "order.nc")
    waiting = command("evaluate", files / "judged.csv", *words, "--design", files / "later.nc")
    assert waiting[:2] == before[:2] and "weight on documents outside the frame" in waiting[2]
    judge(files, "both.csv", [*listed, *rows])
    code, out, err = command("evaluate", files / "both.csv", *words, "--design", files / "later.nc")
    assert code == 0 and "outside the frame" not in err


def test_a_list_that_was_filled_in_is_not_drawn_anew_over_the_judgments(command, files):
    table = files / "sheet.csv"
    words = ["sample", files / "a", "--budget", "2", "--seed", "1", "--output", table]
    assert command(*words, "--design-file", files / "one.nc")[0] == 0
    table.write_text(table.read_text().replace(",\n", ",1\n"))
    filled = table.read_bytes()
    code, _, err = command(*words, "--design-file", files / "two.nc")
    assert code == 2
    assert "sheet.csv exists, and may hold judgments; name another --output" in err
    assert table.read_bytes() == filled and not (files / "two.nc").exists()
