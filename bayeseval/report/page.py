"""Parts of a page of HTML: tables, pictures, lists, and the page itself."""

import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

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
    drawn = _without_idle_names(whole[whole.index("<svg") :])
    drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def _without_idle_names(drawn: str) -> str:
    """A drawing without the ids that nothing refers to, which other drawings have too."""
    used = set(re.findall(r"#([\w-]+)", drawn))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", drawn)


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
    escaped = CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), whole)
    return f"<!doctype html>\n{escaped}\n"
