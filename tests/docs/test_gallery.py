"""The pictures of the gallery are drawn by the code that is shown, and examples of methods run."""

import importlib.util
import re
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import matplotlib
import matplotlib.pyplot as plt
import pytest

from bayeseval.measures.table import OWN

DOCS = Path(__file__).parents[2] / "docs"
SPECIFICATION = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
assert SPECIFICATION and SPECIFICATION.loader
pictures = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(pictures)
EXAMPLES = sorted(path for folder in pictures.QUESTIONS for path in folder.glob("*.py"))
METHODS = sorted(path for path in (DOCS / "methods").glob("*.md") if path.stem != "index")
HEADINGS = ["What it estimates", "Formula", "When to use it", "What breaks it", "Example", "Source"]


@pytest.fixture(scope="module")
def started():
    with matplotlib.rc_context({"backend": "agg"}):
        yield pictures.started()
    plt.close("all")


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_an_example_draws_one_picture_that_has_something_in_it(path, started):
    figure = pictures.drawn(path, started)
    assert any(axes.has_data() for axes in figure.axes)


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_an_example_has_a_title_a_text_and_about_ten_lines(path):
    title, text, code = pictures.parts(path)
    assert title and not title.endswith(".") and text.endswith(".")
    lines = [line for line in code.splitlines() if line and not line.startswith("import ")]
    assert len(lines) <= 15


def test_every_question_is_on_the_page_of_the_gallery():
    page = (DOCS / "gallery.md").read_text()
    assert len(EXAMPLES) >= 20
    for folder in pictures.QUESTIONS:
        assert f"## [{pictures.question(folder)}](generated/gallery/{folder.name}.md)" in page
        assert f"{{include}} generated/gallery/{folder.name}.row" in page


@pytest.mark.parametrize("path", METHODS, ids=named)
def test_pages_of_methods_have_the_same_headings(path):
    assert re.findall(r"^## (.*)$", path.read_text(), flags=re.MULTILINE) == HEADINGS


SLOW = {"grade_model", "relevance_model", "urn_model"}  # fits, of half a minute


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if path.stem in SLOW else ()) for path in METHODS],
    ids=named,
)
def test_the_example_of_a_method_runs(path, started, capsys):
    (example,) = re.findall(r"^## Example\n(.*?)^## Source", path.read_text(), re.M | re.S)
    (code,) = re.findall(r"```python\n(.*?)```", example, re.S)
    warned = pytest.warns(match="stand in bursts") if "CountsMisfit" in example else nullcontext()
    with warned, mock.patch.dict(OWN):  # a measure that an example makes goes with it
        exec(compile(code, path.name, "exec"), dict(started))


def test_the_quick_start_is_first_on_the_home_page_and_prints_what_is_shown(capsys):
    page = (DOCS / "index.md").read_text()
    blocks = r"<!-- quick-start: .*? -->\n```python\n(.*?)```\n\n```text\n(.*?)```"
    found = re.search(blocks, page, flags=re.DOTALL)
    assert found and re.findall("^## (.*)$", page, flags=re.MULTILINE)[0] == "Quick start"
    exec(compile(found[1], "index.md", "exec"), {})
    assert capsys.readouterr().out.split() == found[2].split()


PAGES = [DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "models/README.md")]
PAGES += sorted(DOCS.glob("*.md")) + sorted((DOCS / "methods").glob("*.md"))


def anchors(path: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_relative_links_lead_to_files_and_headings_that_exist(path):
    text = re.sub(r"```(?!\{).*?```", "", path.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)|^\[\w+\]: (\S+)$", text, flags=re.MULTILINE)
    for link in filter(None, (one or other for one, other in links)):
        if re.match(r"https?:|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if "generated" in target.parts:  # made by the build, which looks for them itself
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
