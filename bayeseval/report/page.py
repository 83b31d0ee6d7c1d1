"""Parts of a page of HTML: tables, pictures, lists, and the page itself."""

import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")  # and half characters
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1b1b; background: #fff }
h1 { font-size: 1.7rem; margin-bottom: .3rem } h2 { margin-top: 2.5rem; font-size: 1.3rem }
p.lead { color: #444; margin-top: 0 } figure { margin: 1.5rem 0 }
figure svg { max-width: 100%; height: auto } figcaption, .small { color: #555; font-size: .9rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid #ddd }
th.key, td.key { text-align: left } thead th { border-bottom: 2px solid #888 }
tr.apart td { border-top: 2px solid #bbb } li { margin: .3rem 0 }
dt { font-weight: 600 } dd { margin: 0 0 .4rem 1.2rem }
@media print { body { max-width: none } h2 { break-after: avoid } figure { break-inside: avoid } }
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
    header: Sequence[str], rows: Iterable[Sequence[str]], n_keys: int, apart: Sequence[int] = ()
) -> str:
    """A table; its first columns are labels, to the left.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequences of str
    n_keys : int
        Columns of labels.
    apart : sequence of int
        Places of rows with a rule above them.
    """

    def cells(texts: Sequence[str], tag: str) -> str:
        kinds = [' class="key"' if place < n_keys else "" for place in range(len(texts))]
        return "".join(
            f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in zip(kinds, texts, strict=True)
        )

    rule = ' class="apart"'
    body = [
        f"<tr{rule if place in apart else ''}>{cells(row, 'td')}</tr>"
        for place, row in enumerate(rows)
    ]
    head = f"<thead><tr>{cells(header, 'th')}</tr></thead>"
    return f'<div class="wide"><table>{head}<tbody>{"".join(body)}</tbody></table></div>'


def figure(axes: Any, caption: str) -> str:
    """A picture as SVG, in which text stays text; the figure of the axes is closed."""
    import matplotlib
    import matplotlib.pyplot as plt

    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": caption}):
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


def section(title: str, *parts: str) -> str:
    """A title and what is under it."""
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def page(title: str, lead: str, sections: Iterable[str]) -> str:
    """A whole page.

    Examples
    --------
    >>> page("Scores", "Two runs.", [section("P@10")]).startswith("<!doctype html>")
    True
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = f"<h1>{escape(title)}</h1>{paragraph(lead, 'lead')}" + "\n".join(sections)
    whole = f'<html lang="en"><head>{head}{view}</head>\n<body>\n{body}\n</body></html>'
    return f"<!doctype html>\n{CONTROLS.sub(_written, whole)}\n"


def _written(found: re.Match) -> str:
    """A control or half character, which a page must not have, as an escape."""
    return found[0].encode("unicode_escape").decode()
