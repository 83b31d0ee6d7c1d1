"""`bayeseval report`: scores, ranks, pictures and cautions on one page."""

from pathlib import Path
from typing import Annotated

import typer

from bayeseval.cli import options as option
from bayeseval.cli.notes import note_depth
from bayeseval.cli.options import Judged, Rankings, grouped
from bayeseval.cli.output import STDOUT, note, working, write_result
from bayeseval.cli.reading import (
    COMBINED,
    check_combinable,
    check_level,
    check_measures,
    dyn_if_combined,
    given_scores,
    predictor_of,
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
        str | None,
        typer.Option(
            help="As for `evaluate`; dyn is combined with a model here, unless --no-model.",
            show_default="dyn for a random sample (stat for prels and probs, importance for draws "
            "with replacement), else assumed",
        ),
    ] = None,
    predictor: option.Predictor = None,
    model: Annotated[bool, typer.Option(help="Combine with a model, for samples by dyn.")] = True,
    learn_from: option.LearnFrom = "design",
    relevance_level: option.RelevanceLevel = 1,
    ci_prob: option.CiProb = 0.9,
    anytime: option.Anytime = False,
    draws: Annotated[
        int, typer.Option(min=1, help="Posterior draws of the model, of each of four chains.")
    ] = 1000,
    title: Annotated[
        str | None, typer.Option(help="Title of the page.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
) -> None:
    """Write one page of HTML on RUNs: scores, ranks, pictures, and what to be careful of.

    By a random sample (--design) scores are those of dyn and a model combined.
    """
    import bayeseval.reporting as reporting

    option.check_page(output)
    if scores:
        given = given_scores(scores, measure, output)
        with working("writing a report"):
            asked = {"ci_prob": ci_prob, "title": title, "random_seed": seed}
            text = reporting.evaluation_page(given, **asked)
        return _write(text, output)
    labels = check_measures(measure, relevance_level, estimator)
    combining = estimator == COMBINED
    if combining and anytime:
        raise ValueError("--anytime: combined intervals are of one look; leave out --estimator")
    if combining and not model:
        raise ValueError("--estimator combined goes with the model, not with --no-model")
    if learn_from != "design" and (not model or estimator not in (None, "dyn", COMBINED)):
        raise ValueError(
            "--learn-from goes with the model, which is fitted to samples by dyn alone"
        )
    estimator = None if estimator is None else dyn_if_combined(estimator)
    predictor_read = predictor_of(predictor, estimator or "dyn", judged.labels)
    collection = read_judged(qrels, runs, judged, rankings, output)
    check_level(collection, relevance_level, labels)
    if combining:
        check_combinable(collection, measure, relevance_level)
    with working("writing a report"):
        text = reporting.evaluation_page(
            collection,
            measure,
            estimator=estimator,
            predictor=predictor_read,
            model=model,
            learn_from=learn_from,
            relevance_level=relevance_level,
            ci_prob=ci_prob,
            anytime=anytime,
            draws=draws,
            title=title,
            random_seed=seed,
        )
    _write(text, output)
    note_depth(collection, rankings.depth, labels)


def _write(text: str, output: Path) -> None:
    """Write the page, and say where it is."""
    write_result(text, output)
    if output != STDOUT:
        note(f"wrote {output}: open it in a browser")
