"""What an object is, in five lines or a small table."""

from dataclasses import dataclass
from html import escape

import numpy as np
import xarray as xr

from bayeseval.collection.schema import label_names
from bayeseval.evaluation.score_tables import GIVEN
from bayeseval.messages import counted, percent, some_of
from bayeseval.models.identity import model_name

MOST_NAMES = 4
OVER = {"sample": "these topics", "topics": "topics like these"}


@dataclass(frozen=True)
class Description:
    """Facts by name: lines where they are printed, a table in a notebook."""

    facts: dict[str, str]

    def __repr__(self) -> str:
        """One line for each fact."""
        width = max(map(len, self.facts))
        return "\n".join(f"{name:<{width}}  {text}" for name, text in self.facts.items())

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self.facts.items()
        )
        return f"<table>{rows}</table>"


def about(data: xr.DataTree | xr.Dataset) -> Description:
    """Five lines on a collection, a design, a fit or a result: what it holds and how it was made.

    Parameters
    ----------
    data : DataTree or Dataset
        What a function of the package returns; it stays plain xarray.

    Returns
    -------
    Description
        Its ``print`` is five lines, and its place in a notebook a small table.

    Raises
    ------
    TypeError
        Something else than a DataTree or a Dataset.

    Examples
    --------
    >>> import bayeseval as be
    >>> be.about(be.simulate.urn_collection([0.1, 0.2], n_topics=3, prevalence=0.1, random_seed=1))
    what    collection
    topics  3
    runs    2
    judged  3,000 of 3,000 documents, 1,000 per topic
    design  none
    """
    if isinstance(data, xr.DataTree):
        return Description(_of_fit(data) if "posterior" in data.children else _of_tree(data))
    if not isinstance(data, xr.Dataset):
        raise TypeError(f"about takes a DataTree or a Dataset, not a {type(data).__name__}")
    is_design = "inclusion_probability" in data or "draw_probability" in data
    return Description(_of_design(data) if is_design else _of_result(data))


def _of_tree(tree: xr.DataTree) -> dict[str, str]:
    """A collection."""
    root = tree.to_dataset()
    late = int((~root["contributed"]).sum()) if "contributed" in root else 0
    design = "none"
    if "design" in tree.children:
        design = _scheme(tree["design"].attrs)
    names = label_names(tree)
    design += f"; labels {some_of(names, MOST_NAMES)}" if names else ""
    judged = "none"
    if "judgments" in tree.children:
        grade = tree["judgments"].to_dataset()["grade"]
        grade = grade.isel(replicate=0) if "replicate" in grade.dims else grade
        number, topics = int(grade.notnull().sum()), max(tree.sizes["topic"], 1)
        judged = f"{number:,} of {tree.sizes['pair']:,} documents, {number / topics:,.0f} per topic"
    return {
        "what": "collection",
        "topics": f"{tree.sizes['topic']:,}",
        "runs": f"{tree.sizes['run']:,}" + (f", {late} of them new" if late else ""),
        "judged": judged,
        "design": design,
    }


def _of_design(design: xr.Dataset) -> dict[str, str]:
    """A design that is not in a collection yet."""
    name = "draw_probability" if "draw_probability" in design else "inclusion_probability"
    frame = int((design[name] > 0).sum())
    expected = float(design["inclusion_probability"].sum()) if name[0] == "i" else float("nan")
    number = f"about {expected:,.0f}" if expected == expected else "drawn with replacement"
    return {
        "what": "design",
        "topics": f"{design.sizes['topic']:,}",
        "frame": f"{frame:,} documents that can be drawn",
        "judgments": number,
        "design": _scheme(design.attrs),
    }


def _of_fit(fit: xr.DataTree) -> dict[str, str]:
    """A fit."""
    posterior = fit["posterior"]
    sizes = posterior.sizes
    how = fit.attrs.get("approximation", "")
    number = f"{counted(sizes['chain'], 'chain')} of {counted(sizes['draw'], 'draw')}"
    return {
        "what": "fit",
        "model": model_name(fit) or "of the user's own",
        "draws": f"{number}, by {f'a {how} approximation' if how else 'a sampler'}",
        "variables": some_of([str(name) for name in posterior.data_vars], MOST_NAMES),
        "over": ", ".join(
            counted(sizes[dim], dim) for dim in ("topic", "run") if dim in sizes
        ) or "no topic or run",
    }  # fmt: skip


def _of_result(result: xr.Dataset) -> dict[str, str]:
    """Scores, comparisons, ranks, plans and posterior draws."""
    attrs, sizes = result.attrs, result.sizes
    labels = np.atleast_1d(result["measure"].to_numpy()) if "measure" in result.coords else []
    dims = [dim for dim in ("run", "comparison", "topic", "replicate") if dim in sizes]
    counts = [counted(sizes[dim], dim) for dim in dims]
    estimator = str(attrs.get("estimator", "unknown"))
    interval = "none"
    if "draw" in sizes:
        interval = f"{counted(sizes['chain'] * sizes['draw'], 'posterior draw')} instead"
    elif "interval" in result and result["interval"].notnull().any():
        over = OVER.get(str(attrs.get("population")), "")
        looks = ", at every look" if attrs.get("anytime") else ""
        interval = f"{percent(attrs['ci_prob'])}{f' for {over}' if over else ''}{looks}"
    return {
        "what": "result: " + some_of([str(name) for name in result.data_vars], MOST_NAMES),
        "measures": some_of([str(label) for label in labels], MOST_NAMES) or "none",
        "of": ", ".join(counts) or "no run or topic",
        "estimator": "scores of another tool" if estimator == GIVEN else estimator,
        "interval": interval,
    }


def _scheme(attrs: dict) -> str:
    """Name of a design and how it draws."""
    name, scheme = (str(attrs.get(key, "")) for key in ("name", "scheme"))
    return f"{name} ({scheme})" if name and name != scheme else name or scheme or "given"
