"""Names and files that the pages, the notebooks and the scripts mention exist."""

import json
import operator
import re
from pathlib import Path

import pytest

import bayeseval as be

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("*/README.md")])
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SCRIPTS = sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("notebooks/results/*.py")])
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def text_of(path: Path) -> str:
    """Text of a page or a script, or the sources of a notebook's cells."""
    if path.suffix != ".ipynb":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS, *SCRIPTS], ids=lambda path: path.name)
def test_what_a_page_mentions_exists(path):
    text = text_of(path)
    for name in set(re.findall(r"\bbe\.((?:[a-z]\w*\.)*\w+)", text)):
        operator.attrgetter(name)(be)
    for file in set(re.findall(r"\b(?:benchmarks|tests|docs|models)/[\w/]+\.(?:py|md)\b", text)):
        assert (ROOT / file).exists() or (ROOT / "bayeseval" / file).exists(), file
    for target in set(re.findall(r"`make ([a-z-]+)", text)):
        assert target in TARGETS, target
