"""The difference estimator, ``dyn``, and that of Horvitz and Thompson, ``stat``."""

from functools import partial

import numpy as np
import xarray as xr

from bayeseval.collection.schema import label_names, predictor_columns, warn_of_copies
from bayeseval.estimators.counts import CountModel
from bayeseval.estimators.relevance import EstimatedRelevance, check_no_predictor
from bayeseval.frame.frame import Frame
from bayeseval.messages import Message, Option, warn
from bayeseval.predictors import predicted_relevance
from bayeseval.predictors.registry import name_and_argument


def horvitz_thompson(
    frame: Frame, predictor, random_seed: int, denominator: str
) -> EstimatedRelevance:
    r"""Relevance of the judged pairs by their inclusion probability.

    .. math:: stat = \sum_i weight_i \frac{1[d_i \in J]\, rel(d_i)}{\pi(d_i)}

    Estimand: the score that complete judgments of the frame would give. Random: the sample J alone.
    Unbiased for linear measures whenever every pair of the frame has a known inclusion probability
    above 0, whatever the run. What breaks it: documents outside the frame (their weight is
    reported) and probabilities that are not those of the draw.

    References
    ----------
    Cormack and Grossman (2019), section 2, doi:10.1145/3331184.3331355; D. G. Horvitz and D. J.
    Thompson, JASA 47 (1952).
    """
    check_no_predictor("stat", predictor)
    return EstimatedRelevance(
        frame.sample,
        frame.grade,
        frame.scale,
        counts=partial(counts_of_topics, frame, denominator, random_seed),
        random_seed=random_seed,
    )


def difference(frame: Frame, predictor, random_seed: int, denominator: str) -> EstimatedRelevance:
    r"""Predicted relevance, corrected by the expanded residuals of the judged pairs.

    .. math:: dyn = \sum_i weight_i \left( M(d_i) + \frac{1[d_i \in J]}{\pi(d_i)}
              (rel(d_i) - M(d_i)) \right)

    Estimand: the score that complete judgments of the frame would give. Random: the sample J alone.
    Unbiased for linear measures whatever M is, as long as M of a document does not depend on the
    sample of its own stratum; a good M makes the residuals, and with them the variance, small. What
    breaks it: documents outside the frame (their weight is reported), probabilities that are not
    those of the draw, an M that has seen the document's own stratum; so also, of a sample drawn in
    stages, an M that learns from later ones (a warning says so).

    References
    ----------
    Cormack and Grossman (2019), section 2, doi:10.1145/3331184.3331355.
    """
    collection = frame.collection
    if np.isnan(collection["design/inclusion_probability"].to_numpy()).any():
        raise ValueError(
            "'dyn' predicts every pair of the frame, and these judgments (prels or probs) list "
            "only the sampled ones; estimators that exist for them: assumed, "
            "condensed, stat, stat_ap"
        )
    spec = default_predictor(collection) if predictor is None else predictor
    name, argument = name_and_argument(spec)
    as_given = _as_given(name, argument)
    if not as_given:
        _warn_of_later_stages(collection)
    if name == "external" and argument in label_names(collection):
        _warn_of_raw_labels(argument)
    columns = {name: x[frame.pair] for name, x in predictor_columns(collection).items()}
    asked = argument if isinstance(argument, list | tuple) else [argument]
    for label in label_names(collection):
        if label in asked:
            warn_of_copies(label, columns[label], frame.grade[0])
    return EstimatedRelevance(
        frame.ranked_sample,
        frame.grade,
        frame.scale,
        partial(_predicted, spec, columns),
        counts=partial(counts_of_topics, frame, denominator, random_seed),
        random_seed=random_seed,
        as_given=as_given,
    )


def _predicted(spec, columns, sample, observed, counted, higher):
    """M of the pairs of a sample, of a step of the gain above the first where it is ``higher``."""
    used = _learned(spec, columns) if higher else spec
    return predicted_relevance(sample, observed, used, columns=columns, counted=counted)


def counts_of_topics(frame: Frame, denominator: str, random_seed: int) -> CountModel | None:
    """Model of the counts of all topics; None where it is not asked for or cannot be had.

    It needs to know how many documents were not sampled, their fused ranks and more than one topic.
    Where others chose what is judged (a sampleval file, or probabilities of 1 of a Poisson design
    that is not of this package) documents that some run ranks high are judged most, and are
    likelier to be relevant than others of the same fused rank: that misleads it.
    """
    if denominator == "topic":
        return None
    probability = frame.sample.inclusion_probability
    unsampled = frame.sample.topic[probability < 1.0]
    if frame.lists_sampled_alone:
        reason = "these judgments (prels or probs) list only the sampled documents of the frame"
    elif not unsampled.size:  # everything was judged
        return None
    elif (unsampled == unsampled[0]).all():
        reason = "only one topic has documents that were not sampled"
    elif frame.design_name == "sampleval" or (
        frame.scheme == "poisson" and frame.design_name != "poisson" and (probability == 1.0).any()
    ):
        reason = "documents were not drawn by their fused ranks"
    else:
        try:
            return CountModel(
                frame.ranked_sample,
                random_seed,
                labelled=bool(frame.design_labels),
                made_certain=frame.made_certain,
                # whether there are several grades above the lowest one, or above 0
                graded=len(frame.scale) - (min(frame.scale, default=0.0) <= 0.0) > 1,
            )
        except ValueError:  # of contributing_runs
            reason = "no run contributed to the frame, so its documents have no fused rank"
    warn(
        "numbers of relevant documents are estimated from each topic's own sample "
        f"(denominator 'topic'), because {reason}; intervals of AP, nDCG, R@k and Rprec are too "
        "short where few documents are relevant",
    )
    return None


def default_predictor(collection: xr.DataTree):
    """The predictor where none is named: ``pooled``, which learns from labels that were added."""
    labels = label_names(collection)
    return ("pooled", labels) if labels else "pooled"


def _as_given(name: str, argument) -> bool:
    """Whether a predictor learns nothing from the sample."""
    return name == "external" or (name == "constant" and argument is not None)


def _warn_of_raw_labels(column: str) -> None:
    """Say that labels taken as they are can make an estimate worse than without them."""
    text = Message(
        f"the labels '{column}' are taken for the relevance as they are: the estimate stays "
        "unbiased, and its error can be larger than without them; ",
        Option("predictor", "pooled", f"predictor=('pooled', '{column}')"),
        ", the default, learns what they are worth",
    )
    warn(text)


def _warn_of_later_stages(collection: xr.DataTree) -> None:
    """Say that an M that learns from the sample sees strata that follow from the sample."""
    design = collection["design"]
    if "stratum_stage" in design and design["stratum_stage"].max() > 0:
        warn(
            "the prediction learns from later stages, whose strata follow the sample; for an "
            "exactly unbiased estimate use predictor=('external', 'dynamic_sampling') with "
            "be.designs.with_stage_predictions",
        )


def _learned(spec, columns: dict[str, np.ndarray]):
    """Predictor of a higher step of the gain: a given probability says nothing of it, so learn it.

    A column of grades does say, and stays as it is.
    """
    name, argument = name_and_argument(spec)
    if name == "constant":
        return name
    given = columns.get(argument) if name == "external" and isinstance(argument, str) else None
    return (
        spec if given is None or np.nanmax(given, initial=0.0) > 1 else ("recalibrated", argument)
    )


def described_predictor(collection: xr.DataTree, estimator: str, predictor) -> str:
    """Name and columns of the predictor as one text, such as pooled:gpt+llama; of ``dyn`` alone."""
    if estimator != "dyn":
        return ""
    spec = default_predictor(collection) if predictor is None else predictor
    if isinstance(spec, str):
        return spec
    name_and_argument(spec)  # refuses what is none
    parts = ["+".join(map(str, p)) if isinstance(p, list | tuple) else str(p) for p in spec]
    return ":".join(parts)
