"""Notes on stderr beside the scores."""

import csv
import io
import warnings

import pytest
import xarray as xr

import bayeseval as be
from bayeseval.cli.notes import outside_shares

WORDS = ["--estimator", "assumed", "--format", "csv"]


def keep(path, is_kept):
    """Keep the lines whose fields pass."""
    lines = [line for line in path.read_text().splitlines() if is_kept(line.split())]
    path.write_text("\n".join(lines) + "\n")


def line_with(err, part):
    """The one line of stderr that has a part."""
    found = [line for line in err.splitlines() if part in line]
    assert len(found) == 1, err
    return found[0]


@pytest.fixture
def evaluate(command, files):
    """Evaluate runs by complete judgments, as CSV."""

    def run(*words, runs="a"):
        paths = [files / name for name in runs]
        return command("evaluate", files / "qrels", *paths, *WORDS, *words)

    return run


def test_the_run_with_most_weight_outside_is_named(evaluate, files):
    (files / "b").write_text((files / "b").read_text().replace(" d", " new"))
    err = evaluate("-m", "P@5", runs="ab")[2]
    assert "P@5 0.500, up to 1.000 (b)" in line_with(err, "weight on unjudged documents")


def test_weight_outside_an_unlisted_frame_is_unknown(command, files):
    lines = [f"{topic} d{n:02d} 1 1 0.5" for topic in ("1", "2", "10") for n in range(20)]
    (files / "sampled").write_text("\n".join(lines) + "\n")
    words = ["-m", "P@5", "-m", "AP", "--estimator", "stat", "--qrels-format", "prels"]
    code, out, err = command("evaluate", files / "sampled", files / "a", *words)
    assert code == 0, err
    assert "unknown" in line_with(err, "weight on documents")


def test_runs_that_lack_topics_are_counted_and_the_worst_named(evaluate, files):
    keep(files / "b", lambda fields: fields[0] == "1")
    err = evaluate("-m", "AP", runs="ab")[2]
    line = line_with(err, "topics and")
    assert "1 of 2 runs lacks topics and scores 0 there" in line
    assert "run b lacks most, 2 of 3 topics" in line


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate"],
        ["compare"],
        ["rank"],
        ["plan", "--budget", 10],
        ["adjust", "--unpooled", "c"],
    ],
    ids=lambda words: words[0],
)
def test_topics_that_all_runs_lack_get_one_note(command, files, words):
    for name in "abc":
        keep(files / name, lambda fields: fields[0] != "2")
    at = [files / word if word == "c" else word for word in words[1:]]
    asked = [files / "qrels", files / "a", files / "b", "-m", "P@5", *at]
    code, out, err = command(words[0], *asked, *(WORDS[:2] if len(words) == 1 else ()))
    assert code == 0, err
    assert "runs lack topics and score 0 there" in line_with(err, "lack")
    assert "no run has documents" not in err


def test_complete_runs_and_judgments_need_no_note(evaluate):
    code, out, err = evaluate("-m", "AP")
    assert (code, err) == (0, "")


def test_one_topic_has_no_spread_and_gets_a_note(command, files):
    keep(files / "qrels", lambda fields: fields[0] == "2")
    keep(files / "a", lambda fields: fields[0] == "2")
    code, out, err = command("evaluate", files / "qrels", files / "a", "-m", "AP", *WORDS)
    assert code == 0
    assert next(csv.DictReader(io.StringIO(out)))["standard_error"] == ""
    assert "1 topic" in line_with(err, "for the population of topics")


def test_the_version_is_printed(command):
    code, out, err = command("--version")
    assert (code, err) == (0, "")
    assert out == f"bayeseval {be.__version__}\n"


def test_what_a_terminal_would_obey_is_shown_escaped(command, files):
    for name in "ab":
        text = (files / name).read_text().replace(f" {name}\n", " \x1b[31mred\n")
        (files / name).write_text(text)
    (files / "b").rename(files / "\x9bb")
    words = ["-m", "P@5", "--estimator", "assumed"]
    code, out, err = command("evaluate", files / "qrels", files / "a", *words)
    assert code == 0 and "\\x1b[31mred" in out and "\x1b" not in out
    runs = [files / "a", files / "\x9bb"]
    code, out, err = command("evaluate", files / "qrels", *runs, *words)
    assert code == 0 and "\\x1b[31mred' is now" in err and "\\x9bb" in err and "\\x9bb" in out
    assert not {"\x1b", "\x9b"} & {*out, *err}
    code, out, err = command("evaluate", files / "qrels", files / "\x1bc", *words)
    assert code == 2 and "\\x1bc does not exist" in err
    out = command("evaluate", files / "qrels", files / "a", *words, "--format", "csv")[1]
    assert "\x1b[31mred,all" in out  # what a program reads is as it was


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
@pytest.mark.parametrize("shape", ["table", "markdown", "latex"])
def test_tables_in_a_pipe_hold_no_escape_character(command, files, name, shape):
    for run in "ab":
        text = (files / run).read_text().replace(f" {run}\n", f" \x1b[31mred-{run}\n")
        (files / run).write_text(text)
    runs = [files / "a", files / "b"]
    words = ["-m", "P@5", "--estimator", "assumed", "--format", shape]
    code, out, _ = command(name, files / "qrels", *runs, *words)
    escaped = {"table": "x1b[31mred-a", "markdown": r"x1b\[31mred-a", "latex": "x1b{[}31mred-a"}
    assert code == 0 and escaped[shape] in out and "\x1b" not in out


def test_a_topic_named_as_the_mean_is_refused_where_both_would_be_written(command, files):
    for name in ("qrels", "a"):
        text = (files / name).read_text()
        (files / name).write_text(text.replace("\n2 ", "\nall "))
    words = ["evaluate", files / "qrels", files / "a", "-m", "P@5", "--estimator", "assumed"]
    assert command(*words, "--format", "csv")[0] == 0
    for form in ("table", "csv", "json", "trec_eval"):
        code, out, err = command(*words, "--per-topic", "--format", form)
        assert (code, out) == (2, "") and "a topic is named 'all'" in err


def test_differences_over_these_topics_say_which_topics_are_not_judged_yet(
    command, files, draw_sample
):
    design = draw_sample(files, runs="ab", budget=5)
    keep(files / "judged", lambda fields: fields[0] != "2")
    words = ["compare", files / "judged", files / "a", files / "b", "--estimator", "stat"]
    code, out, err = command(*words, "-m", "P@5", *design)
    assert code == 0
    assert "1 topic has no judgment yet" in line_with(err, "no judgment")


def test_a_weight_that_would_show_as_0_gets_no_note():
    weight = xr.DataArray(
        [[4e-4, 0.0], [6e-4, 0.0]],
        dims=("measure", "run"),
        coords={"measure": ["AP", "P@10"], "run": ["a", "b"]},
    )
    assert outside_shares(weight) == "P@10 0.000, up to 0.001 (a)"


class Outdated(UserWarning, DeprecationWarning):
    """As pyparsing's, which matplotlib 3.10 meets."""


def test_what_libraries_warn_developers_of_is_not_shown_to_users(command, files, monkeypatch):
    read = be.read_collection

    def reading(*arguments, **options):
        warnings.warn("'oneOf' deprecated", Outdated, stacklevel=1)
        warnings.warn("about the files", UserWarning, stacklevel=1)
        return read(*arguments, **options)

    monkeypatch.setattr(be, "read_collection", reading)
    code, out, err = command("evaluate", files / "qrels", files / "a", "-m", "P@5", *WORDS)
    assert code == 0
    assert "deprecated" not in err
    assert "about the files" in err
