"""The site: `make docs` builds it into docs/_build/html, offline, with warnings as errors."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

HERE = Path(__file__).parent
GENERATED = HERE / "generated"
PACKAGE = "bayeseval"
PUBLIC = re.compile(r"be((?:\.\w+)+)(?:\(.*)?")

project = PACKAGE
author = "The bayeseval contributors"
release = version = installed_version(PACKAGE)
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
smartquotes = False  # strings and options are to be copied

html_math_renderer = "mathml"  # of browsers, which needs no network
html_theme = "furo"
html_title = f"{PACKAGE} {release}"
html_show_copyright = False  # LICENSE
html_static_path = ["_static"]
html_css_files = ["site.css"]

autodoc_typehints = "none"  # the docstrings give types with their dims
maximum_signature_line_length = 80
numpydoc_show_class_members = False  # the template of classes lists them
# Not the order of parameters (PR03): those that are "as for" another function stand together.
numpydoc_validation_checks = {"PR01", "PR02", "GL06", "GL07", "GL08"}
nitpicky = True  # a reference to what is not on the site is a warning

nb_execution_mode = "off"  # notebooks are shown as they are stored: `make notebooks` checks them
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3


class PublicNames(SphinxTransform):
    """Link what is written as ``be.name`` in pages, notebooks and docstrings to its reference.

    And unlink measures, such as P@10, which look like addresses of mail.
    """

    default_priority = 5

    def apply(self, **kwargs) -> None:
        """Do so in one document."""
        for literal in list(self.document.findall(nodes.literal)):
            found = PUBLIC.fullmatch(literal.astext())
            if found is None or isinstance(literal.parent, nodes.reference | pending_xref):
                continue
            target = {"reftarget": PACKAGE + found[1], "refdoc": self.env.docname}
            link = pending_xref("", refdomain="py", reftype="obj", **target)
            literal.replace_self(link)
            link += literal
        for reference in list(self.document.findall(nodes.reference)):
            if reference.get("refuri", "").startswith("mailto:"):
                reference.replace_self(reference.children)


def resolved(app, env, node, contnode):
    """Reference to a name that a docstring leaves the package out of, as ``rankings.rank_sets``."""
    if node.get("refdomain") != "py":
        return None
    if node["refdoc"] == "changes":  # names what is gone, too
        return contnode
    domain, target = env.domains["py"], node["reftarget"]
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", f"{PACKAGE}.{target}", node, contnode
    )


def formula(self, node) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    # docutils knows neither these brackets, which are of the size of their contents, nor \dots
    text = re.sub(r"\\[bB]igg?[lr]?(?=\W)", "", node.astext()).replace(r"\dots", r"\ldots")
    block = isinstance(node, nodes.math_block)
    self.body.append(tex2mathml(text, as_block=block))
    raise nodes.SkipNode


def gather(app) -> None:
    """Put what stands elsewhere into docs/generated: notebooks, gallery, help of the commands."""
    draw = [sys.executable, str(HERE / "pictures.py"), str(GENERATED / "gallery")]
    subprocess.run(draw, check=True)
    notebooks, page = GENERATED / "notebooks", GENERATED / "commands.md"
    shutil.rmtree(notebooks, ignore_errors=True)
    notebooks.mkdir(parents=True)
    for path in (HERE.parent / "notebooks").glob("*.ipynb"):
        shutil.copy2(path, notebooks)
    typer = [sys.executable, "-m", "typer", f"{PACKAGE}.cli.application", "utils", "docs"]
    words = [*typer, "--name", PACKAGE, "--output", str(page)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    text = re.sub(r"^Example:\n +(.*)$", r"```console\n$ \1\n```", page.read_text(), flags=re.M)
    page.write_text(text)


def setup(app) -> None:
    """Add the above to Sphinx."""
    app.add_transform(PublicNames)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("missing-reference", resolved)
    app.connect("builder-inited", gather)
