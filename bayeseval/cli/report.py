"""`bayeseval report`: scores, ranks, pictures and cautions on one page."""

from pathlib import Path
from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.options import EstimatedAtLevel, Judged, Source, grouped
from bayeseval.cli.output import STDOUT, note, working, write_result
from bayeseval.cli.reading import asked_of, measure_labels, read_source


@grouped
def report(
    source: Source,
    judged: Judged,
    estimated: EstimatedAtLevel,
    output: Annotated[Path, typer.Option(help="HTML file to write; - is stdout.")],
) -> None:
    """Write one page of HTML on RUNs: scores, ranks, pictures, and what to be careful of.

    By a random sample (--design) scores are those of dyn and a model combined, unless --estimator
    dyn leaves the model out.
    """
    option.check_page(output)
    if not source.scores:
        measure_labels(source.measure, estimated.relevance_level, estimated.estimator)
    data: Any = read_source(source, judged, output)
    with working("writing a report"):
        text = be.report(data, **asked_of(source, judged, estimated))
    write_result(text, output)
    if output != STDOUT:
        note(f"wrote {output}: open it in a browser")
