"""docs/formulas.md names functions and tests that exist, and something of every paper."""

import ast
import functools
import operator
import re
from pathlib import Path

import pytest

import bayeseval as be

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "formulas.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| place"))
]
FUNCTIONS = sorted({name for row in ROWS for name in re.findall(r"`([a-z_.]+)`", row[2])})
TESTS = sorted({name for row in ROWS for name in re.findall(r"`(test_\w+)`", row[3])})


@functools.cache
def defined(folder: str) -> set[str]:
    """Names of all functions and methods in the files of a folder."""
    trees = (ast.parse(path.read_text()) for path in (ROOT / folder).rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_row_names_a_function_and_a_test():
    for place, what, functions, tests in ROWS:
        assert place and what
        assert "`" in functions, f"no function for {what}"
        assert "`test_" in tests, f"no test for {what}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_named_in_the_formulas_exists(name):
    room, _, function = name.partition(".")
    if room == "be":
        assert callable(operator.attrgetter(function)(be))
    else:
        assert function in defined(f"bayeseval/{room}"), f"{function} is not in bayeseval/{room}"


@pytest.mark.parametrize("name", TESTS)
def test_test_named_in_the_formulas_exists(name):
    assert name in defined("tests")
