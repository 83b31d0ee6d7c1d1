"""Parts of a page of HTML: tables, pictures, lists, the page itself, and what its words mean."""

import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

FONTS = ["DejaVu Sans", "Verdana", "Arial"]  # each text of a picture repeats their names
# control and half characters, which a page must not have
CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")
# black and the greys of a drawing
GREYS = re.compile(r"#([0-9a-f]{2})\1\1\b")
STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --soft: #555; --back: #fff; --rule: #bbb;
  --flag: #c00 }
@media (prefers-color-scheme: dark) { @media screen {
  :root { --text: #e4e4e4; --soft: #b0b0b0; --back: #191919; --rule: #666; --flag: #ff7b72 } } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--text); background: var(--back) }
a { color: inherit } h1, h2, p, li, dd, figcaption, caption { overflow-wrap: anywhere }
h1 { font-size: 1.7rem; margin-bottom: .3rem } h2 { margin-top: 2.5rem; font-size: 1.3rem }
.answer { font-size: 1.15rem } .answer ul { padding-left: 1.2rem }
p.lead, figcaption, caption { color: var(--soft) }
figcaption, caption, nav { font-size: .9em } nav a { margin-right: 1rem }
.wide { overflow-x: auto; margin: 1rem 0 } figure { margin: 1.5rem 0 }
figure svg { display: block; width: 100%; max-width: 36rem; height: auto; fill: var(--text) }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { text-align: left } th, td { padding: .2rem .8rem .2rem 0; text-align: right;
  white-space: nowrap; border-bottom: 1px solid var(--rule) }
thead th { white-space: normal; vertical-align: bottom; border-bottom: 2px solid var(--soft) }
tbody th { font-weight: normal } tr.apart > * { border-top: 2px solid var(--soft) }
.key { text-align: left; position: sticky; left: 0; background: var(--back) }
th.key { min-width: 4rem; max-width: 22rem; white-space: normal; overflow-wrap: anywhere }
.pairs td { padding: .2rem .35rem; min-width: 1.6rem; print-color-adjust: exact }
.pairs thead th { writing-mode: vertical-rl; max-height: 10rem; overflow-wrap: anywhere;
  padding: .3rem 0; font-weight: normal }
li { margin: .3rem 0 } dt { font-weight: 600 } dd { margin: 0 0 .4rem 1.2rem }
@media (max-width: 34rem) { body { margin: 1rem auto } table { font-size: .8rem }
  th, td { padding-right: .45rem } th.key { max-width: 8rem } }
@page { margin: 15mm }
@media print { body { font-size: 10.5pt; max-width: none; margin: 0; padding: 0 }
  nav { display: none } h2, caption, dt, section > p { break-after: avoid }
  figure, tr, li, dd, table:not(:has(tr:nth-child(31))) { break-inside: avoid }
  .wide { overflow: visible }
  .key { position: static } table { font-size: 9pt } .pairs { font-size: 8pt }
  figure svg { max-width: 32rem; max-height: 90vh } }
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
    return _framed(title, head, body)


def paired(title: str, names: Sequence[str], chances: NDArray[np.floating]) -> str:
    """A table (row, column) of probabilities in percent, with the names on both sides."""
    head = '<td class="key"></td>'
    head += "".join(f'<th scope="col" class="up">{escape(name)}</th>' for name in names)
    body = []
    for row, (name, of_row) in enumerate(zip(names, chances, strict=True)):
        cells = [
            "<td></td>"
            if row == column
            else f'<td style="{_shade(chance)}">{_percent(chance)}</td>'
            for column, chance in enumerate(of_row)
        ]
        body.append(f'<tr><th scope="row" class="key">{escape(name)}</th>{"".join(cells)}</tr>')
    return _framed(title, head, body, ' class="pairs"')


def _framed(title: str, head: str, body: Iterable[str], kind: str = "") -> str:
    """A table that is moved sideways where the window is narrower."""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}"><table{kind}>'
        f"<caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _percent(chance: float) -> str:
    """A probability in percent; only what is certain is 0 or 100."""
    rounded = round(100 * chance)
    if 0 < chance < 1 and rounded in (0, 100):
        return "&lt;1" if rounded == 0 else "&gt;99"
    return str(rounded)


def _shade(chance: float) -> str:
    """Blue above one half, orange below, the stronger the further from it, on any background."""
    color = "0 114 178" if chance > 0.5 else "213 94 0"
    return f"background:rgb({color}/{abs(chance - 0.5):.2f})"


def figure(axes: Any, caption: str) -> str:
    """A picture as SVG in the colours of the page; the figure of the axes is closed.

    Text stays text. Black and the greys become mixtures of the colours of text and background.
    """
    import matplotlib
    import matplotlib.pyplot as plt

    text = io.StringIO()
    looks: Any = {"svg.fonttype": "none", "svg.hashsalt": caption, "font.sans-serif": FONTS}
    with matplotlib.rc_context(looks):
        axes.figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    plt.close(axes.figure)
    whole = re.sub("<metadata>.*?</metadata>", "", text.getvalue(), flags=re.DOTALL)
    drawn = whole[whole.index("<svg") :]
    used = set(re.findall(r"#([\w-]+)", drawn))  # other drawings have the other ids too
    drawn = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", drawn)
    drawn = GREYS.sub(_mixed, drawn).replace("#cc0000", "var(--flag)")
    drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def _mixed(grey: re.Match[str]) -> str:
    """A grey as a mixture of text and background."""
    share = 1.0 - int(grey[1], 16) / 255
    return f"color-mix(in srgb, var(--text) {share:.0%}, var(--back))"


def page(title: str, opening: str, lead: str, sections: Iterable[tuple[str, str]]) -> str:
    """A whole page: its title, the answer, a line about it, and sections, with links to these.

    The ``opening`` and what a section has under its title are HTML.

    Examples
    --------
    >>> page("Scores", "", "Two runs.", [("P@10", "")]).startswith("<!doctype html>")
    True
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    links, parts = [], []
    for number, (name, text) in enumerate(sections, 1):
        links.append(f'<a href="#part{number}">{escape(name)}</a>')
        parts.append(f'<section id="part{number}"><h2>{escape(name)}</h2>{text}</section>')
    way = f'<nav aria-label="Sections">{" ".join(links)}</nav>'
    start = f'<h1>{escape(title)}</h1><div class="answer">{opening}</div>{paragraph(lead, "lead")}'
    body = f"<main>{start}{way}{chr(10).join(parts)}</main>"
    whole = f'<html lang="en"><head>{head}{view}</head>\n<body>\n{body}\n</body></html>'
    escaped = CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), whole)
    return f"<!doctype html>\n{escaped}\n"
