"""What the wheel and the repository say of themselves."""

import ast
import inspect
import textwrap
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
import typer

from bayeseval.cli.application import EXAMPLES, application

ROOT = Path(__file__).parents[2]
COMMANDS = typer.main.get_command(application).commands  # pyright: ignore


def test_types_are_said_to_be_there():
    assert files("bayeseval").joinpath("py.typed").is_file()


def test_the_citation_has_the_version_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {project['version']}" in lines
    assert f"license: {project['license']}" in lines


def test_the_source_distribution_has_the_folders_that_its_tests_read():
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]
    included = hatch["build"]["targets"]["sdist"]["include"]
    assert {"/benchmarks", "/conftest.py", "/data", "/docs", "/models", "/tests"} <= set(included)


def test_every_command_has_an_example():
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_help_ends_with_an_example_whose_options_exist(command, name):
    code, out, _ = command(name, "--help")
    assert code == 0
    assert out.rstrip().splitlines()[-2:] == ["  Example:", f"    {EXAMPLES[name]}"]
    known = {flag for option in COMMANDS[name].params for flag in option.opts}
    asked = {word for word in EXAMPLES[name].split() if word.startswith("-")}
    assert asked <= known


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_of_a_command_has_an_effect(name):
    function = inspect.unwrap(COMMANDS[name].callback)
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    read = {node.id for part in tree.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    assert set(inspect.signature(function, follow_wrapped=True).parameters) <= read


def test_a_shell_is_told_the_completions(command, monkeypatch, capsys):
    monkeypatch.setenv("_BAYESEVAL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "bayeseval ev")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        command()
    assert capsys.readouterr().out.split() == ["evaluate"]
