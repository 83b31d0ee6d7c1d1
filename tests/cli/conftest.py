"""A small collection in files, a sample of it, and the program as a function."""

import warnings

import numpy as np
import pytest

import bayeseval as be
from bayeseval.cli import main

TOPICS = ("1", "2", "10")


@pytest.fixture
def command(capsys):
    """Run the program; returns its exit code, stdout and stderr."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

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


@pytest.fixture(scope="session")
def draw_sample():
    """Function that draws a sample in strata, and writes its design and its judgments.

    It leaves `design.nc` and `judged` in the folder, and returns the options that name the design.
    """

    def draw(folder, runs="abc", budget=12, n_strata=3, seed=1, labels=None, **options) -> list:
        collection = be.read_collection(None, [folder / name for name in runs])
        if labels is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of labels that no run asks for
                collection = be.add_predictions(collection, "gpt", labels)
            options["labels"] = "gpt"
        design = be.designs.pps_strata(collection, budget=budget, n_strata=n_strata, **options)
        _, draw_seed, _ = map(int, np.random.SeedSequence(seed).generate_state(3))  # as `sample`
        design = design.assign(selected=be.draw(design, random_seed=draw_seed))
        be.save_design(design, folder / "design.nc")
        listed = be.designs.to_judge(design, random_seed=seed)
        drawn = set(listed[["topic", "document"]].itertuples(index=False, name=None))
        lines = (folder / "qrels").read_text().splitlines(keepends=True)
        judged = [line for line in lines if tuple(line.split()[::2][:2]) in drawn]
        (folder / "judged").write_text("".join(judged))
        return ["--design", folder / "design.nc"]

    return draw
