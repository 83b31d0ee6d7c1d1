"""How many documents to judge, of how many topics: expected errors, by simulation."""

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.answers.enough import check_half_width
from bayeseval.answers.scoring import (
    COMBINED,
    alone,
    refuse_options_of_collections,
    scores,
    summed_and_listed,
)
from bayeseval.collection import check_collection, check_one_sample, select
from bayeseval.collection.choices import (
    check_ci_prob,
    check_several_topics,
    check_whole_numbers,
)
from bayeseval.collection.labels import without_judgment
from bayeseval.collection.origin import run_coords
from bayeseval.collection.schema import label_names
from bayeseval.designs import draw, order, reveal
from bayeseval.designs.judging_list import information
from bayeseval.estimators import HAS_COVARIANCE
from bayeseval.estimators.counts import CountsMisfit
from bayeseval.evaluation import differences, evaluate, scores_by_topic
from bayeseval.evaluation.looks import ONE_LOOK
from bayeseval.evaluation.means import warn_no_spread
from bayeseval.evaluation.problem import Problem, check_option, reading_labels
from bayeseval.evaluation.scores import TopicsUnjudged, topics_said, warn_unranked
from bayeseval.experiments.replicate import CHUNK, scored_samples
from bayeseval.experiments.worlds import posterior_worlds
from bayeseval.frame.frame import Frame
from bayeseval.measures.names import parse_measures
from bayeseval.messages import Message, Option, warn
from bayeseval.posterior.modelled import check_modelled
from bayeseval.processors import check_executor, in_chunks
from bayeseval.rankings.comparisons import compare_draws
from bayeseval.rounding import ROUNDING
from bayeseval.tidy import BOUNDS, with_bounds
from bayeseval.uncertainty import anytime_ratio, normal_quantile

Floats = NDArray[np.floating]
LEAST_SAMPLES = 6  # of all worlds, where a sample takes long
SAMPLES_OF_WORLD = 4
DRAWS_OF_PLAN = 200  # of each of a model's chains


def plan(
    collection_or_scores: xr.DataTree | xr.Dataset,
    measures=None,
    *,
    budget: int | Sequence[int] | None = None,
    n_topics: int | Sequence[int] | None = None,
    half_width: float | None = None,
    population: Literal["sample", "topics"] = "sample",
    estimator: Literal["dyn", "stat"] | None = None,
    labels: str | Sequence[str] | None = None,
    ci_prob: float = 0.9,
    anytime: bool = False,
    relevance_level: int = 1,
    predictor=None,
    fitted: xr.DataTree | None = None,
    n_simulations: int = 24,
    random_seed: int = 0,
    executor=None,
    keep=None,
) -> xr.Dataset:
    r"""Expected errors of new samples, by the number of judgments and of topics.

    Of a **sample** (a pilot, with its design) posterior draws of a model of documents are worlds
    whose truth is known. Of a collection **without a design**, such as last year's track, the
    judgments are that truth. In each world a :func:`designs.order` is judged to every budget, again
    and again, and estimated. With T topics in the collection and T' planned, errors become

    .. math:: e' = \sqrt{(T / T') \left( e^2 + \sigma^2 / T \right)}

    with :math:`\sigma^2` the variance of the true scores over topics for ``population="topics"``, 0
    for "sample"; half-widths follow as :func:`mean_over_topics` makes these intervals.

    Parameters
    ----------
    collection_or_scores : DataTree or Dataset
        With runs and judgments. Or scores per topic (:func:`read_scores`), for a plan of the number
        of topics alone, with ``n_topics``, ``half_width`` and ``ci_prob``.
    measures, labels, ci_prob, anytime, relevance_level
        As for :func:`scores`.
    budget, n_topics : int or sequence of int
        Judgments per topic, which a collection needs, and numbers of topics; default: as many as
        there are.
    half_width : float, optional
        Target half-width of the intervals, for ``budget_needed`` or ``topics_needed``.
    population : {"sample", "topics"}
    estimator : {"dyn", "stat"}, optional
        Of the samples to come; default "dyn". A model would look better than it is in the worlds
        that it made; measures that only a model scores, such as RR, are planned with it all the
        same, from six samples of each budget.
    predictor, fitted
        Of :func:`evaluate`; a fit of the model to the sample.
    n_simulations, random_seed : int
        Samples of each budget, four of each world.
    executor, keep
        As for :func:`experiments.replicate`.

    Returns
    -------
    Dataset
        ``half_width`` and ``error`` (measure, budget, n_topics, run): mean half-width, and root
        mean square error; ``coverage`` at one look (measure, budget); ``difference_error``
        (measure, budget, n_topics) of two runs, and ``detectable``, the difference whose interval
        excludes 0 four times in five, medians over pairs; ``judgments`` (budget, n_topics) in all;
        ``budget_needed`` (measure, n_topics) per topic for the median run, NaN where the largest
        budget is not enough, or for scores per topic ``topics_needed`` (measure); with ``anytime``
        ``length_ratio`` (budget) to the intervals of a single look.

    Raises
    ------
    ValueError
        A pilot that lists its sampled documents alone (prels, probs); a fit without a pilot.

    References
    ----------
    Webber, Moffat and Zobel (2008), doi:10.1145/1458082.1458158.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.1, 0.2], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> be.plan(collection, "P@10", budget=[20, 80]).judgments.values.ravel()
    array([200., 800.])
    """
    check_half_width(half_width)
    if isinstance(collection_or_scores, xr.Dataset):
        asked = {"budget": budget, "predictor": predictor, "fitted": fitted, "labels": labels}
        refuse_options_of_collections(measures, **asked, anytime=anytime or None)
        return _of_scores(collection_or_scores, n_topics, half_width, ci_prob)
    collection = collection_or_scores
    named = _check_request(collection, estimator or "dyn", fitted)
    check_option(population=population)
    parsed = parse_measures(measures, relevance_level=relevance_level)
    summed, listed = summed_and_listed(parsed)
    check_modelled(parsed)
    if anytime and (population == "topics" or listed):
        raise ValueError(ONE_LOOK)
    if listed:
        warn(alone(listed))
    check_ci_prob(ci_prob)
    check_whole_numbers(0, random_seed=random_seed)
    check_whole_numbers(1, n_simulations=n_simulations)
    check_executor(executor)
    budgets = _increasing("budget", budget)
    judged = _judged_topics(collection, population)
    topics = [judged.size] if n_topics is None else _increasing("n_topics", n_topics)
    options = {"estimator": named, "predictor": reading_labels(predictor, labels)}
    options |= {"ci_prob": ci_prob, "relevance_level": relevance_level, "anytime": anytime}
    request = Request.of(collection, measures, judged, fitted, n_simulations, random_seed, options)
    with topics_said(), warnings.catch_warnings():
        if "design" in collection.children:  # a world of a model is unlike the pilot's
            warnings.simplefilter("ignore", CountsMisfit)
        pairs = population == "sample" and collection.sizes["run"] > 1
        mean = _mean_errors(request, budgets, summed, listed, pairs, (executor, keep))
    if "design" not in collection.children:
        _warn_complete(collection, judged, mean["half"].to_numpy(), budgets)
    mean = mean.sel(measure=[measure.label for measure in parsed])
    result = _of_topics(mean, judged.size, np.array(topics), population, ci_prob, half_width)
    if anytime:
        result["length_ratio"] = mean["length_ratio"]
    attrs = {"estimator": named, "population": population, "ci_prob": ci_prob}
    attrs |= {"n_samples": request.n_samples, "n_worlds": len(request.worlds)}
    attrs |= {"seed": request.seed} | ({"anytime": 1} if anytime else {})
    return result.assign_coords(run_coords(collection)).assign_attrs(attrs)


def _of_topics(
    mean: xr.Dataset, n_here: int, topics: NDArray, population: str, ci_prob: float, half_width
) -> xr.Dataset:
    """Plan for numbers of topics, of mean errors on those here."""
    mean["spread"] *= 1.0 / n_here if population == "topics" else 0.0
    scale = xr.DataArray(n_here / topics, dims="n_topics", coords={"n_topics": topics})
    result = _planned(mean, scale, population, ci_prob)
    result["judgments"] = mean["judgments"] / scale
    if half_width is not None:
        needed = _budget_needed(result["half_width"], mean["judgments"] / n_here, half_width)
        result = result.assign(budget_needed=needed).assign_attrs(half_width=float(half_width))
    return result


def _of_scores(
    scores: xr.Dataset,
    n_topics: int | Sequence[int] | None,
    half_width: float | None,
    ci_prob: float,
) -> xr.Dataset:
    """Plan of the number of topics from scores per topic, by those that all runs have."""
    check_ci_prob(ci_prob)
    by_topic = scores_by_topic(scores)
    if by_topic is None:
        raise ValueError("a plan is made from a collection, or from scores per topic")
    score = by_topic["estimate"].where(by_topic["estimate"].notnull().all("run"))
    number = score.notnull().any("run").sum("topic")
    check_several_topics(int(number.min()))
    warn_no_spread(score.mean("topic"), score.std("topic", ddof=1), number)
    spread = _products((score - score.mean("topic")).fillna(0.0), "topic") / (number - 1)
    topics = [int(number.max())] if n_topics is None else _increasing("n_topics", n_topics)
    scale = xr.DataArray(1.0 / np.array(topics), {"n_topics": topics}, ["n_topics"])
    known = xr.Dataset({"spread": spread, "square": 0.0 * spread, "coverage": np.nan})
    result = _planned(known, scale, "topics", ci_prob).drop_vars("coverage")
    attrs = {"estimator": scores.attrs.get("estimator", ""), "population": "topics"}
    attrs["ci_prob"] = ci_prob
    if half_width is not None:
        deviation = (result["error"] / scale**0.5).isel(n_topics=0, drop=True).median("run")
        needed = [_topics_needed(one, half_width, ci_prob) for one in deviation.to_numpy()]
        result = result.assign(topics_needed=("measure", needed))
        attrs["half_width"] = float(half_width)
    return result.assign_attrs(attrs)


def _topics_needed(deviation: float, half_width: float, ci_prob: float) -> int:
    """Topics at which Student's interval is short enough, by the standard deviation over topics."""
    from scipy.special import stdtrit

    number = max(2, math.ceil((normal_quantile(ci_prob) * deviation / half_width) ** 2))
    while stdtrit(number - 1, 0.5 + 0.5 * ci_prob) * deviation > half_width * math.sqrt(number):
        number += 1
    return number


def _increasing(name: str, numbers: int | Sequence[int] | None) -> list[int]:
    """Different whole numbers from the least."""
    numbers = [numbers] if isinstance(numbers, int) else numbers
    if numbers is None or isinstance(numbers, str) or not len(numbers):
        given = "a whole number, or a list such as [50, 100]"
        raise ValueError(Message(Option(name), f" must be {given}"))
    for number in numbers:
        check_whole_numbers(1, 1_000_000_000, **{name: number})
    return sorted({int(number) for number in numbers})


def _check_request(collection: xr.DataTree, estimator: str, fitted: xr.DataTree | None) -> str:
    """The estimator, after refusing at once a request that would fail later."""
    check_collection(collection, "rankings", "judgments")
    check_one_sample(collection, "a plan is made from one sample")
    if Frame.of(collection).lists_sampled_alone:
        raise ValueError(
            "a plan from a pilot needs the documents that could have been judged, and these "
            "judgments (prels or probs) list only the sampled ones; take the design that they were "
            "drawn by, or sampleval"
        )
    if fitted is not None and "design" not in collection.children:
        raise ValueError(
            "a fit serves plans from a pilot; these judgments have no design, and count as complete"
        )
    if estimator not in HAS_COVARIANCE:
        raise ValueError(
            f"a plan is for samples to come, by {' or '.join(HAS_COVARIANCE)}, not '{estimator}'"
        )
    return estimator


def _judged_topics(collection: xr.DataTree, population: str) -> NDArray[np.str_]:
    """Topics that :func:`evaluate` would score; a warning names the others."""
    names = collection["topic"].to_numpy()
    designed = "design" in collection.children
    frame = Frame.of(collection)
    judged = Problem(frame, [], random=designed).judged_topic
    if not judged.any():
        raise ValueError("no topic of the collection has a judgment")
    if population == "topics":
        check_several_topics(int(judged.sum()))
    if not judged.all():
        text = without_judgment(names[~judged], int(judged.sum()))
        warn(text, TopicsUnjudged)
    warn_unranked(collection, frame.rankings, judged)
    return names[judged]


def _warn_complete(
    collection: xr.DataTree, topics: NDArray[np.str_], half: Floats, budgets: list[int]
) -> None:
    """Warn where few judgments count as complete and all half-widths are 0: no plan.

    They are likely a sample without its design.
    """
    pair = Frame.of(collection).rankings.pair
    pair = pair[:, np.isin(collection["topic"].to_numpy(), topics)]
    known = collection["judgments/grade"].notnull().to_numpy()[np.unique(pair[pair >= 0])]
    if known.mean() >= 0.5 or not (half <= ROUNDING).all():
        return
    warn(
        Message(
            f"no plan: {known.mean():.0%} of the retrieved documents are judged, and as "
            "judgments without a design count as complete, samples of "
            f"{' or '.join(map(str, budgets))} a topic would leave nothing open (half-widths of "
            "0); if these judgments are a sample, give its design (",
            Option("design", text="be.attach_judgments"),
            ")",
        ),
    )


class Request(NamedTuple):
    """What the samples of all budgets have in common."""

    worlds: list[xr.DataTree]
    labels: list[str]
    n_samples: int  # of each world
    seed: int
    options: dict

    @classmethod
    def of(
        cls, collection, measures, judged, fitted, n_simulations: int, seed: int, options: dict
    ) -> "Request":
        """Worlds like a pilot, or the collection, of the judged topics."""
        worlds = [collection]
        if "design" in collection.children:
            number = -(-n_simulations // SAMPLES_OF_WORLD)
            model = fitted, options["relevance_level"]
            worlds = posterior_worlds(collection, measures, *model, number, seed)
        if judged.size < collection.sizes["topic"]:
            worlds = [select(world, topics=judged.tolist()) for world in worlds]
        n_samples = -(-n_simulations // len(worlds))
        return cls(worlds, label_names(collection), n_samples, int(seed), options)

    def drawn(
        self, budget: int, place: int, number: int
    ) -> tuple[xr.DataTree, xr.Dataset, xr.DataArray]:
        """A world, its order judged to a budget, and samples, which shuffle that anew.

        The seeds are the same for all budgets, which are compared.
        """
        world = self.worlds[place]
        design = order(world, budget=budget, labels=self.labels, random_seed=0)
        drawn = draw(design, n_replicates=number, random_seed=self.seed + place)
        return world, design, drawn

    def one(self, task: tuple[int, int, int], number: int) -> tuple[xr.DataTree, xr.Dataset]:
        """One of so many samples of a budget and a world, and the order that it is of."""
        budget, place, one = task
        world, design, drawn = self.drawn(budget, place, number)
        return reveal(world, design, drawn.isel(replicate=one)), design

    def few(self) -> int:
        """Samples of each world where a sample takes long."""
        return -(-LEAST_SAMPLES // len(self.worlds))


def _mean_errors(
    request: Request,
    budgets: list[int],
    summed: list[str],
    listed: list[str],
    several: bool,
    by: tuple,
) -> xr.Dataset:
    """Errors of the samples of every budget, mean over the worlds, and their judgments.

    Of measures that sums of sampled documents estimate, and of others, which only a model scores;
    with half-widths of differences where there are ``several`` runs to compare.
    """

    def found(function, measures: list[str], samples: range, said: str) -> list[xr.Dataset]:
        tasks = list(itertools.product(budgets, range(len(request.worlds)), samples))
        return list(in_chunks(function, (request, measures), tasks, said, *by))

    parts = []
    if summed:
        sums = found(_sums, summed, range(0, request.n_samples, CHUNK), "planning")
        parts.append(_averaged(request, budgets, summed, sums))
        if several:
            few = range(min(request.n_samples, request.few()))
            widths = found(_difference_widths, summed, few, "planning differences")
            of_budget = itertools.batched(widths, len(widths) // len(budgets))
            halves = [xr.concat(each, "sample").mean("sample") for each in of_budget]
            half = xr.concat(halves, "budget")["difference_half"].median("comparison")
            parts[0] = parts[0].assign(difference_half=half)
    if listed:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of single samples
            modelled = found(_by_model, listed, range(request.few()), "planning with a model")
        parts.append(_averaged(request, budgets, listed, modelled))
    known: dict = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}
    return xr.concat(parts, "measure", join="exact", **known)


def _sums(request: Request, measures: list[str], task: tuple[int, int, int]) -> xr.Dataset:
    """Means with intervals (measure, run, replicate) of a chunk of samples, from the first on."""
    budget, place, first = task
    world, design, drawn = request.drawn(budget, place, request.n_samples)
    options = request.options
    named = options["estimator"]
    named = named if options["predictor"] is None else (named, options["predictor"])
    how = (options["relevance_level"], options["ci_prob"], request.seed + place, "error")
    scored = scored_samples(world, design, measures, [named], *how, drawn[first : first + CHUNK])
    longer = 1.0
    if options["anytime"]:
        quantile = normal_quantile(options["ci_prob"])
        longer = float(anytime_ratio(quantile, information(design)))
    return _judged(scored.isel(estimator=0, drop=True), design, longer)


def _judged(scored: xr.Dataset, design: xr.Dataset, longer: float) -> xr.Dataset:
    """Scores of samples with the judgments of each, and how much longer their intervals are."""
    judgments = float(design["stratum_sample_size"].sum())
    return scored.assign_attrs(judgments=judgments, length_ratio=longer)


def _difference_widths(
    request: Request, measures: list[str], task: tuple[int, int, int]
) -> xr.Dataset:
    """Half-widths (measure, comparison) of intervals of differences in one sample.

    Of at most 20 runs, to save time.
    """
    sampled, _ = request.one(task, min(request.n_samples, request.few()))
    n_runs = sampled.sizes["run"]
    runs = np.unique(np.linspace(0, n_runs - 1, min(n_runs, 20)).astype(int))
    first, second = np.triu_indices(runs.size, k=1)
    options = {**request.options, "random_seed": request.seed}
    pairs = differences(sampled, measures, pairs=(runs[first], runs[second]), **options)
    return _half_width(pairs)


def _half_width(pairs: xr.Dataset) -> xr.Dataset:
    """Half-widths (measure, comparison) of intervals of differences."""
    half = 0.5 * pairs["interval"].diff("ci_bound").isel(ci_bound=0, drop=True)
    half = half.drop_vars([name for name in half.coords if name != "measure"])
    return half.to_dataset(name="difference_half")


def _by_model(request: Request, measures: list[str], task: tuple[int, int, int]) -> xr.Dataset:
    """Means with intervals of one sample, to which a model is fitted."""
    sampled, design = request.one(task, request.few())
    asked = {name: request.options[name] for name in ("ci_prob", "relevance_level")}
    asked |= {"estimator": COMBINED, "draws": DRAWS_OF_PLAN, "random_seed": request.seed}
    found = scores(sampled, measures, **asked)
    means = with_bounds(found)[[*BOUNDS, "estimate"]].drop_attrs(deep=False)
    if means.sizes["run"] > 1:
        means = means.merge(_half_width(compare_draws(found, ci_prob=asked["ci_prob"])))
    return _judged(means, design, 1.0)


def _averaged(
    request: Request, budgets: list[int], measures: list[str], parts: list[xr.Dataset]
) -> xr.Dataset:
    """Errors by budget, mean over the worlds, of samples by budget and world in turn."""
    judged = {"estimator": "assumed", "relevance_level": request.options["relevance_level"]}
    truths = [evaluate(world, measures, **judged)["estimate"] for world in request.worlds]
    cells = itertools.batched(parts, len(parts) // (len(budgets) * len(truths)))
    by_budget = []
    for _ in budgets:
        drawn = [xr.concat(next(cells), "replicate") for _ in truths]
        errors = [_errors(one, truth) for one, truth in zip(drawn, truths, strict=True)]
        by_budget.append(xr.concat(errors, "world").mean("world").assign(drawn[0].attrs))
    return xr.concat(by_budget, "budget").assign_coords(budget=budgets)


def _errors(drawn: xr.Dataset, truth: xr.DataArray) -> xr.Dataset:
    """Half-widths, coverage and errors of the samples of one world, of intervals made longer."""
    error = drawn["estimate"] - truth.mean("topic")
    longer = drawn.attrs["length_ratio"]
    half = 0.5 * longer * (drawn["upper"] - drawn["lower"])
    # bounds of a posterior are not equally far from its mean
    above = -error <= longer * (drawn["upper"] - drawn["estimate"]) + ROUNDING
    covered = above & (error <= longer * (drawn["estimate"] - drawn["lower"]) + ROUNDING)
    score = truth.dropna("topic", how="all")
    deviation = score - score.mean("topic")
    found = {
        "half": half.mean("replicate"),
        "coverage": covered.where(drawn["lower"].notnull()).mean(["replicate", "run"]),
        "square": _products(error, "replicate") / error.sizes["replicate"],
        "spread": _products(deviation, "topic") / max(score.sizes["topic"] - 1, 1),
    }
    if "difference_half" in drawn:
        found["difference_half"] = drawn["difference_half"].mean("replicate").median("comparison")
    return xr.Dataset(found)


def _products(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Sums of products (run, run_other) over a dim."""
    return xr.dot(values, values.rename(run="run_other"), dim=dim)


def _planned(mean: xr.Dataset, scale: xr.DataArray, population: str, ci_prob: float) -> xr.Dataset:
    """Half-widths and errors for numbers of topics, whose variances fall in proportion."""
    from scipy.special import ndtri, stdtrit

    square = (mean["square"] + mean["spread"]) * scale
    at = xr.DataArray(np.arange(square.sizes["run"]), dims="run")
    own = square.isel(run=at, run_other=at).drop_vars("run_other")
    error = np.sqrt(own)
    of_pairs = own + own.rename(run="run_other") - 2.0 * square
    pairs = np.triu(np.ones((own.sizes["run"],) * 2, dtype=bool), k=1)
    of_pairs = of_pairs.where(xr.DataArray(pairs, dims=("run", "run_other")))
    difference = (of_pairs.clip(min=0.0) ** 0.5).median(["run", "run_other"])
    if population == "topics":
        freedom = scale["n_topics"] - 1
        reach = xr.apply_ufunc(stdtrit, freedom.where(freedom > 0), 0.5 + 0.5 * ci_prob)
        half_width, difference_half = reach * error, reach * difference
    else:
        half_width = mean["half"] * np.sqrt(scale)
        difference_half = mean.get("difference_half", np.nan) * np.sqrt(scale)
    return xr.Dataset(
        {
            "half_width": half_width,
            "error": error,
            "coverage": mean["coverage"],
            "difference_error": difference,
            "detectable": difference_half + float(ndtri(0.8)) * difference,
        }
    )


def _budget_needed(half_width: xr.DataArray, judged: xr.DataArray, target: float) -> xr.DataArray:
    """Judgments per topic at which the median run has the target half-width; NaN beyond all.

    ``judged`` (budget) are the judgments of a budget: fewer where topics have fewer documents.
    """
    budgets = judged.to_numpy()

    def needed(widths: Floats) -> float:
        known = np.isfinite(widths)  # few judgments may give no error
        if not known.any():
            return np.nan
        tried, falling = budgets[known], np.minimum.accumulate(widths[known])
        if falling[-1] > target:
            return np.nan
        if falling[0] <= target:
            return float(tried[0])
        return float(1.0 / np.interp(target**2, falling[::-1] ** 2, 1.0 / tried[::-1]))

    return xr.apply_ufunc(
        needed, half_width.median("run"), input_core_dims=[["budget"]], vectorize=True
    )
