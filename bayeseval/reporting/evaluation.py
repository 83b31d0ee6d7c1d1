"""A page on an evaluation: scores with intervals, ranks, pictures, and cautions."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.answers import default_estimator
from bayeseval.answers.scoring import (
    COMBINED,
    check_combinable,
    refuse_options_of_collections,
)
from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_ci_prob, check_seed, check_whole_numbers
from bayeseval.collection.schema import design_parameters, label_names
from bayeseval.combination import N_CHAINS, UNLIKE, Combination
from bayeseval.estimators import HAS_COVARIANCE, WITHOUT_DESIGN
from bayeseval.evaluation import means_with_covariance, scores_by_topic
from bayeseval.evaluation.problem import reading_labels
from bayeseval.evaluation.score_tables import GIVEN
from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_scale
from bayeseval.measures.names import parse_measures
from bayeseval.messages import SHOWN, TopicsUnranked, counted, percent
from bayeseval.posterior.modelled import fitted_runs
from bayeseval.reporting.answer import Answers, answer
from bayeseval.reporting.page import facts, listed, page, paragraph
from bayeseval.reporting.sections import measure_section, shown_answers
from bayeseval.reporting.words import meanings

ROUGH = 10  # degrees of freedom, below which a standard error is known roughly
# measures that do not take unjudged documents for not relevant
KNOWN_ALONE = ("Bpref", "infAP", "Judged", "NumRet")


@dataclass
class Notes:
    """What a reader should know beyond the numbers, each sentence once."""

    texts: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Note a sentence, unless it is there."""
        plain = " ".join(text.split())
        if plain not in self.texts:
            self.texts.append(plain)

    @contextmanager
    def of_warnings(self) -> Iterator[None]:
        """Note the warnings of the body, which are not given."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", TopicsUnranked)  # noted with runs that lack topics
            yield
        for warning in caught:
            self.add(str(warning.message))


def report(
    collection_or_scores: xr.DataTree | xr.Dataset,
    measures=None,
    *,
    estimator: str | None = None,
    labels: str | Sequence[str] | None = None,
    relevance_level: int = 1,
    ci_prob: float = 0.9,
    anytime: bool = False,
    predictor=None,
    learn_from: str | Sequence[str] = "design",
    draws: int = 1000,
    title: str | None = None,
    notes: Sequence[str] = (),
    random_seed: int = 0,
) -> str:
    """A page of HTML on the runs of a collection, which needs no other file.

    For each measure the runs from the best, with intervals, possible ranks and groups, and
    pictures of them; then cautions, the terms, and how it was made.

    Parameters
    ----------
    collection_or_scores : DataTree or Dataset
        Collection without replicates; or scores per topic (:func:`read_scores`), of which neither
        measures nor estimator can be asked.
    measures, estimator, labels
        As for :func:`scores`, with the same defaults.
    relevance_level : int
        Lowest relevant grade.
    ci_prob : float
        Coverage of the intervals.
    anytime : bool
        Intervals and ranks that hold at every look, by the design alone.
    predictor
        As for :func:`evaluate`.
    learn_from, draws
        Of "combined": the runs that the model is fitted to, and the posterior draws of each of
        four chains, as for :func:`scores`.
    title : str, optional
    notes : sequence of str
        Sentences for the list of cautions, before those found here. Warnings are listed there
        too, not given.
    random_seed : int

    Returns
    -------
    str
        The same for the same input and versions.

    Raises
    ------
    ValueError
        As :func:`scores` and :func:`rank`.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.1, 0.2], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> text = be.report(collection, "P@10")
    >>> text.startswith("<!doctype html>"), "Possible ranks" in text
    (True, True)
    """
    check_ci_prob(ci_prob)
    check_seed(random_seed)
    check_whole_numbers(1, draws=draws)
    cautions = Notes()
    for text in notes:
        cautions.add(text)
    title = title or "Evaluation of search runs"
    sampled = collection_or_scores
    if isinstance(sampled, xr.Dataset):
        asked = {"estimator": estimator, "predictor": predictor, "labels": labels}
        refuse_options_of_collections(measures, **asked, anytime=anytime or None)
        return _page_of_scores(sampled, ci_prob, random_seed, title, cautions)
    check_collection(sampled, "rankings", "judgments")
    fitted_runs(sampled, learn_from)
    estimator = estimator or default_estimator(sampled, measures, anytime)
    combining = estimator == COMBINED
    if combining:
        check_combinable(sampled, anytime)
    options = {"predictor": reading_labels(predictor, labels)}
    options |= {"estimator": "dyn" if combining else estimator}
    options |= {"relevance_level": relevance_level, "ci_prob": ci_prob}
    fitting = {"learn_from": learn_from, "draws": draws, "random_seed": random_seed}
    named, by_model = _labels(sampled, measures, relevance_level, combining)
    answers: list[Answers] = []
    with cautions.of_warnings():
        if estimated := [label for label in named if label not in by_model]:
            asked = options | {"anytime": anytime}
            answers.append(_design_answers(sampled, estimated, asked, random_seed, cautions))
        if combining:
            answers += _modelled(sampled, answers, by_model, options, fitting, cautions)
    for one in answers:
        _note_scores(one.scores, cautions)
    shown = shown_answers(answers)
    openings = {label: answer(label, shown[label], sampled, options) for label in named}
    modelled = len(answers) > 1 or bool(by_model)
    made = _method(sampled, answers[0].scores.attrs, modelled, options, fitting)
    lead = _lead(sampled, named, answers[0].scores, str(options["estimator"]))
    return _page(title, answers, openings, cautions, (lead, made))


def _lead(sampled: xr.DataTree, named: list[str], scores: xr.Dataset, estimator: str) -> str:
    """How much was judged, and what documents without a judgment count as."""
    runs, topics = (counted(sampled.sizes[dim], dim) for dim in ("run", "topic"))
    number = int(sampled["judgments/grade"].notnull().sum())
    lead = (
        f"{runs} on {topics}, {number:,} judgments, {number / sampled.sizes['topic']:.0f} per topic"
    )
    if estimator in WITHOUT_DESIGN:
        weight = scores["outside_weight"].max("run")
        shown = [label for label in named if weight.sel(measure=label) >= SHOWN]
        fates = dict.fromkeys(_fate(estimator, label) for label in shown)
        lead += "".join(f"; documents without a judgment {fate}" for fate in fates if fate)
    return f"{lead}."


def _page_of_scores(
    scores: xr.Dataset, ci_prob: float, seed: int, title: str, cautions: Notes
) -> str:
    """The page on scores per topic, whose judgments are not known here."""
    found = scores_by_topic(scores)
    if found is None or found.attrs.get("estimator") != GIVEN:
        raise ValueError("a report takes a collection, or scores that be.read_scores returns")
    name = "the scores as given"
    ranking: dict[str, Any] = {"ci_prob": ci_prob, "random_seed": seed}
    with cautions.of_warnings():
        mean = be.mean_over_topics(found, population="topics", ci_prob=ci_prob)
        answers = Answers(name, mean)
        if found["estimate"].notnull().all() and mean["standard_error"].notnull().all():
            answers = Answers.ranked(name, mean, found, ranking)
        elif mean.sizes["run"] > 1:
            cautions.add("There are no ranks: these need scores of all runs on the same topics.")
    cautions.add(
        "These scores were made elsewhere: whether documents that nobody judged counted as not "
        "relevant is not known here."
    )
    made = {
        "Intervals": f"{percent(ci_prob)}, for topics like these",
        "Made by": f"bayeseval {be.__version__}, random seed {seed}",
    }
    labels = mean["measure"].to_numpy().tolist()
    openings = {label: answer(label, answers) for label in labels}
    runs, topics = (counted(found.sizes[dim], dim) for dim in ("run", "topic"))
    return _page(title, [answers], openings, cautions, (f"{runs} on {topics}.", made))


def _page(
    title: str, answers: list[Answers], openings: dict[str, str], cautions: Notes, about: tuple
) -> str:
    """The page: the answer to each measure, a section for each, the cautions and the terms.

    What is combined with a model takes the place of the design alone, which comes first.
    ``openings`` has the answer of every measure; ``about`` says what there was to score, and how.
    """
    first, shown = answers[0].scores, shown_answers(answers)
    named = {one.name for one in answers}
    sections = [measure_section(label, shown[label], named) for label in openings]
    found = cautions.texts or ["Nothing was found that speaks against these scores."]
    sections.append(("Cautions", listed(found)))
    combined = any(one.compared is not None for one in answers)
    sections.append(("Terms", facts(meanings(first, combined=combined, named=named))))
    lead, made = about
    sentences = list(openings.values())
    opening = listed(sentences) if len(sentences) > 1 else paragraph(sentences[0])
    return page(title, opening, lead, [*sections, ("Method", facts(made))])


def _design_answers(
    sampled: xr.DataTree, measures, options: dict[str, Any], seed: int, notes: Notes
) -> Answers:
    """Scores and ranks by an estimator: over these topics where their errors are known."""
    estimator, ci_prob = options["estimator"], options["ci_prob"]
    ranking: dict[str, Any] = {"ci_prob": ci_prob, "random_seed": seed}
    known = estimator in HAS_COVARIANCE
    if known:
        source = mean = means_with_covariance(sampled, measures, anticipated=True, **options)
        ranking["covariance"] = mean["covariance"]
        source = mean = mean.drop_vars("covariance")
    else:
        anytime = options.pop("anytime")
        source = be.evaluate(sampled, measures, **options)
        asked = {"population": "topics", "ci_prob": ci_prob, "anytime": anytime}
        mean = be.mean_over_topics(source, **asked)
    _note_missing_topics(sampled, notes)
    if mean["standard_error"].isnull().any():
        if mean.sizes["run"] > 1:
            few = "one judged document to a topic" if known else "one topic"
            notes.add(f"There are no ranks: from {few} some errors of scores are not known.")
        return Answers(estimator, mean)
    return Answers.ranked(estimator, mean, source, ranking)


def _note_missing_topics(sampled: xr.DataTree, notes: Notes) -> None:
    """Note runs that lack judged topics."""
    judged = sampled["judgments/grade"].notnull().to_numpy()
    topics = np.unique(sampled["pair_topic"].to_numpy()[judged])
    missing = (Rankings.of(sampled).length == 0)[:, topics].sum(axis=1)
    n_runs, worst = int((missing > 0).sum()), int(missing.argmax())
    if n_runs:
        notes.add(
            f"{'1 run lacks' if n_runs == 1 else f'{n_runs} runs lack'} topics and "
            f"{'scores' if n_runs == 1 else 'score'} 0 there; {sampled['run'].to_numpy()[worst]} "
            f"lacks most, {missing[worst]} of {topics.size}."
        )


def _labels(
    sampled: xr.DataTree, measures, relevance_level: int, combining: bool
) -> tuple[list[str], list[str]]:
    """Labels of all measures, and of those that only a model scores where it is combined."""
    grades = grade_scale(sampled)
    parsed = parse_measures(measures, relevance_level=relevance_level, grades=grades)
    by_model = [one.label for one in parsed if combining and one.kind == "list"]
    return [one.label for one in parsed], by_model


def _modelled(
    sampled: xr.DataTree,
    answers: list[Answers],
    by_model: list[str],
    options: dict,
    fitting: dict,
    notes: Notes,
) -> list[Answers]:
    """Design and model combined, and the measures of the model alone; or a note why not.

    ``fitting`` has the runs that the model is fitted to, the draws of a chain and the random seed.
    """
    estimator, mean = options["estimator"], answers[0].scores if answers else None
    if mean is not None and mean["standard_error"].isnull().any():
        notes.add("The sample is too small for errors of dyn, so nothing is combined with a model.")
        mean = None
    summed = [] if mean is None else mean["measure"].to_numpy().tolist()
    if not [*summed, *by_model]:
        return []
    asked = {name: options[name] for name in ("predictor", "relevance_level", "ci_prob")}
    combination = Combination.of(sampled, mean, [*summed, *by_model], **asked, **fitting)
    if combination.contradiction:
        notes.add(
            f"{combination.contradiction.capitalize()}. The intervals of {estimator} do not rest "
            "on the model."
        )
    for label in summed:
        unlike = combination.scores["unlike_model"].sel(measure=label) > UNLIKE
        names = unlike["run"].to_numpy()[unlike.to_numpy()].tolist()
        if names:
            notes.add(f"{label}: the sample contradicts the model on {', '.join(names)}.")
    ranking = {"ci_prob": options["ci_prob"], "random_seed": fitting["random_seed"]}
    known = {f"{estimator} and the model combined": summed, "the model alone": by_model}
    found = []
    for name, labels in known.items():
        if labels:
            scores, compared = combination.scores.sel(measure=labels), combination.intervals
            compared = compared if labels is summed else None
            found.append(Answers.ranked(name, scores, scores, ranking, compared))
    return found


def _note_scores(mean: xr.Dataset, notes: Notes) -> None:
    """Note weight on documents that could not be known, and what becomes of them."""
    estimator = mean.attrs["estimator"]
    where = "documents outside the sampling frame"
    where = "unjudged documents" if estimator in WITHOUT_DESIGN else where
    if (mean["outside_weight"].isnull() & mean["estimate"].notnull()).any():
        notes.add(
            f"How much weight falls on {where} is not known, since the judgments list only the "
            "sampled ones of the frame."
        )
    for label in mean["measure"].to_numpy().tolist():
        weight = mean["outside_weight"].sel(measure=label)
        if float(weight.max()) >= SHOWN:  # not where none is known
            fate, worst = (
                _fate(estimator, label),
                weight["run"].to_numpy()[int(weight.argmax("run"))],
            )
            mean_weight, most = float(weight.mean()), float(weight.max())
            notes.add(
                f"{label}: a weight of {mean_weight:.3f} falls on {where}, mean over runs, up to "
                f"{most:.3f} ({worst}){'; they ' if fate else ''}{fate}."
            )
        if "degrees_of_freedom" not in mean:
            continue
        freedom = mean["degrees_of_freedom"].sel(measure=label)
        if float(freedom.min()) < ROUGH:
            least = freedom["run"].to_numpy()[int(freedom.argmin("run"))]
            notes.add(
                f"{label}: intervals are rough, since standard errors are (that of {least} has "
                f"{float(freedom.min()):.0f} degrees of freedom)."
            )


def _fate(estimator: str, label: str) -> str:
    """What becomes of documents that nobody judged, or could be drawn; empty where they count."""
    if estimator == "condensed":
        return "are left out of the rankings"
    return "" if parse_measures(label)[0].name in KNOWN_ALONE else "count as not relevant"


def _method(
    sampled: xr.DataTree, attrs: dict, combined: bool, options: dict, fitting: dict
) -> dict[str, str]:
    """Design, options and versions; ``attrs`` are those of the scores."""
    estimator, predictor = options["estimator"], options["predictor"]
    over = "these topics" if estimator in HAS_COVARIANCE else "topics like these"
    looks = ", at every look while judging goes on" if attrs.get("anytime") else ""
    named = {"Intervals": f"{percent(options['ci_prob'])}, for {over}{looks}"}
    if "design" in sampled.children:
        design = sampled["design"].attrs
        named["Design"] = f"{design.get('name', 'given')} ({design['scheme']})"
        budget = design_parameters(sampled.children["design"]).get("budget")
        if isinstance(budget, int):
            named["Design"] += f", {budget} judgments per topic"
        elif budget is not None:
            named["Design"] += ", judgments that differ by topic"
    named["Estimator"] = estimator
    if predictor is not None:
        name = predictor if isinstance(predictor, str) else predictor[0]
        named["Estimator"] += f", predictor {name}"
    judges = label_names(sampled)
    if judges and estimator == "dyn":
        name, _, columns = attrs["predictor"].partition(":")  # as NAME:COLUMN+COLUMN
        read = ", ".join(judges if combined else columns.split("+"))
        if combined or (columns and name in ("pooled", "recalibrated")):
            named["Labels"] = f"{read}; their reliability is estimated from the judgments"
        elif name == "external":
            named["Labels"] = f"{read}; taken for the relevance as they are"
        else:
            named["Labels"] = f"{', '.join(judges)}; not used by predictor {name}"
    if combined:
        named["Model"] = (
            "relevance_model (grade_model for measures of grades) by a Laplace approximation, "
            f"{N_CHAINS * fitting['draws']:,} posterior draws"
        )
        fitted = fitted_runs(sampled, fitting["learn_from"])
        if fitted is not None:
            named["Model"] += f", fitted to {counted(len(fitted), 'run')}"
    named["Relevant"] = f"grades of {options['relevance_level']} or more"
    named["Data"] = (
        f"collection {attrs.get('fingerprint', '')}, sample {attrs.get('sample', '')}: the same "
        "for the same runs and judgments"
    )
    named["Made by"] = f"bayeseval {be.__version__}, random seed {fitting['random_seed']}"
    return named
