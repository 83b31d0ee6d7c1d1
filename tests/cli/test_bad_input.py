"""A mistyped file of each kind: exit code 2 and one sentence with file and line."""

import gzip

import numpy as np
import pytest
import xarray as xr


def check_refused(answer, *parts):
    """Check that an answer is a user's mistake in one sentence that holds these parts."""
    code, out, err = answer
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1, err
    assert "Traceback" not in err
    for part in parts:
        assert str(part) in err, f"{part!r} is not in {err!r}"


def changed(path, number, line):
    """Replace line `number` (from 1), or append it."""
    lines = path.read_text().splitlines()
    lines[number - 1 : number] = [line]
    path.write_text("\n".join(lines) + "\n")


def score(command, files, *words, qrels="qrels", run="a", measure="AP", estimator="assumed"):
    return command(
        "evaluate", files / qrels, files / run, "-m", measure, "--estimator", estimator, *words
    )


BAD_RUN_LINES = [
    ("1 Q0 d05 0 3.5 a", "d05"),
    ("1 Q0 d04 0", "4"),
    ("1 Q0 d04 0 nan a", "nan"),
    ("1 Q0 d04 0 inf a", "inf"),
    ("1 Q0 d04 0 high a", "high"),
]
BAD_QRELS_LINES = [
    ("1 0 d05 1", "d05"),
    ("1 0 d04", "3"),
    ("1 0 d04 yes", "yes"),
    ("1 0 d04 1.5", "1.5"),
]


@pytest.mark.parametrize(("line", "found"), BAD_RUN_LINES, ids=[row[0] for row in BAD_RUN_LINES])
def test_a_bad_line_of_a_run_is_named(command, files, line, found):
    number = 7 if "d05" in line else 5
    changed(files / "a", number, line)
    check_refused(score(command, files), str(files / "a"), f"line {number}", found)


@pytest.mark.parametrize(
    ("line", "found"), BAD_QRELS_LINES, ids=[row[0] for row in BAD_QRELS_LINES]
)
def test_a_bad_line_of_the_qrels_is_named(command, files, line, found):
    number = 7 if "d05" in line else 5
    changed(files / "qrels", number, line)
    check_refused(score(command, files), str(files / "qrels"), f"line {number}", found)


@pytest.mark.parametrize("name", ["a", "qrels"])
def test_an_empty_file_is_named(command, files, name):
    (files / name).write_text("")
    check_refused(score(command, files), str(files / name), "empty")


@pytest.mark.parametrize("name", ["a", "qrels"])
def test_a_missing_file_is_named(command, files, name):
    (files / name).unlink()
    check_refused(score(command, files), str(files / name))


def test_a_broken_archive_is_named(command, files):
    whole = gzip.compress((files / "a").read_bytes())
    (files / "a.gz").write_bytes(whole[: len(whole) // 2])
    check_refused(score(command, files, run="a.gz"), f"{files / 'a.gz'} is not a whole .gz file")
    (files / "a.gz").write_bytes(b"1 Q0 d00 0 1 a\n")
    told = f"{files / 'a.gz'} is not gzip data (its name ends in .gz)"
    check_refused(score(command, files, run="a.gz"), told)


def test_a_file_that_is_no_text_is_named(command, files):
    (files / "a").write_bytes(b"1 Q0 d00 0 1 a\n1 Q0 d\xff\xfe 0 1 a\n")
    check_refused(score(command, files), str(files / "a"))


def test_topics_that_do_not_overlap_are_named(command, files):
    (files / "qrels").write_text("301 0 d00 1\n302 0 d01 0\n")
    check_refused(score(command, files), "301", "topic")


@pytest.mark.parametrize("probability", ["0", "-0.5", "1.5", "nan", "often"])
@pytest.mark.parametrize("form", ["prels", "probs"])
def test_a_probability_outside_its_range_is_named(command, files, form, probability):
    good, bad = {
        "prels": ("1 d00 1 1 0.5\n", f"1 d01 1 1 {probability}\n"),
        "probs": ("1 0 d00 1 0.5\n", f"1 0 d01 1 {probability}\n"),
    }[form]
    (files / "sampled").write_text(good + bad)
    answer = score(command, files, "--qrels-format", form, qrels="sampled", estimator="stat")
    check_refused(answer, str(files / "sampled"), "line 2", probability)


def test_a_missing_stratum_is_named(command, files):
    (files / "sampled").write_text("1 0 d00 1 1\n1 0 d01 1\n")
    answer = score(command, files, "--qrels-format", "sampleval", qrels="sampled", estimator="stat")
    check_refused(answer, str(files / "sampled"), "line 2")


@pytest.fixture
def design(command, files):
    """A design file and the judgments of its whole sample."""
    code, out, err = command(
        "sample", files / "a", "--budget", "8", "--n-strata", "2", "--pool-depth", "20",
        "--seed", "1", "--design-file", files / "design.nc",
    )  # fmt: skip
    assert code == 0, err
    asked = [line.split("\t") for line in out.splitlines()]
    (files / "judged").write_text("".join(f"{topic} 0 {doc} 1\n" for topic, doc in asked))
    return files / "design.nc"


def test_a_judged_pair_outside_the_frame_is_named(command, files, design):
    with xr.open_dataset(design, engine="h5netcdf") as opened:
        frame = opened.load()
    of_topic = frame["document"].values[frame["pair_topic"].values == 0]
    stray = next(f"d{number:02d}" for number in range(40) if f"d{number:02d}" not in of_topic)
    with (files / "judged").open("a") as judged:
        judged.write(f"1 0 {stray} 1\n")
    answer = score(command, files, "--design", design, qrels="judged", estimator="stat")
    check_refused(
        answer, str(files / "judged"), "'1'", stray, "are these the judgments of another sample?"
    )


def test_a_sampled_pair_without_judgment_is_named(command, files, design):
    missing = (files / "judged").read_text().splitlines()[-1].split()[2]
    changed(files / "judged", len((files / "judged").read_text().splitlines()), "")
    answer = score(command, files, "--design", design, qrels="judged", estimator="stat")
    check_refused(answer, str(files / "judged"), missing)


def test_a_stratum_whose_size_disagrees_with_its_rows_is_named(command, files, design):
    with xr.open_dataset(design, engine="h5netcdf") as opened:
        frame = opened.load()
    frame["stratum_size"][0] += 1
    design.unlink()
    frame.to_netcdf(design, engine="h5netcdf")
    answer = score(command, files, "--design", design, qrels="judged", estimator="stat")
    check_refused(answer, str(design), "stratum")


def test_a_design_of_another_collection_is_named(command, files, design):
    text = (files / "a").read_text().replace(" d", " other")
    (files / "other").write_text(text)
    answer = score(
        command, files, "--design", design, qrels="judged", run="other", estimator="stat"
    )
    check_refused(answer, "design", "does not belong")


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
def test_a_run_without_a_topic_of_the_design_is_named(command, files, design, name):
    lines = (files / "b").read_text().splitlines()
    (files / "b").write_text("".join(f"0{line}\n" for line in lines))
    words = [files / "judged", files / "a", files / "b", "-m", "P@10", "--estimator", "stat"]
    answer = command(name, *words, "--design", design)
    check_refused(
        answer, "run 'b' has no topic in common with the design; it has '01' and so on, the"
    )
    check_refused(command(name, *words), "run 'b' has no topic in common with the judgments")


def test_a_file_that_is_no_design_is_named(command, files):
    answer = score(command, files, "--design", files / "b", estimator="stat")
    wanted = "is not a design file; --design takes the file that `bayeseval sample --design-file` "
    check_refused(answer, f"'{files / 'b'}' {wanted}wrote")
    xr.Dataset({"x": ("y", np.arange(3))}).to_netcdf(files / "x.nc", engine="h5netcdf")
    answer = score(command, files, "--design", files / "x.nc", estimator="stat")
    check_refused(answer, str(files / "x.nc"))
    answer = score(command, files, "--design", files / "none.nc", estimator="stat")
    check_refused(answer, str(files / "none.nc"))


@pytest.mark.parametrize(
    ("place", "kind"), [("qrels", "judgments"), ("run", "a run"), ("labels", "labels")]
)
def test_a_design_in_the_place_of_another_file_is_called_one(command, files, design, place, kind):
    given = {"qrels": files / "qrels", "run": files / "a", "labels": files / "qrels"}
    given[place] = design
    answer = command(
        "evaluate", given["qrels"], given["run"], "-m", "AP", "--estimator", "dyn",
        "--labels", f"judge={given['labels']}",
    )  # fmt: skip
    check_refused(answer, f"{design} is a netCDF file (a design?), not {kind}")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["-m", "Precis@10", "--estimator", "assumed"], ["Precis@10", "P@10", "nDCG@10"]),
        (["-m", "RBP(p=2)", "--estimator", "assumed"], ["p=2", "between 0 and 1"]),
        (["-m", "AP", "--estimator", "best"], ["best", "assumed", "stat", "dyn"]),
        (["-m", "AP", "--estimator", "stat"], ["stat", "design"]),
        (["-m", "AP", "--estimator", "assumed", "--ci-prob", "1"], ["--ci-prob", "1"]),
        (["-m", "AP", "--estimator", "assumed", "--depth", "0"], ["--depth", "0"]),
        (["-m", "AP", "--estimator", "assumed", "--relevance-level", "0"], ["--relevance-level"]),
        (["-m", "AP", "--estimator", "assumed", "--output", "no/where.csv"], ["no/where.csv"]),
        (["-m", "AP", "--estimator", "assumed", "--output", "."], ["folder"]),
        (["-m", "AP", "--estimator", "assumed", "--format", "xml"], ["--format", "xml", "csv"]),
        (["-m", "AP", "--estimator", "assumed", "--population", "all"], ["--population", "topics"]),
        (["-m", "AP"], ["--estimator"]),
        (["-m", "AP", "--estimator", "dyn", "--predictor", "external:x"], ["constant:VALUE"]),
        (["-m", "AP", "--estimator", "dyn", "--predictor", "constant:x"], ["constant:VALUE"]),
        (
            ["-m", "AP", "--estimator", "assumed", "--predictor", "pooled"],
            ["--estimator dyn with a predictor"],
        ),
        (["--estimator", "assumed"], ["-m"]),
        (["-m", "AP", "--estimator", "assumed", "--wrong"], ["--wrong"]),
    ],
    ids=" ".join,
)
def test_bad_options_are_one_sentence(command, files, monkeypatch, words, parts):
    monkeypatch.chdir(files)
    check_refused(command("evaluate", "qrels", "a", *words), *parts)


@pytest.mark.parametrize("measure", ["RR", "Bpref", "Success@5", "Judged@10"])
def test_a_measure_without_such_an_estimate_lists_those_that_have_one(
    command, files, design, measure
):
    answer = score(
        command, files, "--design", design, qrels="judged", measure=measure, estimator="dyn"
    )
    check_refused(answer, measure, "nDCG", "RBP")


@pytest.mark.parametrize("name", ["compare", "rank"])
def test_a_seed_that_is_none_is_told_in_the_words_of_the_shell(command, files, name):
    answer = command(name, files / "qrels", files / "a", files / "b", "-m", "P@5", "--estimator",
                     "assumed", "--seed", "-1")  # fmt: skip
    check_refused(answer, "--seed is -1", "allowed: a whole number, 0 or more")


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
def test_a_level_above_all_grades_is_refused(command, files, name):
    answer = command(name, files / "qrels", files / "a", files / "b", "-m", "P@5", "--estimator",
                     "assumed", "--relevance-level", "5")  # fmt: skip
    check_refused(
        answer, "no judged document has the grade --relevance-level 5", "the highest is 2"
    )
    answer = command(name, files / "qrels", files / "a", files / "b", "-m", "P(rel=3)@5",
                     "--estimator", "assumed")  # fmt: skip
    check_refused(
        answer, "no judged document has the grade 3 of P(rel=3)@5 or more; the highest is 2"
    )


def test_a_level_that_the_sample_missed_is_said(command, files, design):
    code, _, said = score(
        command, files, "--design", design, "--relevance-level", "2", qrels="judged",
        measure="P@5", estimator="dyn",
    )  # fmt: skip
    assert code == 0 and said.count("no judged document has one; the highest is 1") == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a b c grade\n1 0 d01 1\n", ["line 1: grade 'grade'", "a header line"]),
        ("1,0,d01,1\n", ["line 1: 1 field where", "blanks or tabs", "a first line that names"]),
        (
            "topic,document,why\n1,d01,1\n",
            ["has no column 'grade'; it needs topic, document, grade"],
        ),
        (
            "1 d01 1\n",
            [
                "line 1: 3 fields where at least 4 are needed (topic iter document grade); a table",
                "needs a first line that names them",
            ],
        ),
    ],
)
def test_judgments_of_another_shape_are_told_what_is_wrong(command, files, text, parts):
    (files / "qrels").write_text(text)
    answer = score(command, files)
    check_refused(answer, *parts)
    assert "judgments first" not in answer[2]


def test_headed_files_in_the_wrong_order_are_told(command, files):
    (files / "q.csv").write_text("qid,docno,rel\n1,d01,1\n")
    (files / "r.csv").write_text("qid,docno,score\n1,d01,1.5\n")
    words = ["-m", "P@5", "--estimator", "assumed"]
    answer = command("evaluate", files / "r.csv", files / "q.csv", *words)
    check_refused(answer, "r.csv has no column 'grade'", "judgments first")


def test_a_header_of_a_run_that_names_no_topic_is_told_and_nothing_else(command, files):
    (files / "a").write_text("query Q0 docno rank score tag\n" + (files / "a").read_text())
    answer = score(command, files)
    check_refused(answer, "line 1: score 'score' is not", "a header line must be taken out")
    assert len(answer[2].splitlines()) == 1


def test_a_choice_that_does_not_exist_is_told_in_our_words(command, files):
    answer = command("evaluate", files / "qrels", files / "a", "-m", "AP", "--format", "xml")
    check_refused(answer, "'--format': 'xml' is not one of 'table'")


def test_one_topic_tells_no_error_of_a_difference(command, files):
    (files / "qrels").write_text("1 0 d01 1\n1 0 d02 0\n")
    words = [files / "qrels", files / "a", files / "b", "-m", "P@5", "--estimator", "assumed"]
    said = "the spread over topics needs at least 2 topics with scores"
    for name in ("compare", "rank"):
        code, out, err = command(name, *words)
        assert (code, out) == (2, "") and said in err
        assert "--population" not in err  # nobody gave it


def test_a_difference_on_one_topic_beside_others_is_said(command, files):
    lines = (files / "c").read_text().splitlines(keepends=True)
    (files / "c").write_text("".join(line for line in lines if line.startswith("2 ")))
    words = [files / "qrels", *(files / name for name in "abc"), "-m", "P@5"]
    words += ["--estimator", "assumed", "--missing-topics", "skip"]
    code, _, err = command("compare", *words)
    assert code == 0 and "a difference on 1 topic has no standard error" in err


def test_usage_errors_are_one_sentence(command):
    check_refused(command("evaluat"), "evaluat")
    check_refused(command("evaluate"), "QRELS", "bayeseval evaluate --help")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "q"], "Missing argument 'RUN': Run files or quoted globs"),
        (["evaluate", "q", "r", "-m", "AP"], "Missing option '--estimator': dyn or stat"),
        (["fit", "q", "r", "-m", "AP", "--draws", "2"], "--draws must be at least 4"),
    ],
)
def test_what_lacks_or_is_too_small_is_told_with_what_it_takes(command, words, said):
    check_refused(command(*words), said)


def test_help_is_short_for_h_and_shown_where_no_command_is_named(command):
    code, out, err = command("--help")
    assert (code, err) == (0, "") and "evaluate" in out and "Usage: bayeseval" in out
    assert command("-h")[:2] == (0, out)
    assert command("evaluate", "-h")[:2] == command("evaluate", "--help")[:2]
    code, nothing, said = command()
    assert (code, nothing, said.split()) == (2, "", out.split())


@pytest.mark.parametrize("name", ["evaluate", "adjust", "fit"])
def test_a_measure_that_is_none_is_refused_before_files_are_read(command, files, name):
    (files / "qrels").write_text("no judgments\n")
    extra = {"evaluate": ["--estimator", "stat"], "adjust": ["--unpooled", files / "b"], "fit": []}
    words = [name, files / "qrels", files / "a", "-m", "Precis@10", *extra[name]]
    check_refused(command(*words), "Precis@10", "nDCG@10")


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
def test_an_estimate_that_there_is_not_is_refused_before_files_are_read(command, files, name):
    (files / "qrels").write_text("no judgments\n")
    words = [name, files / "qrels", files / "a", "-m", "RR", "--estimator"]
    check_refused(command(*words, "dyn"), "RR", "has no 'dyn' estimate")
    check_refused(
        command(*words, "hopeful"), "no estimator 'hopeful'; there are assumed, combined, condensed"
    )
    check_refused(
        command(*words, "dynn"), "no estimator 'dynn'; did you mean dyn? There are assumed"
    )


def test_judgments_and_run_in_the_wrong_order_are_told_the_order(command, files):
    code, out, err = command("evaluate", files / "a", files / "qrels", "-m", "AP",
                             "--estimator", "assumed")  # fmt: skip
    assert (code, out) == (2, "")
    assert "QRELS RUN" in err.splitlines()[-1]


def test_messages_name_options_and_leave_file_names_alone(command, files):
    with (files / "a").open("a") as run:
        run.write("1 Q0 d00 0 -5 a\n")
    (files / "a").rename(files / "n_strata.run")
    answer = score(command, files, run="n_strata.run")
    check_refused(answer, "n_strata.run", "--on-duplicate best keeps")


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        ("xinfAP", "xinfAP of sample_eval is AP by --estimator inf"),
        ("infNDCG", "infNDCG of sample_eval is nDCG by --estimator inf"),
        ("infAP", "xinfAP of sample_eval is AP by --estimator inf"),
    ],
)
def test_an_inferred_measure_is_named_by_what_one_types(command, files, measure, text):
    check_refused(score(command, files, measure=measure, estimator="inf"), text)
