"""How many documents to judge, of how many topics: errors to be expected, by simulation."""

import warnings
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection, check_one_sample, select
from bayeseval.collection.choices import (
    check_ci_prob,
    check_seed,
    check_several_topics,
    check_whole_numbers,
)
from bayeseval.collection.labels import without_judgment
from bayeseval.collection.origin import run_coords
from bayeseval.collection.schema import label_names
from bayeseval.designs import draw, pps_strata, reveal
from bayeseval.estimators import HAS_COVARIANCE
from bayeseval.estimators.counts import CountsMisfit
from bayeseval.evaluation import differences
from bayeseval.evaluation.problem import Problem, check_option
from bayeseval.evaluation.scores import TopicsUnjudged, topics_said, warn_unranked
from bayeseval.experiments import replicate
from bayeseval.experiments.worlds import posterior_worlds
from bayeseval.frame.frame import Frame
from bayeseval.messages import Message, Option
from bayeseval.progress import track
from bayeseval.rounding import ROUNDING

MANY_JUDGED = 0.5  # share of the retrieved documents that an earlier collection has judged
N_STRATA = 20  # as by default, where the budget has a judgment for each
PAIRED_RUNS, PAIRED_SAMPLES = 20, 6  # whose intervals of differences are made, at most
POWER = 0.8  # of finding the difference that ``detectable`` names

Floats = NDArray[np.floating]


def plan(
    collection: xr.DataTree,
    measures,
    *,
    budgets: Sequence[int],
    n_topics: Sequence[int] | None = None,
    half_width: float | None = None,
    population: str = "sample",
    estimator: str = "dyn",
    predictor=None,
    fitted: xr.DataTree | None = None,
    relevance_level: int = 1,
    ci_prob: float = 0.9,
    n_worlds: int = 6,
    n_samples: int = 4,
    random_seed: int,
) -> xr.Dataset:
    r"""Errors to be expected of new samples, by the number of judgments and of topics.

    Of a **sample** (a pilot, with its design) the unjudged documents get their relevance from
    posterior draws of ``relevance_model``, or for all measures of ``grade_model`` where one of them
    counts grades: each draw is a world whose truth is known. Of a
    collection **without a design**, such as last year's track, the judgments are that truth, and
    the judged documents the frame. In each world :func:`designs.pps_strata` are drawn with every
    budget, and estimated.

    With T topics in the collection and T' planned, errors e of scores and of differences are

    .. math:: e' = \sqrt{(T / T') \left( e^2 + \sigma^2 / T \right)}

    with :math:`\sigma^2` the variance of the true scores (or differences) over topics for
    ``population="topics"``, 0 for "sample". Half-widths h are :math:`h' = h \sqrt{T / T'}` for
    "sample", and :math:`e'` times the quantile of Student's t with T' - 1 degrees of freedom for
    "topics", as :func:`mean_over_topics` makes these intervals.

    Parameters
    ----------
    collection : DataTree
        With runs and judgments. Topics without a judgment are left out, with a warning.
    measures : str, object or list
        As for :func:`evaluate`.
    budgets : sequence of int
        Judgments per topic.
    n_topics : sequence of int, optional
        Numbers of topics, like those of the collection; default: as many as it has.
    half_width : float, optional
        Half-width of the intervals that is wanted, for ``budget_needed``.
    population : {"sample", "topics"}
        Whether errors are about these topics or the topics that they represent.
    estimator : {"dyn", "stat"}
        Of the samples to come.
    predictor : str or tuple, optional
        As for :func:`evaluate`.
    fitted : DataTree, optional
        Fit of ``relevance_model`` or ``grade_model`` to the sample, for its worlds; default: of
        ``relevance_model``, or of ``grade_model`` where a measure counts grades, by
        ``approximation="laplace"`` (seconds).
    relevance_level : int
        Lowest relevant grade.
    ci_prob : float
        Coverage of the intervals.
    n_worlds, n_samples : int
        Worlds, and samples of each; with known truth there is one world with all samples.
    random_seed : int

    Returns
    -------
    Dataset
        Over measure, budget, n_topics and run, in units of the score where not said otherwise:

        ``half_width`` (measure, budget, n_topics, run)
            mean half of the intervals that the samples give; for "topics" NaN of one topic;
        ``error`` (measure, budget, n_topics, run)
            root mean square error of the estimates;
        ``coverage`` (measure, budget)
            share of intervals that hold these topics' truth, over runs and samples;
        ``difference_error`` (measure, budget, n_topics)
            root mean square error of the difference of two runs, median over pairs; NaN for one
            run;
        ``detectable`` (measure, budget, n_topics)
            difference of two runs that the interval of :func:`compare` tells from 0 four times in
            five: the half-width of such intervals, mean over samples and median over pairs (of at
            most 20 runs, and 6 samples or one of each world), and :math:`z_{.8}` times that error.
            For "topics" the half-width is the error times the quantile of Student's t. By the
            half-width, since for "sample" intervals are longer than errors ask for where judgments
            are few, and find less;
        ``judgments`` (budget, n_topics)
            documents to judge in all;
        ``budget_needed`` (measure, n_topics)
            where ``half_width`` is given: judgments per topic at which the median run has it,
            between two budgets by a line of the squared half-width over 1 / judgments (of which a
            budget takes fewer where topics have fewer documents); the least with known widths where
            that is enough, NaN where the largest is not.

    Raises
    ------
    ValueError
        As :func:`evaluate`; a collection without judgments, or with those of a pilot that lists its
        sampled documents alone (prels, probs); a measure of which a fit that is given does not
        tell; a fit without a pilot; an estimator without a random design; one topic for the
        population of topics.

    Notes
    -----
    For "sample" the intervals keep the degrees of freedom that they have with the topics here; with
    more topics they have more, and are shorter than planned where few topics with few judgments
    stand for many (by .7 with 30 judgments of 6 topics for 48, by .9 with 24).

    Planned samples are new ones; keeping the pilot's judgments (``certain=``) needs no more further
    ones than these. Labels that were added shape the planned designs too. There is no plan for
    combined scores: in worlds of the model's own these would look better than they are. How near
    plans come: ``benchmarks/planning/README.md``.

    References
    ----------
    For numbers of topics Webber, Moffat and Zobel, "Statistical power in retrieval experimentation"
    (CIKM 2008), doi:10.1145/1458082.1458158.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.1, 0.2], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> planned = be.plan(collection, "P@10", budgets=[20, 80], random_seed=2)
    >>> planned.judgments.values.ravel()
    array([200., 800.])
    >>> bool(planned.half_width.sel(budget=80).mean() < planned.half_width.sel(budget=20).mean())
    True
    """
    _check_request(collection, estimator, half_width, fitted)
    check_option(population=population)
    check_ci_prob(ci_prob)
    check_seed(random_seed)
    check_whole_numbers(1, n_worlds=n_worlds, n_samples=n_samples)
    budgets = _increasing("budgets", budgets)
    judged = _judged_topics(collection, population)
    n_here = judged.size
    topics = np.array([n_here] if n_topics is None else _increasing("n_topics", n_topics))
    worlds = [collection]
    if "design" in collection.children:
        model = (fitted, relevance_level)
        worlds = posterior_worlds(collection, measures, *model, n_worlds, random_seed)
    if n_here < collection.sizes["topic"]:
        worlds = [select(world, topics=judged.tolist()) for world in worlds]
    samples = n_samples if len(worlds) > 1 else n_worlds * n_samples
    named = estimator if predictor is None else (estimator, predictor)
    how = {"estimators": [named], "n_replicates": samples, "ci_prob": ci_prob}
    how["relevance_level"] = relevance_level
    with topics_said(), warnings.catch_warnings():
        if "design" in collection.children:  # documents of a model tell nothing of the pilot's
            warnings.simplefilter("ignore", CountsMisfit)
        asked = (measures, label_names(collection), random_seed, how)
        mean = _mean_errors(worlds, budgets, *asked)
        if population == "sample" and collection.sizes["run"] > 1:
            mean["apart"] = _difference_widths(worlds, budgets, *asked)
    if "design" not in collection.children:
        _warn_complete(collection, judged, mean["half"].to_numpy(), budgets)
    mean["spread"] *= 1.0 / n_here if population == "topics" else 0.0
    scale = xr.DataArray(n_here / topics, dims="n_topics", coords={"n_topics": topics})
    result = _planned(mean, scale, population, ci_prob)
    result["judgments"] = mean["judgments"] / scale
    if half_width is not None:
        judged = mean["judgments"] / n_here
        result["budget_needed"] = _budget_needed(result["half_width"], judged, half_width)
    attrs = {"estimator": estimator, "population": population, "ci_prob": ci_prob}
    attrs |= {"n_worlds": len(worlds), "n_samples": samples, "seed": int(random_seed)}
    attrs |= {} if half_width is None else {"half_width": float(half_width)}
    return result.assign_coords(run_coords(collection)).assign_attrs(attrs)


def _increasing(name: str, numbers: Sequence[int]) -> list[int]:
    """Different whole numbers from the least."""
    if isinstance(numbers, int | str) or not len(numbers):
        raise ValueError(f"{name} must be a list of whole numbers, such as [50, 100]")
    for number in numbers:
        check_whole_numbers(1, **{"budget" if name == "budgets" else name: number})
    return sorted({int(number) for number in numbers})


def _check_request(
    collection: xr.DataTree, estimator: str, half_width: float | None, fitted: xr.DataTree | None
) -> None:
    """Refuse what could only fail after the work."""
    check_collection(collection)
    if "judgments" not in collection.children or "rankings" not in collection.children:
        raise ValueError("a plan needs runs, and judgments of a pilot or of an earlier collection")
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
    if half_width is not None and not 0 < half_width < np.inf:
        raise ValueError(
            Message(Option("half_width"), f" must be a number above 0, not {half_width}")
        )
    if estimator not in HAS_COVARIANCE:
        raise ValueError(
            f"a plan is for samples to come, by {' or '.join(HAS_COVARIANCE)}, not '{estimator}'"
        )


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
        warnings.warn(text, TopicsUnjudged, stacklevel=3)
    warn_unranked(collection, frame.rankings, judged, stacklevel=4)
    return names[judged]


def _warn_complete(
    collection: xr.DataTree, topics: NDArray[np.str_], half: Floats, budgets: list[int]
) -> None:
    """Say that few judgments, taken as complete, leave nothing open: a sample without its design.

    A plan of it is no plan, where all half-widths are 0.
    """
    pair = Frame.of(collection).rankings.pair
    pair = pair[:, np.isin(collection["topic"].to_numpy(), topics)]
    known = collection["judgments/grade"].notnull().to_numpy()[np.unique(pair[pair >= 0])]
    if known.mean() >= MANY_JUDGED or not (half <= ROUNDING).all():
        return
    warnings.warn(
        Message(
            f"no plan: {known.mean():.0%} of the retrieved documents are judged, and as "
            "judgments without a design count as complete, samples of "
            f"{' or '.join(map(str, budgets))} a topic would leave nothing open (half-widths of "
            "0); if these judgments are a sample, give its design (",
            Option("design", text="be.attach_judgments"),
            ")",
        ),
        stacklevel=3,
    )


def _designs(worlds: list[xr.DataTree], budget: int, labels: list[str]) -> list[xr.Dataset]:
    """The design of a budget in every world."""
    how = {"budget": budget, "n_strata": min(N_STRATA, budget), "labels": labels}
    return [pps_strata(world, **how) for world in worlds]


def _mean_errors(
    worlds: list[xr.DataTree], budgets: list[int], measures, labels: list[str], seed: int, how: dict
) -> xr.Dataset:
    """What samples of every budget say, mean over the worlds, and how many judgments they take."""
    parts = []
    for budget in track(budgets, "planning"):
        designs = _designs(worlds, budget, labels)
        drawn = [
            # the seeds are the same for all budgets, which are compared
            replicate(world, design, measures, random_seed=seed + place, **how)
            for place, (world, design) in enumerate(zip(worlds, designs, strict=True))
        ]
        found = xr.concat([_errors(one.isel(estimator=0, drop=True)) for one in drawn], "world")
        number = float(designs[0]["stratum_sample_size"].sum())
        parts.append(found.mean("world").assign(judgments=number))
    return xr.concat(parts, "budget").assign_coords(budget=budgets)


def _difference_widths(
    worlds: list[xr.DataTree], budgets: list[int], measures, labels: list[str], seed: int, how: dict
) -> xr.DataArray:
    """Half-widths (budget, measure) of intervals of differences, median of the pairs of runs.

    A mean over some of the samples, and of some runs where they are many: intervals of pairs take
    their time.
    """
    n_runs = worlds[0].sizes["run"]
    runs = np.unique(np.linspace(0, n_runs - 1, min(n_runs, PAIRED_RUNS)).astype(int))
    first, second = np.triu_indices(runs.size, k=1)
    number = min(how["n_replicates"], -(-PAIRED_SAMPLES // len(worlds)))
    (named,) = how["estimators"]
    name, predictor = (named, None) if isinstance(named, str) else named
    asked = {"estimator": name, "predictor": predictor, "random_seed": seed}
    asked |= {option: how[option] for option in ("ci_prob", "relevance_level")}
    widths = []
    for budget in track(budgets, "planning differences"):
        halves = []
        for place, design in enumerate(_designs(worlds, budget, labels)):
            drawn = draw(design, n_replicates=number, random_seed=seed + place)
            for one in range(number):
                sampled = reveal(worlds[place], design, drawn.isel(replicate=one))
                found = differences(sampled, measures, pairs=(runs[first], runs[second]), **asked)
                halves.append(0.5 * found["interval"].diff("ci_bound").isel(ci_bound=0, drop=True))
        widths.append(xr.concat(halves, "sample").mean("sample").median("comparison"))
    return xr.concat(widths, "budget").assign_coords(budget=budgets)


def _errors(drawn: xr.Dataset) -> xr.Dataset:
    """What the samples of one world say of every run, and of every two of them."""
    error = drawn["estimate"] - drawn["truth"]
    lower, upper = drawn["lower"] - ROUNDING, drawn["upper"] + ROUNDING
    covered = (lower <= drawn["truth"]) & (drawn["truth"] <= upper)
    score = drawn["truth_by_topic"].dropna("topic", how="all")
    deviation = score - score.mean("topic")
    return xr.Dataset(
        {
            "half": 0.5 * (drawn["upper"] - drawn["lower"]).mean("replicate"),
            "coverage": covered.where(drawn["lower"].notnull()).mean(["replicate", "run"]),
            "square": _products(error, "replicate") / error.sizes["replicate"],
            "spread": _products(deviation, "topic") / max(score.sizes["topic"] - 1, 1),
        }
    )


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
        half_width, apart = reach * error, reach * difference
    else:
        half_width = mean["half"] * np.sqrt(scale)
        apart = mean.get("apart", np.nan) * np.sqrt(scale)
    return xr.Dataset(
        {
            "half_width": half_width,
            "error": error,
            "coverage": mean["coverage"],
            "difference_error": difference,
            "detectable": apart + float(ndtri(POWER)) * difference,
        }
    )


def _budget_needed(half_width: xr.DataArray, judged: xr.DataArray, wanted: float) -> xr.DataArray:
    """Judgments per topic at which the median run's half-width is what is wanted, NaN beyond all.

    ``judged`` (budget) are those that a budget takes: fewer where topics have fewer documents.
    """
    budgets = judged.to_numpy()

    def needed(widths: Floats) -> float:
        known = np.isfinite(widths)  # from few judgments no error can be told
        if not known.any():
            return np.nan
        tried, falling = budgets[known], np.minimum.accumulate(widths[known])
        if falling[-1] > wanted:
            return np.nan
        if falling[0] <= wanted:
            return float(tried[0])
        return float(1.0 / np.interp(wanted**2, falling[::-1] ** 2, 1.0 / tried[::-1]))

    return xr.apply_ufunc(
        needed, half_width.median("run"), input_core_dims=[["budget"]], vectorize=True
    )
