"""`bayeseval doctor`: the installation, and all that is wrong with files at once."""

import shutil

import pytest


@pytest.fixture(autouse=True)
def sound(monkeypatch):
    """No check of the installation, which has a test of its own."""
    monkeypatch.setattr("bayeseval.cli.doctor._check_installation", lambda found: None)


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


def test_good_files_are_told_with_a_table_of_the_runs(command, files):
    code, out, err = command("doctor", files / "qrels", files / "a", files / "b")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(
        f"ok       {files / 'qrels'}: 120 judgments of 3 topics, grades 0 to 2"
    )
    assert lines[1:3] == ["ok       2 runs can be read", "0 errors, 0 warnings"]
    rows = [line.strip("│ ").split("│") for line in lines if line.startswith("│")]
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
    assert code == 0 and "0 errors, 4 warnings" in out
    assert "warning  1 topic has no judgment yet and is left out: '11'" in out
    assert "warning  topics with judgments are lacking in 1 run (short)" in out
    assert "warning  few of the first 10 documents are judged in 1 run (lone): such runs" in out
    assert "warning  the runs b and twin are one and the same ranking" in out


def test_judgments_alone_are_checked_and_what_is_asked_of_them(command, files):
    assert command("doctor", files / "qrels")[0] == 0
    (files / "none").write_text("1 0 d01 -1\n")
    code, out, _ = command("doctor", files / "none")
    assert code == 2 and "error    nothing is judged: no line has a grade" in out


def test_mistakes_are_told_as_by_other_commands(command, files, monkeypatch):
    (files / "b").write_text("1 Q0 d01 1 2 b\n1 Q0 d01 2 1 b\n")
    words = (files / "qrels", files / "a", files / "b")
    said = command("evaluate", *words, "-m", "P@5", "--estimator", "assumed")[2]
    out = command("doctor", *words)[1]
    assert "--on-duplicate best keeps" in said
    assert f"error    {said.removeprefix('bayeseval: ')}" in out
    (files / "five").write_text("1 0 d01 1 0.5\n")
    assert "set --qrels-format to one of" in command("doctor", files / "five")[1]

    def broken(*given, **options):
        raise PermissionError(13, "Permission denied", "hidden")

    monkeypatch.setattr("bayeseval.cli.doctor.judged_collection", broken)
    code, out, _ = command("doctor", files / "qrels", files / "a")
    assert code == 2 and "error    hidden: Permission denied\n" in out


def test_designs_and_labels_are_checked_whatever_is_wrong_with_runs(command, files):
    command("sample", files / "a", "--budget", 5, "--n-strata", 2, "--seed", 1,
            "--design-file", files / "d.nc", "--output", files / "list")  # fmt: skip
    (files / "b").write_text("1 Q0 d01 1 x b\n")
    words = ["doctor", files / "qrels", files / "a", files / "b", "--design"]
    _, out, _ = command(*words, files / "d.nc", "--labels", files / "none")
    assert f"ok       {files / 'd.nc'}: a design, stratified\n" in out
    assert f"there is no file '{files / 'none'}' of labels" in out and "2 errors, 1 warning" in out
    assert "warning  how design, judgments, labels and runs fit together was not checked" in out
    _, out, _ = command(*words, files / "qrels")
    assert "is not a design file" in out and "b, line 1" in out and "2 errors" in out
    code, out, _ = command("doctor", files / "qrels", "--design", files / "d.nc")
    assert code == 0 and "was not checked" in out and "0 errors, 1 warning" in out
    code, out, err = command("doctor", "--design", files / "d.nc")
    assert (code, out) == (2, "") and "checked with QRELS RUN..." in err
