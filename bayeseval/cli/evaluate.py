"""`bayeseval evaluate`: scores of runs, with intervals where a design gives them."""

from typing import Annotated

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.combining import check_combinable, remark_lengths, with_model
from bayeseval.cli.estimating import (
    COMBINED,
    check_population,
    estimating,
    fitting,
    learned_from,
    read_judged,
)
from bayeseval.cli.groups import Estimated, Judged, Rankings, grouped
from bayeseval.cli.output import working, write_result
from bayeseval.cli.reading import check_level, check_measures, groups_of_topics
from bayeseval.cli.remarks import remark_depth, remark_scores
from bayeseval.cli.significance import compared, with_marks
from bayeseval.cli.tables import as_scores, check_topics, score_rows, sorted_rows


@grouped
def evaluate(
    qrels: option.Qrels,
    runs: option.Runs,
    measure: option.Measures,
    estimated: Estimated,
    judged: Judged,
    rankings: Rankings,
    population: option.Population = "sample",
    topic_groups: option.TopicGroups = None,
    per_topic: option.PerTopic = False,
    sort: option.Sort = None,
    against: option.Against = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed of --estimator combined.", show_default="0")
    ] = None,
    format: option.ScoreFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Score RUNs by the judgments in QRELS.

    CSV columns: run, topic, measure, estimator, estimate, standard_error, lower, upper,
    denominator_error, modelled_share, degrees_of_freedom, raised_error, raised_freedom,
    limited_share, n_topics (topics with judgments), outside_weight (weight on documents that are
    unjudged or outside the sampling frame); with --against also better_than and worse_than.

    Intervals of means over these topics rest on raised_error and raised_freedom: standard_error is
    that of the unbiased variance, which a sample may give far too small. Those with --population
    topics rest on standard_error and degrees_of_freedom. Combined scores have a posterior's
    standard_error, and further columns: length_ratio (interval length over dyn's), model (what the
    measure is combined with: relevance_model, or grade_model where it counts grades or another
    level), model_weight (share of the model), unlike_model (probability that the run is not as
    modelled).
    """
    from bayeseval.evaluation.topic_groups import check_groups

    written = option.chosen_format(format, output)
    combining = estimated.estimator == COMBINED
    if combining:
        _check_combining(population, per_topic, against)
    elif seed is not None:
        raise ValueError("--seed goes with --estimator combined; the others draw no random number")
    labels = check_measures(measure, estimated.relevance_level, estimated.estimator)
    best_by = _sorting(sort, labels, estimated.relevance_level)
    options, ci_prob = estimating(estimated, judged), estimated.ci_prob
    about_topics = {"population": population, "topic_groups": groups_of_topics(topic_groups)}
    collection = read_judged(qrels, runs, judged, rankings, output, topic_groups)
    check_level(collection, estimated.relevance_level, labels)
    check_groups(**about_topics, topics=collection["topic"].to_numpy())
    if combining:
        check_combinable(collection, measure, estimated.relevance_level)
    if per_topic:
        check_topics(collection)
    with working("estimating"):
        scores = be.evaluate(collection, measure, ci_prob=ci_prob, **options)
        mean = be.mean_over_topics(scores, ci_prob=ci_prob, **about_topics)
    remark_depth(collection, rankings.depth, scores["measure"].to_numpy())
    remark_scores(collection, scores, mean)
    if combining:
        mean = with_model(collection, mean, options, fitting(estimated, seed or 0))
        remark_lengths(mean["length_ratio"].mean("run"))
    about: dict = {
        "estimator": estimated.estimator,
        "population": population,
        "outside": estimated.outside,
        "ci_prob": ci_prob,
    }
    about |= ({"seed": seed or 0} if combining else {}) | learned_from(estimated)
    rows = score_rows(mean, scores if per_topic else None)
    if best_by is not None:
        rows = sorted_rows(rows, best_by)
    if against is not None:
        with working("comparing"):
            pairs = compared(collection, measure, against, about_topics, options)
        rows = with_marks(rows, pairs)
        about["against"] = against
    write_result(as_scores(rows, about, written), output)


def _check_combining(population: str, per_topic: bool, against: str | None) -> None:
    """Refuse what scores of design and model combined do not have."""
    check_population(population, COMBINED)
    if per_topic:
        raise ValueError(
            "--per-topic: design and model are combined for means over topics; --estimator dyn has "
            "scores of topics"
        )
    if against is not None:
        raise ValueError(
            "--against: combined scores have no p values; bayeseval compare and rank say which "
            "runs differ"
        )


def _sorting(sort: str | None, labels: list[str], relevance_level: int) -> str | None:
    """Canonical label of the measure to sort by, which must be one that is asked for."""
    if sort is None:
        return None
    found = check_measures([sort], relevance_level)[0]
    if found not in labels:
        raise ValueError(f"--sort {sort} is none of the measures asked for: {', '.join(labels)}")
    return found
