"""The API pages of the site have every public name, and no other; the site needs no Sphinx here."""

import ast
import builtins
import doctest
import inspect
import operator
import re
from pathlib import Path
from types import ModuleType

import pytest

import bayeseval as be

PAGES = Path(__file__).parents[2] / "docs" / "api"
ROOMS = [name for name in be.__all__ if isinstance(getattr(be, name), ModuleType)]
PUBLIC = [name for name in be.__all__ if name not in ROOMS]
PUBLIC += [f"{room}.{name}" for room in ROOMS for name in getattr(be, room).__all__]
FUNCTIONS = [name for name in PUBLIC if callable(operator.attrgetter(name)(be))]


def listed() -> list[str]:
    """Names in the tables of the pages, in their order."""
    text = "\n".join(path.read_text() for path in sorted(PAGES.glob("*.rst")))
    tables = re.findall(r"^\.\. autosummary::\n((?: {3}.*\n|\n)*)", text, flags=re.MULTILINE)
    return re.findall(r"^ {3}([\w.]+)$", "\n".join(tables), flags=re.MULTILINE)


def unbound(example: str) -> set[str]:
    """Names that an example uses and does not make."""
    tree = list(ast.walk(ast.parse(example)))
    names = [node for node in tree if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    made |= {node.arg for node in tree if isinstance(node, ast.arg)}
    made |= {node.name for node in tree if isinstance(node, ast.FunctionDef)}
    for node in tree:
        if isinstance(node, ast.Import | ast.ImportFrom):
            made |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return {node.id for node in names} - made - set(dir(builtins))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_name_runs_where_it_is_pasted(name):
    text = inspect.getdoc(operator.attrgetter(name)(be)) or ""
    lines = [example.source for example in doctest.DocTestParser().get_examples(text)]
    assert unbound("".join(lines)) == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_name_is_on_the_api_pages_by_one_of_its_names(name):
    documented = [operator.attrgetter(other)(be) for other in listed()]
    assert operator.attrgetter(name)(be) in documented, f"add {name} to a page in docs/api/"


def test_the_api_pages_name_what_is_public_and_that_once():
    names = listed()
    assert sorted(set(names)) == sorted(names)
    assert set(names) <= set(FUNCTIONS)


def test_every_page_is_in_the_index():
    index = (PAGES / "index.md").read_text().split()
    assert {path.stem for path in PAGES.glob("*.rst")} <= set(index)
