"""What a report tells: scores, combined where a model can be, ranks, and what to be careful of."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import xarray as xr

import bayeseval as be
from bayeseval.collection import check_collection
from bayeseval.combination import UNLIKE, Combination
from bayeseval.estimators import HAS_COVARIANCE
from bayeseval.frame.frame import BY_CHANCE, Frame
from bayeseval.frame.rankings import Rankings
from bayeseval.messages import TopicsUnranked


@dataclass
class Answers:
    """Scores (measure, run) of one kind, with intervals: by an estimator, or combined with a model.

    ``name`` is theirs, for readers. ``sets`` are of ``rank_sets`` and ``chances`` of
    ``rank_probabilities``; None for one run alone, and where errors are not known. ``compared`` is
    of ``compare_intervals``: design, model and both.
    """

    name: str
    scores: xr.Dataset
    sets: xr.Dataset | None
    chances: xr.Dataset | None
    compared: xr.Dataset | None = None


@dataclass
class Notes:
    """What a reader should know beyond the numbers, each said once."""

    texts: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Note a sentence, unless it is there."""
        plain = " ".join(text.split())
        if plain not in self.texts:
            self.texts.append(plain)

    @contextmanager
    def of_warnings(self) -> Iterator[None]:
        """Note what the body warns of, in place of warning."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", TopicsUnranked)  # noted with runs that lack topics
            yield
        for warning in said:
            self.add(str(warning.message))


def chosen_estimator(sampled: xr.DataTree, estimator: str | None) -> str:
    """The estimator asked for, or ``dyn`` of a random sample and ``assumed`` of other judgments.

    Of a sample that does not say what else could have been judged (prels, probs) it is ``stat``, of
    one drawn with replacement ``importance``.
    """
    check_collection(sampled)
    if estimator is not None:
        return estimator
    children = sampled.children
    scheme = children["design"].attrs.get("scheme") if "design" in children else None
    if scheme == "with_replacement":
        return "importance"
    if scheme not in BY_CHANCE:
        return "assumed"
    return "stat" if Frame.of(sampled).lists_sampled_alone else "dyn"


def design_answers(
    sampled: xr.DataTree, measures, options: dict[str, Any], seed: int, notes: Notes
) -> Answers:
    """Scores and ranks by an estimator: over these topics where their errors are known."""
    estimator, ci_prob = options["estimator"], options["ci_prob"]
    known = estimator in HAS_COVARIANCE
    scores = be.evaluate(sampled, measures, **options)
    _note_lacking(sampled, scores, notes)
    population = "sample" if known else "topics"
    mean = be.mean_over_topics(scores, population=population, ci_prob=ci_prob)
    if mean["standard_error"].isnull().any():
        if mean.sizes["run"] > 1:
            few = "one judged document to a topic" if known else "one topic"
            notes.add(f"Ranks are not told: from {few} some errors of scores are not known.")
        return Answers(estimator, mean, None, None)
    how: dict[str, Any] = {"ci_prob": ci_prob, "random_seed": seed}
    source = scores
    if known:
        asked = {name: options[name] for name in ("estimator", "predictor", "relevance_level")}
        source, how["covariance"] = mean, be.covariance(sampled, measures, raised=True, **asked)
    return Answers(estimator, mean, *_ranked(source, how))


def _note_lacking(sampled: xr.DataTree, scores: xr.Dataset, notes: Notes) -> None:
    """Note runs that lack topics that are scored."""
    counting = scores["estimate"].notnull().any(["measure", "run"]).to_numpy()
    lacking = (Rankings.of(sampled).length == 0)[:, counting].sum(axis=1)
    if not lacking.any():
        return
    some, worst = int((lacking > 0).sum()), int(lacking.argmax())
    notes.add(
        f"{'1 run lacks' if some == 1 else f'{some} runs lack'} topics and "
        f"{'scores' if some == 1 else 'score'} 0 there; {sampled['run'].to_numpy()[worst]} lacks "
        f"most, {lacking[worst]} of {int(counting.sum())}."
    )


def _ranked(source: xr.Dataset, how: dict[str, Any]) -> tuple[xr.Dataset | None, xr.Dataset | None]:
    """Sets and probabilities of ranks, of two runs or more."""
    if source.sizes["run"] < 2:
        return None, None
    return be.rankings.rank_sets(source, **how), be.rankings.rank_probabilities(source, **how)


def combined_answers(
    sampled: xr.DataTree, mean: xr.Dataset, options: dict[str, Any], how: dict[str, Any],
    notes: Notes,
) -> Answers:  # fmt: skip
    """Design and model combined, the model fitted by its approximation and checked.

    ``how`` has the runs that it learns from, the draws of a chain and the random seed.
    """
    asked = {name: options[name] for name in ("predictor", "relevance_level")}
    found = Combination.of(sampled, mean, **asked, **how)
    both, table = found.scores, found.intervals
    ranked = {"ci_prob": options["ci_prob"], "random_seed": how["random_seed"]}
    sets, chances = _ranked(both, ranked)
    if found.contradiction:
        notes.add(
            f"{found.contradiction.capitalize()}. The intervals of {options['estimator']} do not "
            "rest on the model."
        )
    for label in table["measure"].to_numpy().tolist():
        odd = table["unlike_model"].sel(measure=label) > UNLIKE
        names = table["run"].to_numpy()[odd.to_numpy()].tolist()
        if names:
            notes.add(f"{label}: the sample contradicts the model on {', '.join(names)}.")
    return Answers(f"{options['estimator']} and the model combined", both, sets, chances, table)
