"""What the README shows can be pasted as it stands, and gives what is printed there."""

import os
import re
import subprocess
import sys
from pathlib import Path

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder in which the session was run."""
    place = tmp_path_factory.mktemp("readme")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    where = os.environ | {"PATH": path, "MPLBACKEND": "agg", "COLUMNS": "100"}
    for command, expected in commands(block("session")):
        done = subprocess.run(
            command, shell=True, cwd=place, env=where, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
        for line in expected:
            assert line in printed, f"{command} prints\n{done.stdout}"
    return place


def test_the_session_runs_and_prints_what_is_shown(folder):
    assert (folder / "fit" / "intervals.csv").exists()
    assert (folder / "fit" / "intervals_P@10.png").exists()


def test_the_script_runs_on_the_same_files(folder, monkeypatch, capsys):
    import matplotlib
    import matplotlib.pyplot as plt

    monkeypatch.chdir(folder)
    with matplotlib.rc_context({"backend": "agg"}):
        exec(compile(block("script"), "README.md", "exec"), {})
    plt.close("all")
    printed = capsys.readouterr().out
    assert "run105" in printed and "unlike_model" in printed
    assert (folder / "intervals.png").exists()
