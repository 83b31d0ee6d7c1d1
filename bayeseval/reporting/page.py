"""Parts of a page of HTML: tables, pictures, lists, the page itself, and what its words mean."""

import io
import re
from collections.abc import Container, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.estimators import HAS_COVARIANCE, WITHOUT_DESIGN
from bayeseval.evaluation.score_tables import GIVEN
from bayeseval.messages import percent

FONTS = ["DejaVu Sans", "Verdana", "Arial"]  # each text of a picture repeats their names
# control and half characters, which a page must not have
CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")
STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --soft: #555; --back: #fff; --rule: #bbb }
@media (prefers-color-scheme: dark) { @media screen {
  :root { --text: #e4e4e4; --soft: #b0b0b0; --back: #191919; --rule: #666 } } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--text); background: var(--back) }
a { color: inherit } h1, h2, p, li, dd { overflow-wrap: anywhere }
h1 { font-size: 1.7rem; margin-bottom: .3rem } h2 { margin-top: 2.5rem; font-size: 1.3rem }
p.lead { margin-top: 0 } p.lead, figcaption, caption, .small { color: var(--soft) }
figcaption, caption, .small, nav { font-size: .9rem } nav a { margin-right: 1rem }
.wide { overflow-x: auto } figure { margin: 1.5rem 0; overflow-x: auto }
figure svg { max-width: 100%; min-width: 30rem; height: auto; background: #fff }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { text-align: left } th, td { padding: .2rem .8rem .2rem 0; text-align: right;
  white-space: nowrap; border-bottom: 1px solid var(--rule) }
th.key { text-align: left } tbody th { font-weight: normal }
thead th { border-bottom: 2px solid var(--soft) } tr.apart > * { border-top: 2px solid var(--soft) }
li { margin: .3rem 0 } dt { font-weight: 600 } dd { margin: 0 0 .4rem 1.2rem }
@media print { body { max-width: none; margin: 0 } nav { display: none }
  h2, caption, dt { break-after: avoid } figure, tr, li, dd { break-inside: avoid }
  .wide, figure { overflow: visible } figure svg { min-width: 0; max-height: 95vh } }
"""


def paragraph(text: str, kind: str = "") -> str:
    """Text as a paragraph.

    Examples
    --------
    >>> paragraph("a < b")
    '<p>a &lt; b</p>'
    """
    opening = f'<p class="{kind}">' if kind else "<p>"
    return f"{opening}{escape(text)}</p>"


def listed(texts: Iterable[str]) -> str:
    """Texts as the points of a list."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def facts(named: dict[str, str]) -> str:
    """Names with what they stand for."""
    rows = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in named.items())
    return f"<dl>{''.join(rows)}</dl>"


def table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], apart: Sequence[int] = ()
) -> str:
    """A table under its title; the first column is of labels, to the left.

    ``apart`` are the places of rows with a rule above them.
    """
    first, *others = map(escape, header)
    head = f'<th scope="col" class="key">{first}</th>'
    head += "".join(f'<th scope="col">{text}</th>' for text in others)
    body = []
    for place, row in enumerate(rows):
        label, *others = map(escape, row)
        cells = "".join(f"<td>{text}</td>" for text in others)
        rule = ' class="apart"' if place in apart else ""
        body.append(f'<tr{rule}><th scope="row" class="key">{label}</th>{cells}</tr>')
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}"><table>'
        f"<caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def figure(axes: Any, caption: str) -> str:
    """A picture as SVG, in which text stays text; the figure of the axes is closed."""
    import matplotlib
    import matplotlib.pyplot as plt

    text = io.StringIO()
    looks: Any = {"svg.fonttype": "none", "svg.hashsalt": caption, "font.sans-serif": FONTS}
    with matplotlib.rc_context(looks):
        axes.figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(axes.figure)
    whole = re.sub("<metadata>.*?</metadata>", "", text.getvalue(), flags=re.DOTALL)
    drawn = whole[whole.index("<svg") :]
    used = set(re.findall(r"#([\w-]+)", drawn))  # other drawings have the other ids too
    drawn = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", drawn)
    drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def page(title: str, lead: str, sections: Iterable[tuple[str, str]]) -> str:
    """A whole page, with links to its sections, each a title and what is under it.

    Examples
    --------
    >>> page("Scores", "Two runs.", [("P@10", "")]).startswith("<!doctype html>")
    True
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    links, parts = [], []
    for number, (name, text) in enumerate(sections, 1):
        links.append(f'<a href="#part{number}">{escape(name)}</a>')
        parts.append(f'<section id="part{number}"><h2>{escape(name)}</h2>{text}</section>')
    way = f'<nav aria-label="Sections">{" ".join(links)}</nav>'
    body = (
        f"<main><h1>{escape(title)}</h1>{paragraph(lead, 'lead')}{way}{chr(10).join(parts)}</main>"
    )
    whole = f'<html lang="en"><head>{head}{view}</head>\n<body>\n{body}\n</body></html>'
    escaped = CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), whole)
    return f"<!doctype html>\n{escaped}\n"


ESTIMATORS = {
    "dyn": "predicts the relevance of every document and corrects the predictions by the sampled "
    "judgments: unbiased for sums such as P@k and RBP, whatever the system.",
    "stat": "weights every sampled judgment by one over its probability: unbiased for sums such as "
    "P@k and RBP, with longer intervals than dyn.",
    "assumed": "takes every document without a judgment for not relevant: exact where all that a "
    "run retrieved was judged; runs of which little was judged mostly score too low.",
    "condensed": "takes documents without a judgment out of the rankings and moves the others up: "
    "runs of which little was judged mostly score too high.",
    "inf": "(as sample_eval has it: AP is xinfAP, nDCG is infNDCG) counts a document without a "
    "judgment by the share of relevant ones in its stratum of the pool, as 1/3 where none was "
    "sampled there: biased.",
    "stat_ap": "(statAP) weights every sampled document by one over its probability, and pairs of "
    "documents as if they were drawn independently, which is not quite so.",
    "importance": "(importance sampling) is for draws with replacement: every draw counts by one "
    "over its probability among the documents of the run; topics where too few of them were "
    "drawn are left out of its mean.",
    GIVEN: "scores per topic, as another tool has made them.",
}
# what is random, so what an interval covers; what degrees of freedom mean
OF_SAMPLE = (
    "were the documents drawn again, {level} of such intervals would hold the score that complete "
    "judgments of these topics give, all that could not be drawn not relevant.",
    "How precisely the sample determines the standard errors: below about 10 they are rough.",
)
OF_TOPICS = (
    "were the topics drawn again, {level} of such intervals would hold the mean over topics like "
    "these; a bias of the estimator is not in it.",
    "The number of topics less one: how precisely their spread determines the standard errors.",
)
NOTED = {
    "new": "The run did not contribute to what was judged; less is known of the documents that it "
    "alone retrieved.",
    "unlike the model": "The sample contradicts what the model predicts of this run (a red name in "
    "the picture): look at the interval by the sample alone, the pale bar.",
    "the model alone": "No sums of sampled judgments estimate this measure: its scores are of "
    "a model that is fitted to the judgments, and their intervals include the errors that such "
    "models made on other collections.",
    "picture of pairs": "Blue where the run of the row is better than the run of the column, pale "
    "where it is open.",
}


def meanings(
    scores: xr.Dataset, *, ranked: bool, combined: bool, named: Container[str]
) -> dict[str, str]:
    """Words of a page with their meaning.

    ``scores`` are by the estimator; ``ranked`` says whether runs are ranked, ``combined`` whether
    there are scores combined with a model; ``named`` are further words that the page has, of
    ``NOTED``, or "weight".
    """
    estimator, level = str(scores.attrs["estimator"]), percent(scores.attrs["ci_prob"])
    covered, freedom = OF_SAMPLE if estimator in HAS_COVARIANCE else OF_TOPICS
    words = {"Score": "The mean of the measure over the topics."}
    if estimator in ESTIMATORS:  # of no score by the model alone
        words[estimator] = ESTIMATORS[estimator]
    if combined:
        words[f"{estimator} and the model combined"] = (
            "Combined scores weigh the sample against a model that is fitted to all runs; their "
            "intervals cover the truth as often as stated on average over runs, not for each."
        )
    if estimator in ESTIMATORS and scores["interval"].notnull().any():
        source = f"By {estimator} alone: " if combined else f"By {estimator}: "
        words[f"{level} interval"] = source + covered.format(level=level)
        if scores.attrs.get("anytime"):
            words[f"{level} interval"] += (
                " This holds at every look while judging goes on, also for those who stop "
                "when an interval suits them."
            )
    if degrees_of_freedom(scores):
        words["Degrees of freedom"] = freedom
    if ranked:
        words["Separated"] = (
            f"Pairs of runs of which the better one is known, with {level} confidence that none of "
            "them is wrong."
        )
        words["Possible ranks"] = (
            "The ranks that a run may have among these, a confidence set for each run by itself."
        )
        words["Group"] = (
            "These hold for all runs at once: every run of one group is found better than every "
            "run of the next."
        )
    if "weight" in named:
        where = "that could not have been drawn, outside the sampling frame"
        where = "without a judgment" if estimator in WITHOUT_DESIGN else where
        words["Weight"] = (
            f"How much of a measure, of 1 for P@k and RBP, falls on documents {where}."
        )
    return words | {name.capitalize(): text for name, text in NOTED.items() if name in named}


def degrees_of_freedom(scores: xr.Dataset) -> str:
    """The least and the most degrees of freedom of the runs, where they are finite."""
    if "degrees_of_freedom" not in scores:
        return ""
    of_run = scores["degrees_of_freedom"].to_numpy()
    known = of_run[np.isfinite(of_run)]
    if not known.size:
        return ""
    low, high = f"{known.min():.0f}", f"{known.max():.0f}"
    return low if low == high else f"{low} to {high}"
