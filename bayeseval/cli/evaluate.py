"""`bayeseval evaluate`: scores of runs, with intervals where a design gives them."""

from pathlib import Path
from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_depth, note_lengths, note_scores
from bayeseval.cli.options import Dataset, Estimated, Judged, Rankings, grouped
from bayeseval.cli.output import note, working, write_result
from bayeseval.cli.reading import (
    COMBINED,
    check_combinable,
    check_level,
    check_measures,
    combined,
    estimate_options,
    given_scores,
    groups_of_topics,
    read_judged,
)
from bayeseval.cli.tables import (
    ALL,
    all_pairs,
    as_scores,
    score_rows,
    sorted_rows,
    with_marks,
)


@grouped
def evaluate(
    qrels: option.Qrels,
    runs: option.Runs,
    measure: option.Measures,
    estimated: Estimated,
    judged: Judged,
    rankings: Rankings,
    scores: option.Scores = None,
    population: option.Population = "sample",
    topic_groups: option.TopicGroups = None,
    per_topic: option.PerTopic = False,
    sort: option.Sort = None,
    against: option.Against = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            help="Half of an interval's length that is short enough (implies --anytime): says for "
            "each run whether it is, or about how many more documents of each topic it takes."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed of --estimator combined.", show_default="0")
    ] = None,
    format: option.ScoreFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Score RUNs by the judgments in QRELS.

    CSV columns: run, topic, measure, estimator, estimate, standard_error, lower, upper,
    degrees_of_freedom (the interval rests on these two), design_error (the unbiased standard error
    that the design gives), n_topics (topics with judgments), outside_weight (weight on documents
    that are unjudged or outside the sampling frame); with --against also better_than and
    worse_than.

    With --half-width also more_judgments, about how many further documents of each topic are to be
    judged (0: enough).

    Combined scores have a posterior's standard_error, and further columns: length_ratio (interval
    length over dyn's), model (what the measure is combined with: relevance_model, or grade_model
    where it counts grades or another level), model_weight (share of the model), unlike_model
    (probability that the run is not as modelled).
    """
    from bayeseval.estimators import HAS_COVARIANCE
    from bayeseval.evaluation.topic_groups import check_groups
    from bayeseval.tidy import topics_of

    written = option.output_format(format, output)
    combining, level = estimated.estimator == COMBINED, estimated.relevance_level
    _check_options(combining and not scores, against, seed, half_width)
    if scores:
        given = given_scores(scores, measure, output, topic_groups)
        asked = {"ci_prob": estimated.ci_prob, "half_width": half_width}
        return _of_scores(given, asked, topic_groups, written, output)
    if per_topic and (estimated.anytime or half_width):
        raise ValueError("--per-topic: intervals of topics are of one look; leave out --anytime")
    labels = check_measures(measure, level, estimated.estimator)
    best_by = check_measures([sort], level)[0] if sort else None
    if best_by is not None and best_by not in labels:
        raise ValueError(f"--sort {sort} is none of the measures asked for: {', '.join(labels)}")
    options, ci_prob = estimate_options(estimated, judged), estimated.ci_prob
    over: dict[str, Any] = {
        "population": population,
        "topic_groups": groups_of_topics(topic_groups),
    }
    collection = read_judged(qrels, runs, judged, rankings, output, topic_groups)
    check_level(collection, level, labels)
    check_groups(**over, topics=collection["topic"].to_numpy())
    about: dict = {"estimator": estimated.estimator, "population": population}
    about |= {"outside": estimated.outside, "ci_prob": ci_prob}
    if per_topic and ALL in collection["topic"].to_numpy():
        raise ValueError(
            f"a topic is named '{ALL}', as the row of the mean over topics is; rename the topic, "
            "or leave out --per-topic"
        )
    if combining:
        check_combinable(collection, measure, level)
        mean = combined(
            collection, measure, estimated, options, seed or 0, per_topic=per_topic, **over
        )
        note_lengths(mean["length_ratio"].mean("run"))
        if per_topic:
            note("intervals of single topics are the model's alone")
        about |= {"seed": seed or 0, "learn_from": estimated.learn_from}
    else:
        looks = {"anytime": estimated.anytime, "half_width": half_width, "ci_prob": ci_prob}
        with working("estimating"):
            mean = be.scores(collection, measure, per_topic=per_topic, **looks, **over, **options)
        about |= {"half_width": half_width} if half_width else {}
        about |= {"anytime": True} if "anytime" in mean.attrs else {}
    note_depth(collection, rankings.depth, mean["measure"].to_numpy())
    note_scores(collection, mean)
    rows = score_rows(mean, topics_of(mean) if per_topic else None)
    if best_by is not None:
        rows = sorted_rows(rows, best_by)
    if against is not None:
        if options["estimator"] not in HAS_COVARIANCE:
            over["population"] = "topics"
        reference = None if all_pairs(against, collection["run"].to_numpy()) else against
        with working("comparing"):
            asked = over | options | {"reference": reference, "random_seed": 0}
            asked["anytime"] = "anytime" in mean.attrs
            rows = with_marks(rows, be.compare(collection, measure, **asked))
        about["against"] = against
    write_result(as_scores(rows, about, written), output)


def _of_scores(
    given: Dataset, asked: dict, topic_groups: Path | None, written: str, output: Path | None
) -> None:
    """Write the means of scores of another tool."""
    mean = be.scores(given, **asked, topic_groups=groups_of_topics(topic_groups))
    about = {name: mean.attrs[name] for name in ("estimator", "population", "ci_prob")}
    write_result(as_scores(score_rows(mean), about, written), output)


def _check_options(
    combining: bool, against: str | None, seed: int | None, half_width: float | None
) -> None:
    """Refuse what combined scores do not have, and a seed of other scores."""
    if combining and half_width is not None:
        raise ValueError(
            "--half-width is for intervals that hold at every look, which combined scores do not "
            "have; --estimator dyn has them"
        )
    if not combining and seed is not None:
        raise ValueError("--seed goes with --estimator combined; the others draw no random number")
    if combining and against is not None:
        raise ValueError(
            "--against: combined scores have no p values; bayeseval compare and rank say which "
            "runs differ"
        )
