"""Each notebook runs, and prints what is stored in it: ``make notebooks``.

Figures are drawn and not compared, nor is the text of a cell with the tag ``varies`` (draws of a
sampler, which differ between processors). Numbers may differ by one in their last digit.
``PYTHONPATH=. python notebooks/test_notebooks.py NAME ...`` stores what the named notebooks give;
``pytest --nbmake notebooks`` only runs them.
"""

import re
import sys
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?")


def executed(name: str) -> nbformat.NotebookNode:
    """The notebook with what its cells give now."""
    try:
        return _executed(name)
    except DeadKernelError:
        raise
    except RuntimeError:  # it never began: two that start at once may take one port for free
        return _executed(name)


def _executed(name: str) -> nbformat.NotebookNode:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    where = {"metadata": {"path": str(FOLDER)}}
    return NotebookClient(
        notebook, timeout=600, record_timing=False, kernel_name="python3", resources=where
    ).execute()


def printed(cell) -> str:
    """Text that a code cell gives, without figures, of which it is the size, and progress bars."""
    parts = []
    for output in cell.get("outputs", []):
        page = output.get("data", {}).get("text/html")
        if page is not None and (not page or "<progress" in page):  # of a bar that is done, nothing
            continue
        if output["output_type"] == "stream":
            parts.append(output["text"])
        elif "image/png" not in output.get("data", {}):
            parts.append(output.get("data", {}).get("text/plain", ""))
    return "\n".join(parts)


def agree(now: str, stored: str) -> bool:
    """Same words and whole numbers, and decimals that differ by at most one in the last digit."""
    if NUMBER.sub("0", now).split() != NUMBER.sub("0", stored).split():
        return False
    pairs = zip(NUMBER.findall(now), NUMBER.findall(stored), strict=True)
    return all(a == b or abs(Decimal(a) - Decimal(b)) <= last_digit(a, b) for a, b in pairs)


def last_digit(*numbers: str) -> Decimal:
    """Unit of the last digit of the coarser of decimals; 0 where one of them is whole."""
    exponents = [Decimal(number).as_tuple().exponent for number in numbers]
    return Decimal(0) if 0 in exponents else Decimal(10) ** max(exponents)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_gives_what_is_stored_in_it(name):
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    now = executed(name)
    for number, (old, new) in enumerate(zip(stored.cells, now.cells, strict=True)):
        if "varies" not in old.metadata.get("tags", []):
            assert agree(printed(new), printed(old)), (
                f"cell {number} gives\n{printed(new)}\nand not, as stored,\n{printed(old)}"
            )


if __name__ == "__main__":
    for each in sys.argv[1:] or NAMES:
        nbformat.write(executed(each), FOLDER / f"{each}.ipynb")
