"""`bayeseval adjust`: numbers of `adjust_scores`, formats, and mistakes in one sentence."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from tests.cli.test_bad_input import check_refused

HEADER = (
    "run,topic,measure,estimator,estimate,standard_error,lower,upper,"
    "unadjusted,adjustment,helps,confidence"
)
TOPICS = ("1", "2", "10")
POOLED = "abcd"
UNPOOLED = "xy"


@pytest.fixture
def pool(tmp_path):
    """Runs of 12 documents, `qrels` of the pool of four, `more` of all on topics 1 and 10."""
    random = np.random.default_rng(4)
    lists = {(r, t): random.permutation(30)[:12] for r in POOLED + UNPOOLED for t in TOPICS}
    for run in POOLED + UNPOOLED:
        lines = [
            f"{t} Q0 d{d:02d} 0 {20 - rank} {run}"
            for t in TOPICS
            for rank, d in enumerate(lists[run, t])
        ]
        (tmp_path / run).write_text("\n".join(lines) + "\n")
    grade = {(t, d): int(random.integers(2)) for t in TOPICS for d in range(30)}

    def judged(topics, runs):
        found = {(t, int(d)) for t in topics for r in runs for d in lists[r, t][:3]}
        return "".join(f"{t} 0 d{d:02d} {grade[t, d]}\n" for t, d in sorted(found))

    (tmp_path / "qrels").write_text(judged(TOPICS, POOLED))
    (tmp_path / "more").write_text(judged(("1", "10"), POOLED + UNPOOLED))
    (tmp_path / "all").write_text(judged(("2",), POOLED) + judged(("1", "10"), POOLED + UNPOOLED))
    (tmp_path / "teams.csv").write_text("run,team\na,one\nb,one\nc,two\nd,three\n")
    return tmp_path


def words(pool, *flags, qrels="qrels"):
    runs = [pool / run for run in POOLED]
    unpooled = [word for run in UNPOOLED for word in ("--unpooled", pool / run)]
    return ["adjust", pool / qrels, *runs, *unpooled, "--pool-depth", "3", *flags]


def collection(pool, qrels="qrels"):
    names = [*POOLED, *UNPOOLED]
    table = pd.DataFrame(
        {
            "run": names,
            "contributed": [run in POOLED for run in names],
            "team": ["one", "one", "two", "three", "", ""],
        }
    )
    return be.read_collection(pool / qrels, [pool / run for run in names], run_table=table)


def same(out, result, bounds="interval"):
    """Check rows of CSV against a result of `adjust_scores`."""
    rows = pd.read_csv(io.StringIO(out), dtype={"topic": str})
    assert rows["run"].drop_duplicates().tolist() == list(UNPOOLED)
    assert set(rows["topic"]) == {"all"}
    for row in rows.itertuples():
        known = result.sel(run=row.run, measure=row.measure)
        assert row.estimate == pytest.approx(known["adjusted"].item(), abs=1e-15)
        assert row.helps == known["helps"].item()
        for name in ("unadjusted", "adjustment", "standard_error", "confidence"):
            assert getattr(row, name) == pytest.approx(known[name].item(), abs=1e-15)
        assert [row.lower, row.upper] == pytest.approx(known[bounds].values.tolist(), abs=1e-15)


def test_csv_has_the_numbers_of_leaving_out_runs(command, pool):
    code, out, err = command(*words(pool, "--format", "csv", "-m", "P@3", "-m", "AP"))
    assert (code, out.splitlines()[0]) == (0, HEADER)
    same(out, be.adjust_scores(collection(pool), ["P@3", "AP"], pool_depth=3))
    assert "2 unpooled runs beside 4 pooled runs, left out in turn" in err


def test_the_measure_is_rbp_at_ten_where_none_is_named(command, pool):
    code, out, err = command(*words(pool, "--format", "csv"))
    assert {row["measure"] for row in csv.DictReader(io.StringIO(out))} == {"RBP(p=0.8)@10"}


def test_judged_documents_outside_the_pool_are_counted(command, pool):
    assert "judged documents are in no run" not in command(*words(pool))[2]
    lines = len((pool / "qrels").read_text().splitlines())
    (pool / "d").write_text((pool / "c").read_text().replace(" c\n", " d\n"))
    result = be.adjust_scores(collection(pool), pool_depth=3)
    assert result.attrs["n_judged"] == lines
    assert result.attrs["judged_outside_pool"] > 0
    err = command(*words(pool))[2]
    assert f"{result.attrs['judged_outside_pool']} of {lines} judged documents are in no run" in err


def test_common_topics_come_as_labels_or_as_a_file(command, pool):
    result = be.adjust_scores(collection(pool, "all"), common_topics=["1", "10"], pool_depth=3)
    (pool / "topics").write_text("10\n1\n")
    for given in ("1,10", 300 * "1," + "10", pool / "topics"):
        flags = ["--format", "csv", "--common-topics", given]
        code, out, err = command(*words(pool, *flags, qrels="all"))
        assert code == 0, err
        same(out, result)
    assert "2 common topics of 3" in err


def test_judgments_of_common_topics_may_stand_in_a_file_of_their_own(command, pool):
    flags = ["--format", "csv", "--common-topics", pool / "more"]
    code, out, err = command(*words(pool, *flags))
    assert code == 0, err
    options = {"common_topics": ["1", "10"], "pool_depth": 3}
    same(out, be.adjust_scores(collection(pool, "all"), **options))


def test_table_json_and_trec_eval_say_the_same(command, pool):
    result = be.adjust_scores(collection(pool), pool_depth=3)
    x = result.sel(run="x").squeeze()
    code, out, err = command(*words(pool))
    assert code == 0
    assert "adjusted by pooled runs left out, 90% intervals" in out
    assert f"{x.adjusted.item():.4f}" in out
    assert "confidence" in out
    assert "helps" not in out
    assert f"{100 * x.confidence.item():.0f}%" in out
    code, out, err = command(*words(pool, "--format", "json"))
    answer = json.loads(out)
    assert (answer["algorithm"], answer["base"], answer["pool_depth"]) == (1, "nonrelevant", 3)
    assert answer["scores"][0]["adjustment"] == pytest.approx(x.adjustment.item())
    assert answer["scores"][0]["helps"] is bool(x.helps.item())
    code, out, err = command(*words(pool, "--format", "trec_eval"))
    assert f"RBP(p=0.8)@10         \tall\t{x.adjusted.item():.4f}" in out.splitlines()


def test_typeset_tables_have_the_numbers(command, pool):
    x = be.adjust_scores(collection(pool), pool_depth=3).sel(run="x").squeeze()
    score, chance = f"{x.adjusted.item():.4f}", f"{100 * x.confidence.item():.0f}"
    (row,) = [line for line in command(*words(pool, "--format", "markdown"))[1].splitlines()
              if line.startswith("| x |")]  # fmt: skip
    assert row.count("|") == 8 and score in row and f"{chance}%" in row
    latex = command(*words(pool, "--format", "latex"))[1]
    assert "\\begin{tabular}{llrrrrr}" in latex and score in latex and f"{chance}\\%" in latex


def test_one_common_topic_leaves_error_and_help_unknown(command, pool):
    flags = ["--common-topics", "1"]
    code, out, err = command(*words(pool, *flags, "--format", "json", qrels="all"))
    assert code == 0, err
    for score in json.loads(out)["scores"]:
        assert (score["helps"], score["confidence"], score["standard_error"]) == (None,) * 3
    assert "one common topic gives no standard error" in err
    rows = command(*words(pool, *flags, "--format", "csv", qrels="all"))[1].splitlines()
    assert [row.split(",")[10] for row in rows] == ["helps", "", ""]
    assert "nan%" not in command(*words(pool, *flags, qrels="all"))[1]


def test_common_topics_without_new_judgments_give_no_interval(command, pool):
    flags = ["--common-topics", "1,10"]
    code, out, err = command(*words(pool, *flags))
    assert code == 0, err
    assert "has no error for 2 of the runs, of which nothing was judged there" in err
    assert "larger than its standard error" not in err
    rows = [line.split() for line in out.splitlines() if "RBP" in line]
    assert [row.count("-") for row in rows] == [2, 2]
    text = command(*words(pool, *flags, "--format", "csv"))[1]
    for row in csv.DictReader(io.StringIO(text)):
        unknown = ("standard_error", "lower", "upper", "helps", "confidence")
        assert {row[name] for name in unknown} == {""}
        assert float(row["estimate"]) == float(row["unadjusted"])


def test_common_topics_without_a_relevant_document_give_no_interval(command, pool):
    known = {tuple(line.split()[:3:2]) for line in (pool / "qrels").read_text().splitlines()}
    rows = [line.split() for line in (pool / "more").read_text().splitlines()]
    fresh = [(row[0], row[2]) not in known for row in rows]
    assert 0 < sum(fresh) < len(rows)
    lines = [[*row[:3], "0" if new else row[3]] for row, new in zip(rows, fresh, strict=True)]
    (pool / "more").write_text("".join(" ".join(line) + "\n" for line in lines))
    flags = ["--common-topics", pool / "more"]
    code, out, err = command(*words(pool, *flags, "--format", "csv"))
    assert code == 0, err
    assert "the adjustment has no error for 2 of the 2 unpooled runs" in err
    assert "base='condensed' in Python" in err
    for row in csv.DictReader(io.StringIO(out)):
        unknown = ("standard_error", "lower", "upper", "helps", "confidence")
        assert {row[name] for name in unknown} == {""}
        assert float(row["estimate"]) == float(row["unadjusted"])


def test_judgments_that_no_pooled_run_brought_are_set_aside_with_a_note(command, pool):
    assert "set aside" not in command(*words(pool))[2]
    result = be.adjust_scores(collection(pool, "all"), pool_depth=3)
    aside, judged = result.attrs["judged_set_aside"], result.attrs["n_judged"]
    code, out, err = command(*words(pool, "--format", "csv", qrels="all"))
    assert f"{aside} of {judged} judged documents are set aside" in err
    same(out, result)


def test_weight_on_unjudged_documents_gets_a_note_on_the_interval(command, pool):
    flags = ["-m", "P@3", "-m", "RBP(p=0.8)@10"]
    (note,) = [line for line in command(*words(pool, *flags))[2].splitlines() if "weight" in line]
    unpooled = be.select(collection(pool), runs=list(UNPOOLED))
    outside = be.evaluate(unpooled, flags[1::2], estimator="assumed")["outside_weight"]
    of_run = outside.mean("topic", skipna=False)
    for label in flags[1::2]:
        own = of_run.sel(measure=label)
        worst = UNPOOLED[int(np.argmax(own.to_numpy()))]
        assert f"{label} {own.mean().item():.3f}, up to {own.max().item():.3f} ({worst})" in note
    assert note.endswith("; the interval is for runs like the pooled ones")
    flags = ["--common-topics", "1,10"]
    assert "weight" not in command(*words(pool, *flags, qrels="all"))[2]


def test_a_pool_depth_below_what_was_judged_gets_a_note(command, pool):
    assert "no judgment" not in command(*words(pool))[2]
    code, out, err = command(*words(pool, "--pool-depth", "12"))
    assert code == 0
    [line] = [line for line in err.splitlines() if "no judgment" in line]
    assert "of 144 documents that pooled runs return to depth 12" in line
    assert "down to depth 3, the --pool-depth to give" in line


def test_output_goes_to_a_file(command, pool):
    code, out, err = command(*words(pool, "--format", "csv", "--output", pool / "scores.csv"))
    assert (code, out) == (0, "")
    assert (pool / "scores.csv").read_text().splitlines()[0] == HEADER


def test_measures_that_look_beyond_the_pool_are_named(command, pool):
    measures = ["-m", "P@3", "-m", "P@4", "-m", "AP"]
    code, _, err = command(*words(pool, *measures))
    assert code == 0 and "P@4, AP: beyond the 3 ranks of the pool (--pool-depth)" in err
    assert "beyond the" not in command(*words(pool, "-m", "P@3"))[2]


def test_bad_files_and_probabilities_are_named(command, pool):
    check_refused(command(*words(pool, "--ci-prob", "1")), "--ci-prob must lie between 0 and 1")
    (pool / "more").write_text((pool / "more").read_text() + "1 0 d00\n")
    number = len((pool / "more").read_text().splitlines())
    answer = command(*words(pool, "--common-topics", pool / "more"))
    check_refused(answer, pool / "more", f"line {number}")
    (pool / "x").write_text("1 Q0 d00 0 nan x\n")
    check_refused(command(*words(pool)), pool / "x", "line 1")


def test_a_document_judged_differently_in_both_files_is_named(command, pool):
    lines = (pool / "more").read_text().splitlines()
    known = {line.rsplit(" ", 1)[0] for line in (pool / "qrels").read_text().splitlines()}
    at = next(i for i, line in enumerate(lines) if line.rsplit(" ", 1)[0] in known)
    topic, _, document, grade = lines[at].split()
    lines[at] = f"{topic} 0 {document} {1 - int(grade)}"
    (pool / "more").write_text("\n".join(lines) + "\n")
    answer = command(*words(pool, "--common-topics", pool / "more"))
    check_refused(answer, pool / "more", f"topic '{topic}' document '{document}'", "same grade")


def test_documents_of_the_pool_that_nobody_judged_stay_unjudged(command, pool):
    flags = ("--format", "csv")
    code, plain, err = command(*words(pool, *flags))
    assert code == 0, err
    known = {tuple(line.split()[0:3:2]) for line in (pool / "qrels").read_text().splitlines()}
    listed = [line.split() for run in UNPOOLED for line in (pool / run).read_text().splitlines()]
    left = {(fields[0], fields[2]) for fields in listed} - known
    assert left
    with (pool / "qrels").open("a") as file:
        file.writelines(f"{topic} 0 {document} -1\n" for topic, document in sorted(left))
    assert command(*words(pool, *flags))[1] == plain
