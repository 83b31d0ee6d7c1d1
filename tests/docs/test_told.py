"""What the tables hold is told to users: in the README, in docstrings and in the help."""

import inspect
import re
from pathlib import Path

import pytest
import typer

import bayeseval as be
from bayeseval.cli.application import application
from bayeseval.cli.sample import SCHEMES
from bayeseval.estimators import ESTIMATORS
from bayeseval.measures.table import MEASURES
from bayeseval.predictors import PREDICTORS, predicted_relevance

README = (Path(__file__).parents[2] / "README.md").read_text()
COMMANDS = typer.main.get_command(application).commands  # pyright: ignore


def words(text: str | None) -> set[str]:
    """Whole names in a text."""
    return set(re.findall(r"\w+", text or ""))


def row(head: str) -> set[str]:
    """Names in the row of the README's tables that begins with a cell."""
    found = re.search(rf"^\| {head} \|(.*)\|$", README, flags=re.MULTILINE)
    assert found, f"the README has no row '{head}'"
    return words(found[1])


def help_of(command: str, option: str) -> set[str]:
    """Names in the help of an option of a command."""
    (found,) = [one for one in COMMANDS[command].params if option in one.opts]
    return words(found.help)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_is_told(name):
    assert row(f"`{name}`"), "its row in the README"
    listed = re.search(r"estimator : \{(.*?)\}", inspect.getdoc(be.evaluate) or "")
    assert listed and name in words(listed[1])
    assert name in help_of("evaluate", "--estimator")


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_predictor_is_told(name):
    assert name in row("predictors of relevance")
    assert name in words(inspect.getdoc(be.evaluate))
    assert name in words(inspect.getdoc(predicted_relevance))
    assert name in help_of("evaluate", "--predictor")


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_of_sample_is_told(name):
    assert name in help_of("sample", "--scheme")
    assert SCHEMES[name] in be.designs.__all__


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_is_told(name):
    assert name in row("measures")
