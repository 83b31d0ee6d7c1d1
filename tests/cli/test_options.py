"""Options: few, the same in every command, and under the names that Python has."""

import inspect

import pytest
import typer

import bayeseval as be
from bayeseval.cli.application import application
from bayeseval.cli.output import OPTIONS

COMMANDS = getattr(typer.main.get_command(application), "commands")  # noqa: B009 (typer's click)
FUNCTIONS = {
    "adjust": be.adjust_scores,
    "compare": be.compare,
    "evaluate": be.scores,
    "plan": be.plan,
    "rank": be.rank,
    "report": be.report,
}
# of the shell alone: files, and what is printed of the answer
READING = {"design", "qrels-format", "unjudgeable", "scores", "exclude", "scheduler"}
PRINTING = {"format", "output", "sort", "fail-if-worse"}


def options(name: str) -> set[str]:
    """Long names of the options of a command."""
    found = [one for one in COMMANDS[name].params if one.param_type_name == "option"]
    names = {max(one.opts, key=len).removeprefix("--") for one in found}
    return names - {"help"}


def test_there_are_38_options_over_all_commands_and_18_in_one():
    every = set().union(*map(options, COMMANDS))
    assert every == OPTIONS and len(every) <= 38
    assert {name for name in COMMANDS if len(options(name)) > 18} == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_python_has_the_options_of_the_command_with_the_same_defaults(name):
    own = inspect.signature(FUNCTIONS[name]).parameters
    shell = {one.name: one for one in COMMANDS[name].params if one.param_type_name == "option"}
    for option in options(name) - READING - PRINTING:
        argument = "measures" if option == "measure" else option.replace("-", "_")
        assert argument in own, f"--{option}"
        default, given = own[argument].default, shell[option.replace("-", "_")].default
        if argument not in ("measures", "unpooled", "budget", "population", "estimator"):
            assert default == given or not (default or given), f"--{option}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_help_of_a_function_is_at_most_70_lines(name):
    assert len(inspect.getdoc(FUNCTIONS[name]).splitlines()) <= 70
