"""The answer that opens a page: the best run by a measure, and how much more would settle it."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.designs.judging_list import is_order
from bayeseval.estimators import HAS_COVARIANCE
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import SUMS
from bayeseval.messages import counted, percent
from bayeseval.rounding import ROUNDING

MOST_NAMES = 4  # of runs in a sentence
MOST_TIMES = 10  # as many topics as there are: more are not planned


@dataclass
class Answers:
    """Scores (measure, run) of one kind, with intervals: by an estimator, or combined with a model.

    ``name`` is theirs, for readers. ``sets`` are of ``rank_sets`` and ``chances`` of
    ``rank_probabilities``; None for one run alone, and where errors are not known. ``compared`` is
    of ``compare_intervals``: design, model and both. ``by_topic`` are the scores that errors over
    topics rest on.
    """

    name: str
    scores: xr.Dataset
    sets: xr.Dataset | None = None
    chances: xr.Dataset | None = None
    compared: xr.Dataset | None = None
    by_topic: xr.Dataset | None = None

    @classmethod
    def ranked(cls, name, scores, source, options: dict, compared=None) -> "Answers":
        """With ranks by ``source``, which are scores with errors, of two runs or more."""
        sets = chances = None
        if source.sizes["run"] > 1:
            anytime = bool(scores.attrs.get("anytime"))
            sets = be.rankings.rank_sets(source, simultaneous=True, anytime=anytime, **options)
            chances = be.rankings.rank_probabilities(source, **options)
        by_topic = source if "topic" in source.dims else None
        return cls(name, scores, sets, chances, compared, by_topic)


def answer(
    label: str, answers: Answers, sampled: xr.DataTree | None = None, options: dict | None = None
) -> str:
    """The best run by a measure, whether it is known to be, and if not what would settle it.

    ``options`` are those of ``compare`` for judgments of ``sampled``.
    """
    score = answers.scores["estimate"].sel(measure=label).dropna("run")
    if not score.size:
        return f"No run has a score by {label}."
    order = score["run"].to_numpy()[np.argsort(-score.to_numpy(), kind="stable")].tolist()
    best, value, n_runs = order[0], f"{float(score.max()):.3f}", len(order)
    level = percent(answers.scores.attrs["ci_prob"])
    if n_runs == 1:
        bounds = answers.scores["interval"].sel(measure=label, run=best).transpose("ci_bound")
        lower, upper = bounds.to_numpy()
        interval = "" if np.isnan(lower) else f" ({level} interval {lower:z.3f} to {upper:z.3f})"
        return f"{best} scores {value} by {label}{interval}."
    if answers.sets is None:
        return f"{best} scores best by {label} ({value}), but it is not known how sure this is."
    apart = answers.sets["separated"].sel(measure=label, run=best)
    rivals = [run for run in order[1:] if not apart.sel(run_other=run)]
    if not rivals:
        which = "better of the two" if n_runs == 2 else f"best of the {n_runs}"
        return f"With {level} confidence, {best} is the {which} runs by {label} ({value})."
    others = f"any of the other {n_runs - 1} runs" if len(rivals) == n_runs - 1 else _listed(rivals)
    others = rivals[0] if n_runs == 2 else others
    text = f"{best} scores best by {label} ({value}), but it is not clearly better than {others}."
    n_pairs = n_runs * (n_runs - 1) // 2  # which ranks hold for all at once
    asked = {"ci_prob": 1.0 - (1.0 - answers.scores.attrs["ci_prob"]) / n_pairs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are given with the scores
        if answers.by_topic is not None:
            score = answers.by_topic["estimate"].sel(measure=label)
            more = _more_topics(score, best, rivals, **asked)
        else:
            more = _more_judgments(sampled, label, best, rivals, **((options or {}) | asked))
    return f"{text} {more}".strip()


def _listed(runs: list[str]) -> str:
    """Names in a sentence, of the first few where they are many."""
    if len(runs) > MOST_NAMES:
        runs = [*runs[: MOST_NAMES - 1], f"{len(runs) - MOST_NAMES + 1} other runs"]
    return " and ".join([", ".join(runs[:-1]), runs[-1]] if len(runs) > 1 else runs)


def _more_judgments(
    sampled: xr.DataTree | None, label: str, best: str, rivals: Sequence[str], **options
) -> str:
    """About how many more documents of each topic would settle it, where a list can go on."""
    design = None if sampled is None else sampled.children.get("design")
    if sampled is None or design is None or not is_order(design.dataset):
        return ""
    if options["estimator"] not in HAS_COVARIANCE or parse_measures(label)[0].kind not in SUMS:
        return ""
    pairs = be.compare(sampled, label, reference=best, anytime=True, **options).isel(measure=0)
    pairs = pairs.isel(comparison=np.isin(pairs["run_a"].to_numpy(), rivals))
    more = float(pairs["more_judgments"].max())
    if not more > 0 or (np.abs(pairs["estimate"]) <= ROUNDING).any():
        return ""
    number = counted(round(more), "more judgment")
    return f"By {options['estimator']}, about {number} of each topic would probably settle it."


def _more_topics(score: xr.DataArray, best: str, rivals: Sequence[str], ci_prob: float) -> str:
    """About how many topics would settle it, by the spread of the scores over these."""
    difference = score.sel(run=best, drop=True) - score.sel(run=list(rivals))
    size = abs(difference.mean("topic"))
    closest = rivals[int((size / difference.std("topic", ddof=1)).fillna(0.0).argmin("run"))]
    number, apart = int(difference.sel(run=closest).notnull().sum()), float(size.sel(run=closest))
    longer = np.unique(np.geomspace(number, MOST_TIMES * number, 60).round().astype(int))[1:]
    pair = score.sel(run=[best, closest]).to_dataset(name="estimate")
    planned = be.plan(pair, n_topics=longer.tolist(), ci_prob=ci_prob)
    enough = planned["n_topics"].to_numpy()[planned["detectable"].to_numpy().ravel() <= apart]
    if not enough.size or apart <= ROUNDING:
        return ""
    return f"About {enough[0]} topics like these {number} would probably settle it."
