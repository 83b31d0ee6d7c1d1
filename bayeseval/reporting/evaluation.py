"""A page on an evaluation: scores with intervals, ranks, pictures, and what to be careful of."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.collection.choices import check_ci_prob, check_seed, check_whole_numbers
from bayeseval.collection.predictions import label_names
from bayeseval.collection.schema import design_parameters
from bayeseval.combination import N_CHAINS
from bayeseval.estimators import HAS_COVARIANCE, WITHOUT_DESIGN
from bayeseval.estimators.denominators import POOR_SHARE
from bayeseval.frame.frame import BY_CHANCE
from bayeseval.measures.names import parse_measures
from bayeseval.messages import SHOWN, counted, percent
from bayeseval.posterior.modelled import learned_runs
from bayeseval.report.answers import (
    Answers,
    Notes,
    chosen_estimator,
    combined_answers,
    design_answers,
)
from bayeseval.report.page import facts, figure, listed, page, paragraph, table
from bayeseval.report.words import freedom, limited, meanings
from bayeseval.tidy import BOUNDS, with_bounds

MOST_RUNS = 40  # in a matrix of pairs
KNOWN_ALONE = ("Bpref", "infAP", "Judged", "NumRet")  # take no document for not relevant
PICTURED = 30  # in one picture of intervals, which then fits a printed page
END_ERROR = 0.65  # of ends of intervals by one draw, in units of half their length


def evaluation_page(
    sampled: xr.DataTree,
    measures,
    *,
    estimator: str | None = None,
    predictor=None,
    model: bool = True,
    learn_from: str | Sequence[str] = "design",
    relevance_level: int = 1,
    ci_prob: float = 0.9,
    draws: int = 1000,
    title: str | None = None,
    notes: Sequence[str] = (),
    random_seed: int,
) -> str:
    """A page of HTML on the runs of a collection, which needs no other file.

    For each measure the runs from the best, with intervals, possible ranks and groups, and
    pictures of them; then what to be careful of, what the words mean, and how it was made. By a
    random sample and ``dyn``, scores are combined with ``relevance_model``, those of measures that
    count grades with ``grade_model`` (:func:`combined_scores`).

    Parameters
    ----------
    sampled : DataTree
        Collection without replicates.
    measures : str, object or list
        As for :func:`evaluate`.
    estimator, predictor
        As for :func:`evaluate`. Default: "dyn" of a random sample ("stat" of prels and probs, which
        list the sampled documents alone; "importance" of draws with replacement), "assumed" of
        other judgments.
    model : bool
        Whether to combine with a model where that can be.
    learn_from : {"design", "all"} or list of str
        Runs that the model learns from, as for :func:`combined_scores`.
    relevance_level : int
        Lowest relevant grade.
    ci_prob : float
        Coverage of the intervals.
    draws : int
        Posterior draws of each of four chains, as for :func:`fit`. With other draws the ends of
        combined intervals move by .021 to .023 of half their length at 200 (root mean square over
        runs; .08 at most) and by .009 to .014 at 1000 (.06 at most): P@10 and AP of 3 and of 126
        runs of TREC-COVID round 5, 60 and 100 judgments on each of 50 topics. There 1000 take 25
        seconds of one processor with 126 runs read to rank 100, and 200 take 10.
    title : str, optional
    notes : sequence of str
        Sentences for the list of what to be careful of, before those found here. Warnings are told
        there too, not given.
    random_seed : int

    Returns
    -------
    str
        The same for the same input and versions.

    Raises
    ------
    ValueError
        As :func:`evaluate`, :func:`covariance` and :func:`rankings.rank_sets`.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.1, 0.2], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> text = be.report.evaluation_page(collection, "P@10", random_seed=1)
    >>> text.startswith("<!doctype html>"), "Possible ranks" in text
    (True, True)
    """
    check_ci_prob(ci_prob)
    check_seed(random_seed)
    check_whole_numbers(1, draws=draws)
    learned_runs(sampled, learn_from)
    chosen = chosen_estimator(sampled, estimator)
    options = {"estimator": chosen, "predictor": predictor, "ci_prob": ci_prob}
    options["relevance_level"] = relevance_level
    said = Notes()
    for text in notes:
        said.add(text)
    how = {"learn_from": learn_from, "draws": draws, "random_seed": random_seed}
    with said.of_warnings():
        answers = design_answers(sampled, measures, options, random_seed, said)
        both = _combined(sampled, answers, options, how, said) if model else None
    _note_scores(answers.scores, said)
    sections, named = [], set()
    for label in answers.scores["measure"].to_numpy().tolist():
        shown = both if both is not None and label in both.scores["measure"] else answers
        sections.append(_measure_section(label, shown, answers.scores, named))
    if float(answers.scores["outside_weight"].max()) > 0:
        named.add("weight")
    told = said.texts or ["Nothing was found that speaks against these scores."]
    sections.append(("What to be careful of", listed(told)))
    sections.append(("What the words mean", facts(meanings(answers, both, named))))
    sections.append(_how(sampled, answers, both, options, how))
    runs, topics = (counted(sampled.sizes[dim], dim) for dim in ("run", "topic"))
    lead = f"{runs} on {topics}, {_judged(sampled)}."
    return page(title or "Evaluation of search runs", lead, sections)


def _combined(sampled, answers: Answers, options: dict, how: dict, said: Notes) -> Answers | None:
    """Design and model combined, or a note why not."""
    design = sampled.children.get("design")
    if options["estimator"] != "dyn" or design is None or design.attrs["scheme"] not in BY_CHANCE:
        return None
    if answers.scores["standard_error"].isnull().any():
        said.add("The sample is too small for errors of dyn, so nothing is combined with a model.")
        return None
    return combined_answers(sampled, answers.scores, options, how, said)


def _note_scores(mean: xr.Dataset, said: Notes) -> None:
    """Note weight that could not be known, and ratios that rest on other topics."""
    estimator = mean.attrs["estimator"]
    judged = estimator in WITHOUT_DESIGN
    where = "unjudged documents" if judged else "documents outside the sampling frame"
    if (mean["outside_weight"].isnull() & mean["estimate"].notnull()).any():
        said.add(
            f"How much weight falls on {where} is not known, since the judgments list only the "
            "sampled ones of the frame."
        )
    for label in mean["measure"].to_numpy().tolist():
        lost = mean["outside_weight"].sel(measure=label)
        if float(lost.max()) >= SHOWN:
            worst = lost["run"].to_numpy()[int(lost.argmax("run"))]
            said.add(
                f"{label}: a weight of {float(lost.mean()):.3f} falls on {where}, mean over runs, "
                f"up to {float(lost.max()):.3f} (run {worst}){_fate(label, estimator)}."
            )
        if "poorly_known_topics" in mean:
            share = float(mean["poorly_known_topics"].sel(measure=label))
            if share > POOR_SHARE:
                said.add(
                    f"{label}: on {share:.0%} of the topics the number of relevant documents is "
                    "hardly known from the topic itself; intervals are rough."
                )


def _fate(label: str, estimator: str) -> str:
    """What becomes of documents that could not be known."""
    if estimator == "condensed":
        return "; rankings are taken without them"
    (measure,) = parse_measures(label)
    return "" if measure.name in KNOWN_ALONE else "; they count as not relevant"


def _measure_section(
    label: str, answers: Answers, design: xr.Dataset, named: set[str]
) -> tuple[str, str]:
    """Table and pictures of one measure; the words that it has are added to those named."""
    place = {"measure": label}
    one = with_bounds(answers.scores).sel(place)
    sets = None if answers.sets is None else answers.sets.sel(place)
    flagged = None if answers.compared is None else answers.compared["flagged"].sel(place)
    order = np.argsort(-one["estimate"].fillna(-np.inf).to_numpy(), kind="stable")
    best = one.isel(run=order)
    group = np.ones(order.size) if sets is None else sets["tie_group"].sel(run=best["run"])
    apart = (1 + np.flatnonzero(np.diff(group))).tolist()
    rows = [_row(best.isel(run=number), sets, flagged) for number in range(order.size)]
    level = percent(answers.scores.attrs["ci_prob"])
    ranks = [] if sets is None else ["possible ranks", "group"]
    header = ["run", label, f"{level} interval", *ranks, "remark"]
    remarks = {remark for row in rows for remark in row[-1].split(", ") if remark}
    named |= remarks
    if not remarks:
        header, rows = header[:-1], [row[:-1] for row in rows]
    parts = [paragraph(_told_apart(sets, answers.name))]
    parts.append(table(f"{label}, the best run first", header, rows, apart))
    parts += _of_errors(design.sel(place), named)
    parts += _pictures(label, answers, best["run"].to_numpy())
    if answers.chances is not None and 2 < order.size <= MOST_RUNS:
        named.add("picture of pairs")
        axes = be.plots.plot_better(answers.chances, label)
        caption = f"{label}: probability that the run of the row is better than that of the column"
        parts.append(figure(axes, caption))
    return label, "".join(parts)


def _of_errors(design: xr.Dataset, named: set[str]) -> list[str]:
    """Degrees of freedom, and ratios that were limited, where there are any."""
    estimator, texts = design.attrs["estimator"], []
    if freedom(design):
        texts.append(f"Degrees of freedom of the errors by {estimator}: {freedom(design)}.")
    if limited(design):
        named.add("limited")
        texts.append(f"Topics whose ratio was limited, in the run with most: {limited(design)}.")
    return [paragraph(" ".join(texts), "small")] if texts else []


def _pictures(label: str, answers: Answers, runs: np.ndarray) -> list[str]:
    """Intervals of the runs in this order, some in each picture."""
    level, drawn, first = percent(answers.scores.attrs["ci_prob"]), [], 1
    for some in np.array_split(runs, -(-runs.size // PICTURED)):
        which = "" if some.size == runs.size else f", runs {first} to {first + some.size - 1}"
        first += some.size
        if answers.compared is None:
            named = {answers.name: answers.scores}
            axes = be.plots.plot_intervals(named, label, runs=some.tolist())
            caption = f"{label} by {answers.name}, {level} intervals{which}"
        else:
            axes = be.plots.plot_combined(answers.compared, label, runs=some.tolist())
            caption = (
                f"{label}: {level} intervals by the sample alone (pale), the model alone (orange) "
                f"and both combined (blue){which}"
            )
        drawn.append(figure(axes, caption))
    return drawn


def _row(one: xr.Dataset, sets: xr.Dataset | None, flagged: xr.DataArray | None) -> list[str]:
    """Cells of one run."""
    run = one["run"].item()
    estimate, lower, upper = (float(one[name]) for name in ("estimate", "lower", "upper"))
    cells = [str(run), f"{estimate:z.3f}"]
    cells.append("" if np.isnan(lower) else f"{lower:z.3f} to {upper:z.3f}")
    if sets is not None:
        of_run = sets.sel(run=run)
        first, last = (int(of_run["interval"].sel(ci_bound=bound)) for bound in BOUNDS)
        cells.append(f"{first}" if first == last else f"{first} to {last}")
        cells.append(str(int(of_run["tie_group"])))
    known = one["group"] == "contributed" if "group" in one.coords else one.get("contributed", True)
    remarks = [] if bool(known) else ["new"]
    if flagged is not None and bool(flagged.sel(run=run)):
        remarks.append("unlike the model")
    return [*cells, ", ".join(remarks)]


def _told_apart(sets: xr.Dataset | None, name: str) -> str:
    """Whose scores these are, and how many pairs of runs are told apart."""
    if sets is None:
        return f"By {name}."
    told = int(sets["separated"].sum())
    pairs = sets.sizes["run"] * (sets.sizes["run"] - 1) // 2
    verb = "is" if told == 1 else "are"
    return f"By {name}. Of {pairs} pairs of runs {told} {verb} told apart, all at once."


def _judged(sampled: xr.DataTree) -> str:
    """How many judgments there are."""
    grade = sampled["judgments/grade"]
    number = int(grade.notnull().sum())
    return f"{number:,} judgments, {number / sampled.sizes['topic']:.0f} per topic"


def _how(
    sampled, answers: Answers, both: Answers | None, options: dict, how: dict
) -> tuple[str, str]:
    """Design, options and versions."""
    attrs = answers.scores.attrs
    over = "these topics" if options["estimator"] in HAS_COVARIANCE else "topics like these"
    named = {"Intervals": f"{percent(options['ci_prob'])}, for {over}"}
    if "design" in sampled.children:
        design = sampled["design"].attrs
        named["Design"] = f"{design.get('name', 'given')} ({design['scheme']})"
        budget = design_parameters(sampled["design"]).get("budget")
        if isinstance(budget, int):
            named["Design"] += f", {budget} judgments per topic"
        elif budget is not None:
            named["Design"] += ", judgments that differ by topic"
    named["Estimator"] = options["estimator"]
    predictor = options["predictor"]
    if predictor is not None:
        name = predictor if isinstance(predictor, str) else predictor[0]
        named["Estimator"] += f", predictor {name}"
    judges = label_names(sampled)
    if judges and options["estimator"] == "dyn":
        named["Labels"] = _told_labels(judges, attrs["predictor"], both is not None)
    if both is not None:
        number = N_CHAINS * how["draws"]
        named["Model"] = (
            "relevance_model (grade_model for measures of grades) by a Laplace approximation, "
            f"{number:,} posterior draws; other draws would move the ends of intervals by some "
            f"{END_ERROR / number**0.5:.1%} of half their length"
        )
        learned = learned_runs(sampled, how["learn_from"])
        if learned is not None:
            named["Model"] += f"; it learns from {counted(len(learned), 'run')}"
    named["Relevant"] = f"grades of {options['relevance_level']} or more"
    named["Data"] = (
        f"collection {attrs.get('fingerprint', '')}, sample {attrs.get('sample', '')}: the same "
        "for the same runs and judgments"
    )
    named["Made by"] = f"bayeseval {be.__version__}, random seed {how['random_seed']}"
    return "How this was made", facts(named)


def _told_labels(judges: Sequence[str], predictor: str, modelled: bool) -> str:
    """Which labels were used, and how far they were believed; predictors are NAME:COLUMN+COLUMN."""
    name, _, columns = predictor.partition(":")
    read = ", ".join(judges if modelled else columns.split("+"))
    if modelled or (columns and name in ("pooled", "recalibrated")):
        return f"{read}; the judgments tell how far they can be relied on"
    if name == "external":
        return f"{read}; taken for the relevance as they are"
    return f"{', '.join(judges)}; not used by predictor {name}"


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
        odd = table["flagged"].sel(measure=label)
        names = table["run"].to_numpy()[odd.to_numpy()].tolist()
        if names:
            notes.add(f"{label}: the sample contradicts the model on {', '.join(names)}.")
    return Answers(f"{options['estimator']} and the model combined", both, sets, chances, table)
