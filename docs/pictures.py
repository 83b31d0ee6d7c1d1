"""The gallery: pages of docs/gallery, whose pictures are made by the code that they show.

A folder is a question, and a file in it is an example: a docstring (a title and a text), and code
that goes on from ``start.py`` and draws one picture.
"""

import ast
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt

GALLERY = Path(__file__).parent / "gallery"
QUESTIONS = sorted(folder for folder in GALLERY.iterdir() if folder.is_dir())
SAMPLE = "The examples go on from [one script](../../gallery.md#the-sample)."


def question(folder: Path) -> str:
    """Question that a folder is named by."""
    text = folder.name.replace("-", " ")
    return text[0].upper() + text[1:] + "?"


def parts(path: Path) -> tuple[str, str, str]:
    """Title, text and code of a file."""
    source = path.read_text()
    first = ast.parse(source).body[0]
    assert isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    title, _, text = str(first.value.value).partition("\n")
    return title, text.strip(), "\n".join(source.splitlines()[first.end_lineno :]).strip()


def started() -> dict:
    """Names that every example finds."""
    names: dict = {}
    exec(compile((GALLERY / "start.py").read_text(), "start.py", "exec"), names)
    return names


def drawn(path: Path, names: dict) -> plt.Figure:
    """Figure of an example, which leaves the names as they are."""
    plt.close("all")
    exec(compile(path.read_text(), str(path), "exec"), dict(names))
    (number,) = plt.get_fignums()
    return plt.figure(number)


def write(target: Path) -> None:
    """Put the pictures, a page for each question and a list of its pictures into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    plt.switch_backend("agg")
    names = started()
    for folder in QUESTIONS:
        page, row = [f"# {question(folder)}", SAMPLE], []
        for path in sorted(folder.glob("*.py")):
            title, text, code = parts(path)
            picture = f"{folder.name}-{path.stem}.png"
            drawn(path, names).savefig(target / picture, dpi=110, bbox_inches="tight")
            page += [f"## {title}", text, f"![{title}]({picture})", f"```python\n{code}\n```"]
            anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            small = f"![{title}](generated/gallery/{picture})"
            row.append(f"- [{small}{title}](generated/gallery/{folder.name}.md#{anchor})")
        (target / f"{folder.name}.md").write_text("\n\n".join(page) + "\n")
        (target / f"{folder.name}.row").write_text("\n".join(row) + "\n")
    plt.close("all")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
