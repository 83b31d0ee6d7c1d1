"""A small collection in files, and the program as a function."""

import numpy as np
import pytest

from bayeseval.cli import main

TOPICS = ("1", "2", "10")


@pytest.fixture
def command(capsys):
    """Run the program; returns its exit code, stdout and stderr."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def written(folder):
    """The folder, with complete judgments `qrels` and the runs a, b, c of 40 documents a topic."""
    rng = np.random.default_rng(7)
    qrels = []
    for topic in TOPICS:
        grades = rng.choice(3, size=40, p=[0.6, 0.25, 0.15])
        qrels += [f"{topic} 0 d{number:02d} {grade}" for number, grade in enumerate(grades)]
    (folder / "qrels").write_text("\n".join(qrels) + "\n")
    for name in "abc":
        lines = []
        for topic in TOPICS:
            for number in range(40):
                lines.append(f"{topic} Q0 d{number:02d} 0 {rng.integers(25)} {name}")
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def files(tmp_path):
    """Folder with complete judgments and three runs, for one test."""
    return written(tmp_path)


@pytest.fixture(scope="module")
def kept_files(tmp_path_factory):
    """The same files for all tests of a module, none of which changes them."""
    return written(tmp_path_factory.mktemp("kept"))
