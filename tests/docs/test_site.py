"""The API pages of the site have every public name, and no other; the site needs no Sphinx here."""

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
