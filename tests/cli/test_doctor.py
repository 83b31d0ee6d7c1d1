"""`bayeseval doctor`: the installation, and all that is wrong with files at once."""

import os
import shutil

import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def sound(monkeypatch):
    """No check of the installation, which has a test of its own."""
    monkeypatch.setattr("bayeseval.cli.doctor._check_installation", lambda findings: None)


def test_the_installation_is_tried_on_a_small_collection(command, monkeypatch):
    monkeypatch.undo()
    code, out, err = command("doctor")
    lines = out.splitlines()
    assert (code, err) == (0, "") and lines[-1].startswith("0 errors")
    assert lines[0].startswith("ok       Python 3.")
    assert any("ok       estimates by dyn, on a small collection" in line for line in lines)
    assert any("ok       a relevance model and its scores" in line for line in lines)


def test_a_step_that_fails_is_an_error(command, monkeypatch):
    monkeypatch.undo()

    def broken(sampled):
        raise ValueError("no compiler")

    monkeypatch.setattr("bayeseval.cli.doctor._modelled", broken)
    code, out, _ = command("doctor")
    assert code == 2 and "error    no compiler" in out and "1 error, " in out


def test_good_files_are_listed_with_a_table_of_the_runs(command, files):
    code, out, err = command("doctor", files / "qrels", files / "a", files / "b")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(
        f"ok       {files / 'qrels'}: 120 judgments of 3 topics, grades 0 to 2"
    )
    assert lines[1:3] == ["ok       2 runs can be read", "0 errors, 0 warnings"]
    rows = [line.split() for line in lines if line.startswith((" a ", " b "))]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["a", "0", "40", "40", "1.00"],
        ["b", "0", "40", "40", "1.00"],
    ]


def test_every_mistake_is_found_at_once(command, files):
    (files / "qrels").write_text("1 0 d01\n")
    (files / "a").write_text("1 Q0 d01 1 x a\n")
    (files / "b").write_text("1 Q0 d01 1 2 b\n1 Q0 d01 2 1 b\n")
    code, out, _ = command(
        "doctor", files / "qrels", files / "a", files / "none", files / "b", files / "c"
    )
    lines = out.splitlines()
    assert code == 2 and [line.split()[0] for line in lines[:-1]] == ["error"] * 4 + ["ok"]
    for line, name in zip(lines, ("qrels, line 1", "a, line 1", "none", "b, line 2"), strict=False):
        assert name in line
    assert lines[-2:] == ["ok       1 run can be read", "4 errors, 0 warnings"]


def test_runs_that_are_suspect_are_named(command, files):
    lines = (files / "a").read_text().splitlines()
    (files / "short").write_text(
        "\n".join(line.replace(" a", " short") for line in lines if line.startswith("1 ")) + "\n"
    )
    shutil.copy(files / "b", files / "twin")
    (files / "twin").write_text((files / "b").read_text().replace(" b\n", " twin\n"))
    lone = [f"{topic} Q0 other{n} {n} {-n} lone" for topic in (1, 2, 10, 11) for n in range(20)]
    (files / "lone").write_text("\n".join(lone) + "\n")
    runs = [files / name for name in ("a", "b", "c", "short", "twin", "lone")]
    code, out, _ = command("doctor", files / "qrels", *runs)
    assert code == 0 and "0 errors, 5 warnings" in out
    assert "warning  no document of run 'lone' is among the judged ones: it has 'other0'" in out
    assert "warning  1 topic has no judgment yet and is left out: '11'" in out
    assert "warning  topics with judgments are missing in 1 run (short)" in out
    warning = "many of the first 10 documents are not judged in 1 run (lone), judged@10 from 0.00"
    assert f"warning  {warning} beside 1.00; such runs score too low" in out
    assert "warning  the runs b and twin are one and the same ranking" in out


def test_runs_with_fewer_judged_documents_than_others_are_named_but_for_samples(
    command, files, draw_sample
):
    fresh = []
    for line in (files / "b").read_text().splitlines():
        fields = line.split()
        fields[2] = f"new{fields[2]}" if int(fields[2][1:]) % 4 == 1 else fields[2]
        fresh.append(" ".join([*fields[:5], "fresh"]))
    (files / "fresh").write_text("\n".join(fresh) + "\n")
    runs = [files / name for name in ("a", "fresh")]
    _, out, _ = command("doctor", files / "qrels", *runs)
    assert "1 warning" in out and "are not judged in 1 run (fresh), judged@10 from 0." in out
    assert "judge more, or draw a sample" in out
    few = [line for line in (files / "qrels").read_text().splitlines() if line.split()[2] < "d12"]
    (files / "few").write_text("\n".join(few) + "\n")
    _, out, _ = command("doctor", files / "few", *runs)
    assert "not judged in 2 runs (fresh, a), judged@10 from 0." in out, "the worst comes first"
    design = draw_sample(files, runs=("a", "fresh"), budget=10, n_strata=2)
    listed = [line.split() for line in (files / "judged").read_text().splitlines()]
    judged = [f"{line[0]} 0 {line[2]} {n % 2}" for n, line in enumerate(listed)]
    (files / "judged").write_text("\n".join(judged) + "\n")
    words = ["doctor", files / "judged", *runs]
    assert "0 warnings" in command(*words, *design)[1]
    assert "if this is a sample already, name its --design" in command(*words)[1]


def test_judgments_alone_are_checked_and_what_is_asked_of_them(command, files):
    assert command("doctor", files / "qrels")[0] == 0
    (files / "none").write_text("1 0 d01 -1\n")
    code, out, _ = command("doctor", files / "none")
    assert (
        code == 2 and f"error    {files / 'none'}: nothing is judged; every grade is below" in out
    )
    (files / "zeros").write_text("1 0 d01 0\n1 0 d02 0\n")
    code, out, _ = command("doctor", files / "zeros")
    assert code == 0 and f"warning  {files / 'zeros'}: no grade is above 0" in out
    (files / "ones").write_text("1 0 d01 1\n1 0 d02 2\n")
    code, out, _ = command("doctor", files / "ones")
    assert code == 0 and f"warning  {files / 'ones'}: every grade is above 0" in out


def test_labels_are_judged_whatever_is_wrong_with_the_other_files(command, files):
    (files / "qrels").write_text("1 0 d01\n")
    (files / "words").write_text("1 0 d01 yes\n")
    (files / "twice").write_text("1 0 d01 1\n1 0 d01 0\n")
    (files / "good").write_text("1 0 d01 1\n")
    named = [word for name in ("words", "twice", "none", "good") for word in ("--labels", name)]
    named = [files / word if word != "--labels" else word for word in named]
    code, out, _ = command("doctor", files / "qrels", files / "a", *named)
    assert code == 2 and "4 errors, 1 warning" in out
    for part in ("qrels, line 1: 3 fields", "words, line 1: label 'yes'", "has a second label",
                 f"there is no file '{files / 'none'}' of labels"):  # fmt: skip
        assert part in out
    both = ("--labels", f"x={files / 'good'}", "--labels", f"x={files / 'words'}")
    _, out, _ = command("doctor", files / "qrels", files / "a", *both)
    assert "names two judges 'x'" in out and "label 'yes'" in out and "3 errors" in out


def test_labels_beside_runs_are_counted_and_copies_of_judgments_suspected(command, files):
    lines = (files / "qrels").read_text().splitlines()
    (files / "copy").write_text("\n".join(lines) + "\n")
    (files / "few").write_text("\n".join([*lines[:30], "1 0 other 1"]) + "\n")
    (files / "stray").write_text("9 0 d01 1\n")
    named = [word for name in ("copy", "few", "stray") for word in ("--labels", files / name)]
    code, out, err = command("doctor", files / "qrels", files / "a", *named)
    assert (code, err) == (2, "") and "1 error, 2 warnings" in out
    assert f"ok       {files / 'copy'}: labels 'copy', 120 of 120 pairs have one" in out
    assert "warning  the labels 'copy' agree with all 120 judgments" in out
    assert f"ok       {files / 'few'}: labels 'few', 30 of 120 pairs have one" in out
    assert "few: 1 of 31 labels are left out" in out and "stray: none of 1 labels" in out


def test_labels_are_compared_with_the_judgments(command, files):
    lines = [line.split() for line in (files / "qrels").read_text().splitlines()]
    (files / "none").write_text(
        "".join(f"{topic} 0 {document} 0\n" for topic, _, document, _ in lines)
    )
    _, out, _ = command("doctor", files / "qrels", files / "a", "--labels", files / "none")
    share = sum(int(line[3]) == 0 for line in lines) / len(lines)
    assert f"120 pairs have one; they agree with {share:.1%} of the judgments, kappa 0.00" in out
    assert (
        "; sensitivity 0.00 (0.00 to " in out
        and out.count("precision unknown (90% intervals; ") == 1
    )


def test_labels_of_sampled_documents_alone_are_refused_as_dyn_does(command, files, draw_sample):
    design = draw_sample(files, runs="a", budget=20, n_strata=5)
    words = ["doctor", files / "judged", files / "a", *design, "--labels"]
    code, out, _ = command(*words, files / "judged")
    assert code == 2 and "labels 'judged': 60 of 60 sampled documents have one and 0 of" in out
    code, out, _ = command(*words, files / "qrels")
    assert code == 0 and "labels 'qrels', 120 of 120 pairs have one" in out


def test_runs_are_judged_though_another_cannot_be_read(command, files):
    lines = (files / "a").read_text().splitlines()
    (files / "short").write_text("\n".join(line for line in lines if line[:2] == "1 ") + "\n")
    (files / "b").write_text("1 Q0 d01 1 x b\n")
    (files / "apart").write_text("77 Q0 d01 1 2 apart\n")
    (files / "floats").write_text("1.0 Q0 d01 1 2 floats\n")
    runs = [files / name for name in ("b", "short", "apart", "floats")]
    code, out, _ = command("doctor", files / "qrels", *runs)
    assert code == 2 and "3 errors, 1 warning" in out and "b, line 1: score 'x'" in out
    assert f"{files / 'apart'} has no topic in common with the judgments; it has '77'" in out
    assert f"{files / 'floats'} has no topic in common" in out and "floating-point" in out
    assert "ok       1 run can be read\nok       what follows is of the runs that can" in out
    assert "warning  topics with judgments are missing in 1 run (a)" in out and "\n a  " in out


def test_files_in_the_wrong_order_are_named_so(command, files):
    code, out, _ = command("doctor", files / "a", files / "qrels")
    assert code == 2 and out.count("(the order is QRELS RUN...: judgments first)") == 2


def test_mistakes_read_as_those_of_other_commands(command, files, monkeypatch):
    (files / "b").write_text("1 Q0 d01 1 2 b\n1 Q0 d01 2 1 b\n")
    words = (files / "qrels", files / "a", files / "b")
    said = command("evaluate", *words, "-m", "P@5", "--estimator", "assumed")[2]
    out = command("doctor", *words)[1]
    assert "on_duplicate='best' in Python keeps" in said
    assert f"error    {said.removeprefix('bayeseval: ')}" in out
    (files / "five").write_text("1 0 d01 1 0.5\n")
    assert "set --qrels-format to one of" in command("doctor", files / "five")[1]

    def broken(*given, **options):
        raise PermissionError(13, "Permission denied", "hidden")

    monkeypatch.setattr("bayeseval.cli.doctor.judged_collection", broken)
    code, out, _ = command("doctor", files / "qrels", files / "a")
    assert code == 2 and "error    hidden: Permission denied\n" in out


def test_designs_and_labels_are_checked_whatever_is_wrong_with_runs(command, files, draw_sample):
    draw_sample(files, runs="a", budget=5, n_strata=2)
    (files / "b").write_text("1 Q0 d01 1 x b\n")
    words = ["doctor", files / "qrels", files / "a", files / "b", "--design"]
    _, out, _ = command(*words, files / "design.nc", "--labels", files / "none")
    assert f"ok       {files / 'design.nc'}: a design, stratified\n" in out
    assert f"there is no file '{files / 'none'}' of labels" in out and "2 errors, 1 warning" in out
    assert "warning  how design, judgments, labels and runs fit together was not checked" in out
    _, out, _ = command(*words, files / "qrels")
    assert "is not a design file" in out and "b, line 1" in out and "2 errors" in out
    code, out, _ = command("doctor", files / "qrels", "--design", files / "design.nc")
    assert code == 0 and "was not checked" in out and "0 errors, 1 warning" in out
    code, out, err = command("doctor", "--design", files / "design.nc")
    assert (code, out) == (2, "") and "checked with QRELS RUN..." in err


def test_a_list_that_is_half_judged_needs_its_design(command, files):
    asked = ["--budget", "20", "--seed", "1", "--design-file", files / "o.nc"]
    command("sample", files / "a", files / "b", *asked, "--output", files / "list.csv")
    listed = pd.read_csv(files / "list.csv")
    listed["grade"] = [row % 2 if row < 0.8 * len(listed) else None for row in range(len(listed))]
    listed.to_csv(files / "list.csv", index=False)
    words = ["doctor", files / "list.csv", files / "a", files / "b"]
    warning = "whose scores are far too low without its design"
    assert warning in command(*words)[1]
    code, out, _ = command(*words, "--design", files / "o.nc")
    assert code == 0 and warning not in out


def test_pipes_and_files_that_stdout_goes_into_are_refused(command, files, monkeypatch):
    os.mkfifo(files / "pipe")
    code, out, err = command("doctor", files / "qrels", files / "pipe")
    assert (code, out) == (2, "") and f"{files / 'pipe'} is a pipe" in err
    with (files / "b").open("a") as into:
        monkeypatch.setattr("bayeseval.cli.output.os.fstat", lambda number: os.stat(into.name))
        code, out, err = command("doctor", files / "qrels", files / "none", files / "b")
    assert (code, out) == (2, "") and f"stdout would go into {files / 'b'}" in err
