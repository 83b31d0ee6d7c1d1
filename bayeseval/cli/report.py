"""`bayeseval report`: scores, ranks, pictures and cautions on one page."""

from pathlib import Path
from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_depth
from bayeseval.cli.options import Judged, Rankings, grouped
from bayeseval.cli.output import STDOUT, note, working, write_result
from bayeseval.cli.reading import (
    check_level,
    check_measures,
    given_scores,
    label_files,
    read_judged,
)


@grouped
def report(
    qrels: option.Qrels,
    runs: option.Runs,
    measure: option.Measures,
    output: Annotated[Path, typer.Option(help="HTML file to write; - is stdout.")],
    judged: Judged,
    rankings: Rankings,
    scores: option.Scores = None,
    estimator: Annotated[
        str | None, typer.Option(help="As for `evaluate`.", show_default="as for evaluate")
    ] = None,
    relevance_level: option.RelevanceLevel = 1,
    ci_prob: option.CiProb = 0.9,
    anytime: option.Anytime = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
) -> None:
    """Write one page of HTML on RUNs: scores, ranks, pictures, and what to be careful of.

    By a random sample (--design) scores are those of dyn and a model combined, unless --estimator
    dyn leaves the model out.
    """
    option.check_page(output)
    asked: dict[str, Any] = {"ci_prob": ci_prob, "random_seed": seed}
    if scores:
        given = given_scores(scores, measure, output)
        with working("writing a report"):
            return _write(be.report(given, **asked), output)
    labels = check_measures(measure, relevance_level, estimator)
    asked |= {"labels": list(label_files(judged.labels)) or None, "anytime": anytime}
    asked |= {"estimator": estimator, "relevance_level": relevance_level}
    collection = read_judged(qrels, runs, judged, rankings, output)
    check_level(collection, relevance_level, labels)
    with working("writing a report"):
        text = be.report(collection, measure, **asked)
    _write(text, output)
    note_depth(collection, rankings.depth, labels)


def _write(text: str, output: Path) -> None:
    """Write the page, and say where it is."""
    write_result(text, output)
    if output != STDOUT:
        note(f"wrote {output}: open it in a browser")
