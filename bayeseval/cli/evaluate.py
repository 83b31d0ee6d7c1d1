"""`bayeseval evaluate`: scores of runs, with intervals."""

from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_estimator, note_lengths, note_scores, note_unlike
from bayeseval.cli.options import EstimatedAtLevel, Judged, Source, grouped
from bayeseval.cli.output import note, working, write_result
from bayeseval.cli.reading import asked_of, measure_labels, over_topics, read_source
from bayeseval.cli.tables import ALL, about, as_scores, score_rows, sorted_rows


@grouped
def evaluate(
    source: Source,
    judged: Judged,
    estimated: EstimatedAtLevel,
    population: option.Population = None,
    topic_groups: option.TopicGroups = None,
    per_topic: option.PerTopic = False,
    sort: option.Sort = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            help="Half of an interval's length that is short enough (implies --anytime): says for "
            "each run whether it is, or about how many more documents of each topic it takes."
        ),
    ] = None,
    format: option.ScoreFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Score RUNs by the judgments in QRELS.

    CSV columns: run, topic, measure, estimator, estimate, standard_error, lower, upper,
    degrees_of_freedom (the interval rests on these two), design_error (the unbiased standard error
    that the design gives), n_topics (topics with judgments), outside_weight (weight on documents
    that are unjudged or outside the sampling frame).

    With --half-width also more_judgments, about how many further documents of each topic are to be
    judged (0: enough).

    Combined scores have a posterior's standard_error, and further columns: length_ratio (interval
    length over dyn's), model (what the measure is combined with: relevance_model, or grade_model
    where it counts grades or another level), model_weight (share of the model), unlike_model
    (probability that the run is not as modelled).
    """
    from bayeseval.tidy import topics_of

    written = option.output_format(format, output)
    level = estimated.relevance_level
    labels = [] if source.scores else measure_labels(source.measure, level, estimated.estimator)
    best_by = measure_labels([sort], level)[0] if sort else None
    if best_by is not None and best_by not in labels:
        raise ValueError(f"--sort {sort} is none of the measures asked for: {', '.join(labels)}")
    over: dict[str, Any] = over_topics(source, population, topic_groups)
    data: Any = read_source(source, judged, output, topic_groups)
    if per_topic and ALL in data["topic"].to_numpy():
        raise ValueError(
            f"a topic is named '{ALL}', as the row of the mean over topics is; rename the topic, "
            "or leave out --per-topic"
        )
    with working("estimating"):
        asked = asked_of(source, judged, estimated) | over
        mean = be.scores(data, **asked, per_topic=per_topic, half_width=half_width)
    if not source.scores:
        note_estimator(estimated.estimator, mean)
        note_scores(data, mean)
    if "length_ratio" in mean:
        note_lengths(mean["length_ratio"].mean("run"))
        note_unlike(mean["unlike_model"])
        if per_topic:
            note("intervals of single topics are the model's alone")
    rows = score_rows(mean, topics_of(mean) if per_topic else None)
    rows = rows if best_by is None else sorted_rows(rows, best_by)
    more = {"half_width": half_width} if half_width else {}
    write_result(as_scores(rows, about(mean) | more, written), output)
