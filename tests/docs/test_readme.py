"""What the README shows can be pasted as it stands, and gives what is printed there."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


def block(name: str) -> str:
    """Text of the code block after the comment of that name."""
    found = re.search(rf"<!-- {name}: .*? -->\n```\w+\n(.*?)```", README, flags=re.DOTALL)
    assert found, f"the README has no block '{name}'"
    return found.group(1)


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Commands of a session, and the lines that each is said to print."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            found[-1][1].append(" ".join(line.split()))
    return found


def alike(line: str, other: str) -> bool:
    """Whether two lines have the same words, and numbers that differ by what an optimizer may."""
    words, others = (re.findall(r"[0-9]*\.[0-9]+|[^\s\[\],]+", text) for text in (line, other))
    return len(words) == len(others) and all(
        word == another or ("." in word and abs(float(word) - float(another)) < 0.002)
        for word, another in zip(words, others, strict=True)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder in which the session was run."""
    place = tmp_path_factory.mktemp("readme")
    for command, expected in commands(block("session")):
        printed = [" ".join(line.split()) for line in run_in(place, command).splitlines()]
        for line in expected:
            assert any(map(partial(alike, line), printed)), f"{command} prints\n{printed}"
    return place


def run_in(place: Path, command: str) -> str:
    """What a command prints in a folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    where = os.environ | {"PATH": path, "MPLBACKEND": "agg", "COLUMNS": "100"}
    done = subprocess.run(
        command, shell=True, cwd=place, env=where, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def test_the_session_runs_and_prints_what_is_shown(folder):
    assert (folder / "to-judge.tsv").exists()


def test_the_commands_for_own_files_run_on_a_list_that_is_filled_in(folder, tmp_path):
    os.symlink(folder / "demo/runs", tmp_path / "runs")
    (sample, _), *others = commands(block("own"))
    run_in(tmp_path, sample)
    complete = map(str.split, (folder / "demo/complete.qrels").read_text().splitlines())
    grade = {(topic, document): grade for topic, _, document, grade in complete}
    listed = pd.read_csv(tmp_path / "to-judge.csv", dtype=str)
    known = [grade[pair] for pair in zip(listed["topic"], listed["document"], strict=True)]
    listed.assign(grade=known).to_csv(tmp_path / "to-judge.csv", index=False)
    printed = [run_in(tmp_path, command) for command, _ in others]
    assert "combined" in printed[0] and "nDCG@10" in printed[0]
    assert "<html" in (tmp_path / "report.html").read_text()


def test_the_script_runs_on_the_same_files(folder, monkeypatch, capsys):
    import matplotlib
    import matplotlib.pyplot as plt

    monkeypatch.chdir(folder)
    with matplotlib.rc_context({"backend": "agg"}):
        exec(compile(block("script"), "README.md", "exec"), {})
    plt.close("all")
    printed = capsys.readouterr().out
    assert "run055" in printed and "probability_better" in printed
    assert (folder / "intervals.png").exists()
