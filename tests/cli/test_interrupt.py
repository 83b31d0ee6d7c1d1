"""Ctrl-C at any moment: exit code 130, one line, no traceback and no unfinished file."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import bayeseval as be

# the program, in which a real function says that it has begun
TELLING = """
import sys
import {module} as module
def told(*arguments, begun=module.{function}, **options):
    print("begun", flush=True)
    return begun(*arguments, **options)
module.{function} = told
{change}
from bayeseval.__main__ import main
sys.exit(main())
"""
# a model that need not be compiled, in the place of a command
SMALL = """
import bayeseval as be, bayeseval.cli, nutpie, pymc as pm
from tests.cli.uncompiled import normal
nutpie.compile_pymc_model = normal
def command():
    with pm.Model() as model:
        pm.Data("judged_score", [0.2, 0.4, 0.3])
        pm.Normal("score", pm.Normal("mean", 0.0, 1.0), 0.1, shape=3)
    be.fit(model, draws=3_000_000, random_seed=1)
bayeseval.cli.main = command
"""
FIT = ["fit", "qrels", "a", "b", "-m", "P@5", "--seed", "1"]
MOMENTS = [
    ("bayeseval.models.relevance.laplace", "laplace", "", FIT),
    ("nutpie", "sample", SMALL, []),
    pytest.param("nutpie", "compile_pymc_model", "", [*FIT, "--nuts"], marks=pytest.mark.slow),
    pytest.param(
        "nutpie", "sample", "", [*FIT, "--nuts", "--draws", "1000000"], marks=pytest.mark.slow
    ),
]


def started(words, folder, **options):
    """The program, that can be interrupted even where the tests run in the background."""
    return subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | options,
    )  # fmt: skip


def interrupted(process):
    """Lines of stderr after Ctrl-C, which must end the program soon."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "Traceback" not in err and "broken" not in err
    lines = err.splitlines()
    assert lines[-1] == "bayeseval: interrupted"
    return lines[:-1]


# what a Python that starts reads by itself: Ctrl-C comes when a module is first looked for
PRESSING = """
import os, sys
class Pressing:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["PRESSED_AT"]:
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Pressing())
"""
STARTED = {
    "as a module": ["-m", "bayeseval"],
    "by its name": ["-c", "import sys; from bayeseval.__main__ import main; sys.exit(main())"],
}


@pytest.mark.parametrize("module", ["signal", "enum", "bayeseval.cli", "typer", "shutil"])
@pytest.mark.parametrize("start", STARTED)
def test_before_a_command_has_begun(files, tmp_path_factory, start, module):
    folder = tmp_path_factory.mktemp("pressing")
    (folder / "sitecustomize.py").write_text(PRESSING)
    words = [*STARTED[start], "evaluate", "qrels", "a", "-m", "AP", "--estimator", "assumed"]
    path = os.pathsep.join([str(folder), *sys.path])
    process = started(words, files, PYTHONPATH=path, PRESSED_AT=module)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "bayeseval: interrupted\n")


@pytest.mark.parametrize("module", ["numpy", "xarray"])
def test_while_modules_are_imported(files, module):
    words = ["-m", "bayeseval", "evaluate", "qrels", "a", "-m", "AP", "--estimator", "assumed"]
    process = started(words, files, PYTHONPROFILEIMPORTTIME="1")
    for line in process.stderr:
        if f" {module}." in line:
            break
    assert all(line.startswith("import time:") for line in interrupted(process))


def test_while_a_file_is_read(files):
    os.mkfifo(files / "pipe")
    words = ["evaluate", "pipe", "a", "-m", "AP", "--estimator", "assumed", "--output", "scores"]
    process = started(["-m", "bayeseval", *words], files)
    with (files / "pipe").open("w"):  # waits until the program reads
        assert interrupted(process) == []
    assert not (files / "scores").exists()


def test_while_a_result_is_written(files):
    os.mkfifo(files / "pipe")
    before = sorted(files.iterdir())
    words = ["evaluate", "qrels", "a", "-m", "AP", "--estimator", "assumed", "--output", "pipe"]
    process = started(["-m", "bayeseval", *words], files, TMPDIR=str(files))
    deadline = time.monotonic() + 20
    while sorted(files.iterdir()) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)  # it waits for a reader now
    assert interrupted(process) == []
    assert sorted(files.iterdir()) == before


LATE = """
import atexit, os
atexit.register(lambda: os.kill(os.getpid(), 2))
"""


def test_after_the_result_there_is_nothing_to_interrupt(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("late")
    (folder / "sitecustomize.py").write_text(LATE)
    path = os.pathsep.join([str(folder), *sys.path])
    process = started(["-m", "bayeseval", "--version"], files, PYTHONPATH=path)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, f"bayeseval {be.__version__}\n", "")


@pytest.mark.parametrize(("module", "function", "change", "words"), MOMENTS)
def test_while_a_model_is_fitted(files, module, function, change, words):
    script = TELLING.format(module=module, function=function, change=change)
    process = started(["-c", script, *words], files)
    assert process.stdout.readline() == "begun\n", process.stderr.read()
    time.sleep(0.3 if module == "nutpie" else 0.0)  # well into it; the others are soon done
    said = interrupted(process)
    assert all(line.startswith("bayeseval: ") for line in said)
    assert not (files / "fit-output").exists()


def test_in_python_an_interrupted_fit_is_no_broken_sampler(monkeypatch):
    import nutpie
    import pymc as pm

    from tests.cli.uncompiled import normal

    with pm.Model() as model:
        pm.Data("judged_score", [0.2, 0.4, 0.3])
        pm.Normal("score", pm.Normal("mean", 0.0, 1.0), 0.1, shape=3)

    def stop(*arguments, sample=nutpie.sample, **options):
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
        return sample(*arguments, **options)

    monkeypatch.setattr(nutpie, "compile_pymc_model", normal)
    monkeypatch.setattr(nutpie, "sample", stop)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            be.fit(model, draws=3_000_000, random_seed=1)
    finally:
        assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
