"""Tables for papers: LaTeX, Markdown, sorted, and what CSV adds."""

import io
import json
import re
from html import escape

import numpy as np
import pandas as pd
import pytest

NUMBERS = ["estimate", "lower", "upper", "standardised"]


@pytest.fixture
def evaluate(command, files):
    """Evaluate a good run, a bad one and one between, by complete judgments."""
    grades = {}
    for line in (files / "qrels").read_text().splitlines():
        topic, _, document, grade = line.split()
        grades.setdefault(topic, {})[document] = int(grade)
    random = np.random.default_rng(1)
    for name, noise in (("bad_1", 9.0), ("mid&2", 1.2), ("good", 0.05)):
        lines = [f"{t} Q0 {d} 0 {g + random.normal(0, noise):.6f} {name}"
                 for t, of_topic in grades.items() for d, g in of_topic.items()]  # fmt: skip
        (files / name).write_text("\n".join(lines) + "\n")

    def run(*words, measures=("AP", "P@10")):
        flags = [word for name in measures for word in ("-m", name)]
        return command("evaluate", files / "qrels", files / "bad_1", files / "mid&2",
                       files / "good", *flags, "--estimator", "assumed", "--population", "topics",
                       *words)  # fmt: skip

    return run


def test_sorting_puts_the_best_mean_first_whatever_the_name_s_form(evaluate):
    code, out, _ = evaluate("--sort", "map", "--format", "csv", "--per-topic")
    rows = pd.read_csv(io.StringIO(out))
    assert code == 0
    assert list(dict.fromkeys(rows["run"])) == ["good", "mid&2", "bad_1"]
    assert rows["topic"].tolist()[:8] == ["1", "1", "2", "2", "10", "10", "all", "all"]
    code, _, err = evaluate("--sort", "nDCG@5")
    assert code == 2 and "--sort nDCG@5 is none of the measures asked for: AP, P@10" in err


def test_csv_has_degrees_of_freedom_and_tables_say_where_they_are_few(evaluate):
    rows = pd.read_csv(io.StringIO(evaluate("--format", "csv")[1]))
    further = ["degrees_of_freedom", "design_error", "n_topics", "outside_weight"]
    assert rows.columns[8:].tolist() == further
    assert (rows["degrees_of_freedom"] == 2).all() and rows["design_error"].isna().all()
    record = json.loads(evaluate("--format", "json")[1])["scores"][0]
    assert record["degrees_of_freedom"] == 2
    assert "(degrees of freedom: AP 2, P@10 2)" in evaluate()[1]


def test_latex_is_a_table_with_escaped_names(evaluate):
    code, out, _ = evaluate("--format", "latex", "--sort", "AP")
    lines = out.splitlines()
    assert code == 0
    assert r"\begin{tabular}{lrr}" in lines and r"\end{tabular}" in lines
    assert lines[-3].startswith(r"bad\_1 & 0.")
    assert any(line.startswith(r"mid\&2 & ") for line in lines)
    assert all(line.count("&") - line.count(r"\&") == 2 for line in lines if line.endswith(r"\\"))
    assert all(ord(letter) < 128 for letter in out)


NAMES = ["[x](y)", "a|b_c", "*d&e*", "~$f#g$~", "<i>%\\"]
IN_LATEX = [r"{[}x{]}(y)", r"a\textbar{}b\_c", r"{*}d\&e{*}",
            r"\textasciitilde{}\$f\#g\$\textasciitilde{}",
            r"$<$i$>$\%\textbackslash{}"]  # fmt: skip


def test_every_format_escapes_what_it_would_read_in_a_name(command, files):
    runs = []
    for number, name in enumerate(NAMES):
        runs.append(files / f"{number}.run")
        runs[-1].write_text((files / "a").read_text().replace(" a\n", f" {name}\n"))
    words = [files / "qrels", *runs, "-m", "P@10", "--estimator", "assumed"]
    over = ["--population", "topics"]
    written = {
        format: command("evaluate", *words, *over, "--format", format)[1]
        for format in ("table", "markdown", "latex", "csv", "json")
    }
    assert [row["run"] for row in json.loads(written["json"])["scores"]] == NAMES
    assert pd.read_csv(io.StringIO(written["csv"]))["run"].tolist() == NAMES
    lines = written["table"].splitlines()
    for name in NAMES:
        assert any(line.startswith(f" {name} ") for line in lines)
    lines = [line for line in written["markdown"].splitlines() if line.startswith("| ")][2:]
    for name, line in zip(NAMES, lines, strict=True):
        cell = line.removeprefix("| ").split(" | ")[0]
        assert not re.search(r"(?<!\\)[][|*_`<&~$#]", cell.replace(r"\\", ""))
        assert re.sub(r"\\([^0-9A-Za-z ])", r"\1", cell) == name
    lines = [line for line in written["latex"].splitlines() if line.endswith(r"\\")][1:]
    assert [line.split(" & ")[0] for line in lines] == IN_LATEX
    page = files / "page.html"
    assert command("report", *words, "--output", page)[0] == 0
    assert all(escape(name) in page.read_text() for name in NAMES)
    assert "<i>%" not in page.read_text()


def test_numbers_below_0_have_a_minus_in_latex_and_labels_a_hyphen(command, files):
    (files / "e-1").write_text((files / "a").read_text().replace(" a\n", " e-1\n"))
    words = ["compare", files / "qrels", files / "e-1", files / "b", files / "c", "-m", "AP",
             "--estimator", "assumed", "--format"]  # fmt: skip
    rows = pd.read_csv(io.StringIO(command(*words, "csv")[1]))
    lines = [line for line in command(*words, "latex")[1].splitlines() if line.endswith(r"\\")]
    assert lines[1].startswith("e-1 & b & ")
    for line, row in zip(lines[1:], rows.to_dict("records"), strict=True):
        assert line.count("$-$") == sum(row[name] < 0 for name in NUMBERS)
        assert re.search(r"[& [0-9]-\d", line) is None


def test_markdown_is_a_table_with_a_rule(evaluate):
    out = evaluate("--format", "markdown", "--per-topic")[1]
    lines = [line for line in out.splitlines() if line.startswith("|")]
    assert lines[:2] == ["| run | topic | AP | P@10 |", "| --- | --- | ---: | ---: |"]
    assert len(lines) == 2 + 3 * 4 and lines[2].startswith(r"| bad\_1 | 1 | 0.")


@pytest.mark.parametrize("name", ["compare", "rank"])
def test_comparisons_and_ranks_are_typeset_too(evaluate, command, files, name):
    evaluate()
    words = [name, files / "qrels", files / "bad_1", files / "good", "-m", "AP", "--estimator",
             "assumed", "--format"]  # fmt: skip
    code, latex, _ = command(*words, "latex")
    assert code == 0
    lines = [line for line in latex.splitlines() if line.endswith(r"\\")]
    widths = {len(re.findall(r"(?<!\\)&", line)) for line in lines}
    assert len(widths) == 1 and r"bad\_1" in latex and "\\begin{tabular}{l" in latex
    code, markdown, _ = command(*words, "markdown")
    piped = [line for line in markdown.splitlines() if line.startswith("|")]
    assert code == 0 and len(piped) == len(lines) + 1
    assert {line.count("|") for line in piped} == {widths.pop() + 2}


def test_trec_eval_s_format_has_its_names(evaluate):
    names = {"P@10": "P_10", "AP": "map", "nDCG@10": "ndcg_cut_10", "R@20": "recall_20"}
    names |= {"RR": "recip_rank", "RBP(p=0.8)": "RBP(p=0.8)", "NumRel": "NumRel"}
    code, out, err = evaluate("--format", "trec_eval", measures=names)
    assert code == 0, err
    found = [line.split("\t")[0].strip() for line in out.splitlines()]
    assert found[: 1 + len(names)] == ["runid", *names.values()]
