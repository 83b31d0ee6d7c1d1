"""`bayeseval compare` and `bayeseval rank`: the numbers of the package, in rows."""

import io
import json

import pandas as pd
import pytest
import xarray as xr

import bayeseval as be

FLAGS = ["-m", "P@10", "-m", "AP", "--estimator", "assumed"]
COMPARED = (
    "run_a,run_b,measure,estimator,estimate,standard_error,lower,upper,"
    "probability_better,standardised,p_value,p_holm,p_tukey,outside_weight_a,outside_weight_b"
)
RUN = {"evaluate": "run", "compare": "run_a", "rank": "run"}
RANKED = "run,measure,estimator,estimate,rank,lower,upper,tie_group,expected_rank"


@pytest.fixture
def words(files):
    return [files / "qrels", *(files / name for name in "abc"), *FLAGS]


@pytest.fixture
def collection(files):
    return be.read_collection(str(files / "qrels"), [str(files / name) for name in "abc"])


def test_compare_writes_the_numbers_of_compare(command, words, collection):
    code, out, err = command("compare", *words, "--format", "csv")
    assert (code, out.splitlines()[0], err) == (0, COMPARED, "")
    rows = pd.read_csv(io.StringIO(out))
    pairs = be.compare(collection, ["P@10", "AP"], estimator="assumed")
    expected = be.to_frame(pairs)
    for name in ("estimate", "lower", "probability_better", "p_value", "p_holm", "p_tukey"):
        pd.testing.assert_series_equal(rows[name], expected[name], check_exact=False)
    assert rows[["run_a", "run_b"]].values.tolist() == [["a", "b"], ["a", "c"], ["b", "c"]] * 2


def test_a_difference_that_rounds_to_nothing_has_no_sign(command, words, monkeypatch):
    numbers = {"estimate": -1e-6, "interval": [-3e-5, 2e-5], "standardised": -1e-4}
    compared = be.compare

    def alike(*asked, **options):
        pairs = compared(*asked, **options)
        return pairs.assign({name: xr.full_like(pairs[name], 1) * x for name, x in numbers.items()})

    monkeypatch.setattr(be, "compare", alike)
    code, out, _ = command("compare", *words)
    assert code == 0 and out.count(" 0.0000 [0.0000, 0.0000] ") == 6
    assert " 0.00 " in out and "-0.0" not in out


def test_a_run_that_is_worse_than_the_reference_has_an_exit_code(command, files):
    """Relevant are d0 to d2: first or nearly so in one run, last or nearly so in the other."""
    judged = [f"{topic} 0 d{n} {int(n < 3)}" for topic in range(9) for n in range(9)]
    (files / "judged").write_text("\n".join(judged) + "\n")
    for name in ("good", "bad"):
        order = [[*range(3, 3 + t % 2), *range(3), *range(3 + t % 2, 9)] for t in range(9)]
        lines = [
            f"{topic} Q0 d{n if name == 'good' else 8 - n} 0 {-rank} {name}"
            for topic in range(9)
            for rank, n in enumerate(order[topic])
        ]
        (files / name).write_text("\n".join(lines) + "\n")
    words = ["compare", files / "judged", files / "good", files / "bad", "-m", "P@3",
             "--estimator", "assumed", "--fail-if-worse"]  # fmt: skip
    code, out, err = command(*words, "--reference", "good")
    assert code == 3 and "worse than good: bad (P@3)\n" in err and "bad" in out
    assert command(*words, "--reference", "bad")[0] == 0
    assert command(*words, "--reference", "good", "--equivalence", "1")[0] == 0
    (files / "short").write_text("0 Q0 d3 0 1 short\n")
    words += [files / "short", "--reference"]
    assert command(*words, "good")[0] == 3, "one that is worse is enough"
    assert "good" in out, "what was asked for is written"
    (files / "judged").write_text("\n".join(line[:-1] + "0" for line in judged) + "\n")
    code, out, err = command(*words[:-1], "--reference", "good")
    assert code == 2 and "no judged document is relevant for P@3" in err and "bad" in out


def test_compare_notes_that_two_runs_say_little_about_their_prior(command, words):
    two = [*words[:3], *words[4:]]
    note = "P(a > b) rests on a prior of the difference"
    assert command("compare", *two)[2].count(note) == 1
    code, _, err = command("compare", *words)
    assert code == 0 and note not in err


def test_compare_notes_how_much_of_the_measure_is_not_judged(command, words, files):
    lines = (files / "qrels").read_text().splitlines(keepends=True)
    (files / "some").write_text("".join(lines[::2]))
    _, _, err = command("compare", files / "some", *words[1:])
    assert "weight on unjudged documents, mean over runs: P@10 0." in err


def test_compare_has_both_weights_and_warns_of_differences_that_they_could_reverse(command, files):
    lines = (files / "a").read_text().splitlines()
    fresh = [line.replace(" d", " new") if int(line.split()[2][1:]) % 2 else line for line in lines]
    (files / "fresh").write_text("\n".join(fresh).replace(" a", " fresh") + "\n")
    words = [files / "qrels", files / "a", files / "fresh", "-m", "P@10", "--estimator", "assumed"]
    code, out, err = command("compare", *words, "--format", "json")
    row = json.loads(out)["rows"][0]
    assert code == 0 and row["outside_weight_a"] == 0.0
    assert row["outside_weight_b"] > row["estimate"] > 0.0
    numbers = f"difference {row['estimate']:.4f}, weights on unjudged documents 0.000 and "
    assert "warning: 1 of 1 comparison may be reversed by documents that nobody judged" in err
    assert f"the first is P@10 of a and fresh, {numbers}{row['outside_weight_b']:.3f}" in err
    turned = command("compare", *words, "--format", "json", "--reference", "a")
    other = json.loads(turned[1])["rows"][0]
    assert other["outside_weight_a"] == row["outside_weight_b"] and "1 of 1 comparison" in turned[2]
    text = (files / "qrels").read_text().splitlines()
    (files / "qrels").write_text("\n".join(f"{line[:-1]}0" for line in text) + "\n")
    _, _, err = command("compare", *words)
    assert "reversed" not in err, "a tie has no winner"


def test_compare_with_a_reference_and_a_region_of_equivalence(command, words):
    code, out, _ = command(
        "compare", *words, "--reference", "b", "--equivalence", "2", "--format", "json"
    )
    answer = json.loads(out)
    assert (code, answer["population"]) == (0, "topics")
    assert [row["run_b"] for row in answer["rows"]] == ["b"] * 4
    assert all(row["equivalent"] for row in answer["rows"])
    code, out, _ = command("compare", *words, "--equivalence", "0.5")
    assert code == 0 and "assumed, 90% intervals over the population of topics" in out
    assert "equivalent" in out and "Tukey" in out


def test_rank_writes_sets_of_ranks_the_best_first(command, words, collection):
    code, out, _ = command("rank", *words, "--format", "csv", "--top", "1")
    assert (code, out.splitlines()[0]) == (0, RANKED + ",best")
    rows = pd.read_csv(io.StringIO(out))
    assert rows["measure"].tolist() == ["P@10"] * 3 + ["AP"] * 3
    assert rows["rank"].tolist()[:3] == sorted(rows["rank"].tolist()[:3])
    assert ((rows["lower"] <= rows["rank"]) & (rows["rank"] <= rows["upper"])).all()
    scores = be.evaluate(collection, ["P@10", "AP"], estimator="assumed")
    sets = be.rankings.rank_sets(scores, simultaneous=True, top=1)
    for row in rows.itertuples():
        known = sets.sel(measure=row.measure, run=row.run)
        assert known.interval.values.tolist() == [row.lower, row.upper]
        assert known.best.item() == row.best
    code, out, _ = command("rank", *words)
    assert code == 0 and "possible ranks" in out
    assert "sets of ranks over the population of topics, all at once" in " ".join(out.split())


def test_a_sample_is_compared_and_ranked_with_its_design(command, files, draw_sample):
    runs = [files / name for name in "abc"]
    design = draw_sample(files, budget=20, n_strata=4)
    words = [files / "judged", *runs, *design, "--estimator", "dyn", "-m", "P@10"]
    code, out, err = command("compare", *words)
    assert code == 0, err
    assert "dyn, 90% intervals over these topics" in out and "outside the frame" not in err
    of_a = (files / "a").read_text()
    (files / "d").write_text(of_a.replace(" Q0 ", " Q0 new").replace(" a", " d"))
    code, _, err = command("compare", *words, files / "d", "--reference", "d")
    assert code == 0 and "outside the frame, mean over runs: P@10 0.250, up to 1.000 (d)" in err
    code, out, _ = command("rank", *words)
    assert code == 0 and "over these topics" in out


def test_what_is_not_known_of_a_difference_is_a_dash(command, files, draw_sample):
    design = draw_sample(files, budget=1, n_strata=1)
    words = [files / "judged", *(files / name for name in "abc"), *design, "--estimator", "dyn"]
    code, out, err = command("compare", *words, "-m", "P@10", "--format", "markdown")
    assert code == 0 and "nan" not in out and out.count("| - | - |") == 3
    assert err.count("one draw gives no standard error; sample two or more per topic") == 1
    _, out, _ = command("compare", *words, "-m", "P@10", "--format", "markdown",
                        "--equivalence", "0.1")  # fmt: skip
    assert out.count("| - | - | - |") == 3


def test_topics_in_groups_are_read_from_a_file(command, words, files, collection):
    groups = {"1": "x", "2": "y", "10": "y"}
    path = files / "groups.csv"
    path.write_text("topic,group\n" + "".join(f"{t},{g}\n" for t, g in groups.items()))
    by_group = ["--topic-groups", path]
    code, out, err = command("compare", *words, *by_group, "--format", "csv")
    assert (code, err) == (0, "")
    known = be.compare(collection, ["P@10", "AP"], estimator="assumed", topic_groups=groups)
    for name in ("standard_error", "p_tukey"):
        expected = be.to_frame(known)[name]
        pd.testing.assert_series_equal(pd.read_csv(io.StringIO(out))[name], expected)
    over = ["--population", "topics", "--format", "csv"]
    code, out, _ = command("evaluate", *words, *by_group, *over)
    scores = be.evaluate(collection, ["P@10", "AP"], estimator="assumed")
    mean = be.mean_over_topics(scores, population="topics", topic_groups=groups)
    error = pd.read_csv(io.StringIO(out)).set_index(["run", "measure"])["standard_error"]
    expected = mean["standard_error"].to_series().swaplevel()
    pd.testing.assert_series_equal(error, expected[error.index], check_names=False)
    code, out, _ = command("rank", *words, *by_group, *over)
    sets = be.rankings.rank_sets(scores, topic_groups=groups)
    upper = pd.read_csv(io.StringIO(out)).set_index(["run", "measure"])["upper"]
    expected = sets["interval"].sel(ci_bound="upper").to_series().swaplevel()
    pd.testing.assert_series_equal(upper, expected[upper.index], check_names=False)


def test_any_separator_parts_topics_and_groups(command, words, files):
    path = files / "groups.csv"
    printed = set()
    for text in ("topic,group\n1,x\n2,y\n10,y\n", "# turns\nGroup;qid\nx;1\n\n'y;2\n'y;10\n",
                 "topic\tgroup\tnote\r\n1\tx\t\r\n2\ty\t\r\n10\ty\t\r\n"):  # fmt: skip
        path.write_text(text)
        code, out, err = command("compare", *words, "--topic-groups", path, "--format", "csv")
        assert code == 0, err
        printed.add(out)
    assert len(printed) == 1


def test_a_file_of_groups_that_does_not_fit_is_refused(command, words, files, monkeypatch):
    path = files / "groups.csv"
    monkeypatch.setattr(be, "evaluate", lambda *_, **__: pytest.fail("has estimated"))
    for text, message in (
        ("topic,team\n1,x\n", "has the columns topic, team; it needs topic and group"),
        ("topic,group\n1,x\n1,y\n", "names the topic '1' twice"),
        ("topic,group\n1,x\n2,\n", "groups.csv, line 3: the group is empty"),
        ("topic;group\n1;x;y\n", "groups.csv, line 2: 3 cells where the header has 2"),
        (b"topic,group\n1,\xe9\n", "groups.csv, line 2: byte 0xe9 is not UTF-8 text"),
        ('topic,"group\n', "groups.csv, line 1: unexpected end of data"),
        ("", "groups.csv is empty"),
        (
            "topic,group\n1,x\n2,y\n",
            "--topic-groups must name the group of every topic; it lacks 10",
        ),
    ):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        code, out, err = command("compare", *words, "--topic-groups", path)
        assert (code, out) == (2, "") and message in err
    code, _, err = command("compare", *words, "--topic-groups", path, "--output", path)
    assert code == 2 and "would replace" in err and path.read_text() == text
    code, _, err = command("rank", *words, "--topic-groups", path)
    assert code == 2 and "lacks 10" in err
    code, _, err = command("evaluate", *words, "--topic-groups", path, "--population", "sample")
    assert code == 2 and "--topic-groups is for --population topics" in err
    code, _, err = command("evaluate", *words, "--topic-groups", path)
    assert code == 2 and "lacks 10" in err


@pytest.mark.parametrize("grouped", [True, False])
def test_one_group_of_runs_is_explained(command, words, grouped):
    wide = ["--ci-prob", "0.999999"] if grouped else ["--ci-prob", "1e-6"]
    code, _, err = command("rank", *words, *wide)
    note = "one group, since nowhere are all runs above found better"
    assert code == 0 and (note in err) == grouped
