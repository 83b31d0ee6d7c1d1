"""Is one run better than another? Differences, their intervals, probabilities and tests."""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.answers.enough import with_more_judgments
from bayeseval.answers.scoring import (
    COMBINED,
    check_errors,
    default_estimator,
    refuse_options_of_collections,
    scores,
    summed_and_listed,
)
from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_choice, check_seed, check_whole_numbers
from bayeseval.evaluation import (
    compared_pairs,
    differences,
    differences_of_scores,
    scores_by_topic,
)
from bayeseval.evaluation.topic_groups import Groups, members
from bayeseval.measures.names import parse_measures
from bayeseval.messages import counted, warn
from bayeseval.rankings.comparisons import (
    PRIORS,
    compare_draws,
    equivalence_margins,
    equivalence_probability,
    prior_weights,
    probability_better,
    with_equivalence,
)
from bayeseval.rankings.evidence import covariance_of_differences, normal_draws, studentised
from bayeseval.rounding import ROUNDING, ratio
from bayeseval.significance import holm, share_at_least, student_p, tukey_randomised, upper_tail
from bayeseval.uncertainty import at_one_look, normal_quantile

OF_DYN = ("population", "topic_groups", "labels", "predictor", "relevance_level", "random_seed")
DIMS = ("measure", "comparison")
N_DRAWS = 10_000  # of the joint distribution of the errors, for Tukey's adjustment

Floats = NDArray[np.floating]


def compare(
    collection_or_scores: xr.DataTree | xr.Dataset,
    measures=None,
    *,
    estimator: str | None = None,
    labels: str | Sequence[str] | None = None,
    reference: str | None = None,
    pair: tuple[str, str] | None = None,
    population: Literal["sample", "topics"] | None = None,
    topic_groups: Groups | None = None,
    ci_prob: float = 0.9,
    equivalence: float | Mapping[str, float] | None = None,
    anytime: bool = False,
    relevance_level: int = 1,
    prior: Literal["normal", "flat"] | None = None,
    n_permutations: int = 10_000,
    random_seed: int = 0,
    **options,
) -> xr.Dataset:
    r"""Differences between all pairs of runs, or of all runs from one, with their uncertainty.

    For the population of topics the scores are paired by topic: Student's t. For these topics the
    error is the design's of the difference, since both runs share judged documents.

    Parameters
    ----------
    collection_or_scores : DataTree or Dataset
        Collection; scores per topic (:func:`read_scores`, :func:`evaluate`), whose topics are the
        sample; or combined scores or posterior draws, which have no tests.
    measures, estimator, labels, population, topic_groups, anytime, relevance_level
        As for :func:`scores`, with the same defaults; by "combined" there are no tests.
    reference : str, optional
        Compare every run with this one; by default all pairs.
    pair : tuple of str, optional
        Compare the first of these two runs with the second; a model learns from all runs.
    ci_prob : float
        Coverage of each interval by itself.
    equivalence : float or mapping of measure to float, optional
        Largest difference, in the units of the measure, that has no practical meaning.
    prior : {"normal", "flat"}, optional
        Of ``probability_better``; see :func:`rankings.rank_probabilities`.
    n_permutations, random_seed : int
        Of the randomised test; the seed also of the draws and the estimator.
    **options
        Of :func:`evaluate`.

    Returns
    -------
    Dataset (measure, comparison)
        Coords ``run_a`` and ``run_b``; ``estimate`` (a less b), ``standard_error`` with
        ``degrees_of_freedom``, ``interval``; ``probability_better`` (a is truly better; of one
        look); ``standardised`` (difference over its standard deviation over topics); ``p_value``
        (two-sided), ``p_holm`` and ``p_tukey`` (adjusted for the comparisons of the measure). With
        ``equivalence``: ``probability_equivalent``, ``p_equivalence`` (the larger of two one-sided
        p values) and ``equivalent``. By "combined" ``length_ratio`` to the intervals of ``dyn``.
        With ``anytime`` and a ``reference`` or ``pair``: ``more_judgments``, about how many more
        documents of each topic until a is known to be worse than b by more than the
        ``equivalence``, or not to be.

    Raises
    ------
    ValueError
        As :func:`evaluate`; an unknown run or prior; fewer than two runs, or two topics.

    References
    ----------
    Carterette (2012), doi:10.1145/2094072.2094076, for the randomised test; Sakai (2014),
    doi:10.1145/2641383.2641385, for sizes beside p values.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.06, 0.5], n_topics=20, prevalence=0.1, random_seed=1
    ... )
    >>> pairs = be.compare(collection, "P@10", reference="run003")
    >>> (pairs.p_tukey < 0.05).values
    array([[ True,  True]])
    """
    _check_request(reference, prior, n_permutations, random_seed)
    compared = {"reference": reference, "pair": pair}
    of_draws = {**compared, "ci_prob": ci_prob, "equivalence": equivalence}
    over = {"population": population, "topic_groups": topic_groups, "anytime": anytime}
    source = collection_or_scores
    if isinstance(source, xr.Dataset):
        by_topic = scores_by_topic(source)
        refused = {"estimator": estimator, "population": population, "labels": labels}
        refused |= {"anytime": anytime or None}
        refused |= {"topic_groups": topic_groups} if by_topic is None else {}
        refuse_options_of_collections(measures, **refused, **options)
        if by_topic is None:
            return compare_draws(source, prior=prior, **of_draws)
        over["population"] = "topics"
        of_pairs = partial(differences_of_scores, by_topic)
    else:
        check_collection(source, "rankings", "judgments")
        estimator = estimator or default_estimator(source, measures, anytime)
        options |= {"labels": labels, "relevance_level": relevance_level}
        options["random_seed"] = random_seed
        check_errors("differences", population, estimator)
        if estimator == COMBINED:
            return _combined(source, measures, over | options, prior=prior, **of_draws)
        of_pairs = partial(differences, source, measures, estimator=estimator, **options)
    pairs = compared_pairs(source["run"].to_numpy(), **compared)
    all_pairs = _turned(compared_pairs(source["run"].to_numpy()), pairs[1])
    every = of_pairs(pairs=all_pairs, ci_prob=ci_prob, **over)
    tests = {"prior": prior or "normal", "n_permutations": n_permutations}
    result = _with_tests(
        every, pairs, all_pairs, random_seed, **of_draws, anytime=anytime,
        topic_groups=topic_groups, **tests,
    )  # fmt: skip
    if estimator == "assumed":
        _warn_reversible(result)
    if not anytime or not (reference or pair) or isinstance(source, xr.Dataset):
        return result
    limit = 0.0 if equivalence is None else result["equivalence"]
    return with_more_judgments(result, source, abs(result["estimate"] + limit))


def _with_tests(
    every: xr.Dataset,
    pairs,
    all_pairs,
    random_seed: int,
    *,
    reference: str | None,
    pair: tuple[str, str] | None,
    ci_prob: float,
    equivalence,
    anytime: bool,
    topic_groups: Groups | None,
    prior: str,
    n_permutations: int,
) -> xr.Dataset:
    """Differences of the compared ``pairs``, of those ``every`` pair has, with their tests."""
    n_runs = int(max(all_pairs[0].max(), all_pairs[1].max())) + 1
    is_compared = np.isin(all_pairs[0], pairs[0]) & np.isin(all_pairs[1], pairs[1])
    found = every.isel(comparison=is_compared)
    _check_topics(found)
    margins = equivalence_margins(equivalence, found["measure"].to_numpy())
    estimate, error, freedom = _arrays(found)
    _warn_no_spread(found, estimate, error)
    tested = partial(_tested, found, ci_prob, anytime)
    shuffled = topic_groups, n_permutations
    z = studentised(*tested(estimate))
    p_tukey = _tukey(z, found, every, (pairs, all_pairs), n_runs, shuffled, random_seed)
    p_value = student_p(*tested(estimate))
    weights = None
    if prior == "normal":
        of_measures = zip(*_arrays(every), strict=True)
        weights = [prior_weights(*one, n_runs=n_runs) for one in of_measures]
    over_topics = found["difference"].std("topic", ddof=1, skipna=True).transpose(*DIMS).to_numpy()
    result = found.drop_vars("difference").drop_dims("topic", errors="ignore").assign(
        probability_better=(DIMS, probability_better(estimate, error, freedom, weights)),
        standardised=(DIMS, ratio(estimate, over_topics, np.nan)),
        p_value=(DIMS, p_value),
        p_holm=(DIMS, holm(p_value)),
        p_tukey=(DIMS, p_tukey),
    )  # fmt: skip
    about = {"prior": prior, "reference": reference or "", "n_permutations": n_permutations}
    result = result.assign_attrs(about)
    if margins is None:
        return result
    return _equivalent(result, estimate, error, freedom, margins, tested)


def _combined(
    collection: xr.DataTree, measures, options, *, reference, pair, ci_prob, equivalence, prior
) -> xr.Dataset:
    """Differences of scores by design and model combined, which are made with ``options``."""
    compared = compared_pairs(collection["run"].to_numpy(), reference, pair)  # before the fit
    parsed = parse_measures(measures, relevance_level=options["relevance_level"])
    equivalence_margins(equivalence, np.array([measure.label for measure in parsed]))
    both = scores(collection, measures, estimator=COMBINED, ci_prob=ci_prob, **options)
    asked = {"reference": reference, "pair": pair, "equivalence": equivalence, "prior": prior}
    result = compare_draws(both, ci_prob=ci_prob, **asked)
    weight = both["outside_weight"].reset_coords(drop=True)
    for side in "ab":
        own = weight.sel(run=result[f"run_{side}"].to_numpy()).drop_vars("run")
        result[f"outside_weight_{side}"] = own.rename(run="comparison")
    summed = summed_and_listed(parsed)[0]
    if not summed:
        return result
    known = {name: value for name, value in options.items() if name in OF_DYN}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the scores have warned
        alone = differences(
            collection, summed, estimator="dyn", pairs=compared, ci_prob=ci_prob, **known
        )
    return result.assign(length_ratio=_length_ratio(result, alone))


def _length_ratio(result: xr.Dataset, alone: xr.Dataset) -> xr.DataArray:
    """Length of intervals over that of ``dyn`` alone; infinite where dyn alone is certain."""
    length, of_dyn = (
        one["interval"].diff("ci_bound").isel(ci_bound=0, drop=True) for one in (result, alone)
    )
    of_dyn = of_dyn.reindex(measure=result["measure"])
    ratio = length / of_dyn.where(of_dyn > 0)
    return ratio.where((of_dyn != 0) | (length <= 0), np.inf)


def _tested(
    found: xr.Dataset, ci_prob: float, anytime: bool, difference: Floats
) -> tuple[Floats, Floats, Floats]:
    """Differences, errors and degrees of freedom (measure, comparison) for tests.

    At every look they are those that a single look with known errors would have needed, so that
    tests agree with the intervals, and no p value is below that of a single look.
    """
    error, freedom = _arrays(found)[1:]
    if not anytime:
        return difference, error, freedom
    from scipy.special import stdtrit

    normal = normal_quantile(ci_prob)
    known = np.isinf(freedom)
    student = np.where(known, normal, stdtrit(np.where(known, 1.0, freedom), 0.5 + 0.5 * ci_prob))
    exact = np.where(difference == 0.0, 0.0, np.copysign(np.inf, difference))
    z = np.where(error == 0.0, exact, ratio(difference, error, np.nan) * normal / student)
    z = at_one_look(z, found.attrs["information"])
    least = np.minimum(np.abs(z), np.abs(studentised(difference, error, freedom)))
    z = np.copysign(least, z)
    return z, np.where(np.isnan(z), np.nan, 1.0), np.full(z.shape, np.inf)


def _tukey(z: Floats, found, every, pairs, n_runs: int, shuffled, random_seed: int) -> Floats:
    """Tukey's adjusted p values (measure, comparison) of the differences ``found``.

    ``z`` are their normal quantiles; ``every`` has all pairs; ``pairs`` are the positions of both;
    ``shuffled`` are the groups of topics that are shuffled as one, and how often.
    """
    compared, all_pairs = pairs
    error = _arrays(found)[1]
    if found.attrs["population"] == "topics":
        topic_groups, n_permutations = shuffled
        randomised = n_permutations, random_seed
        return _by_permutation(every["difference"], all_pairs, compared, topic_groups, randomised)
    if np.isnan(error).all():
        return np.full(error.shape, np.nan)
    matrix = [_of_pairs(of_measure, all_pairs, n_runs) for of_measure in _arrays(every)[1]]
    return _by_joint_normal(z, error, matrix, compared, random_seed)


def _check_request(reference, prior: str | None, n_permutations: int, random_seed: int) -> None:
    """Refuse what could only fail after the work."""
    if prior is not None:
        check_choice("prior", prior, PRIORS)
    check_seed(random_seed)
    check_whole_numbers(1, n_permutations=n_permutations)
    if not isinstance(reference, str | None):
        raise ValueError(f"reference is the name of one run, not this {type(reference).__name__}")


def _turned(pairs, last: NDArray) -> tuple[NDArray, NDArray]:
    """Pairs, turned where a run that is to be second, such as a reference, is the first alone."""
    first, second = pairs
    turned = np.isin(first, last) & ~np.isin(second, last)
    return np.where(turned, second, first), np.where(turned, first, second)


def _check_topics(found: xr.Dataset) -> None:
    """Refuse differences of which the spread over topics gives no error at all."""
    if found.attrs["population"] != "topics":
        return
    alone = (found["n_topics"] < 2).all("comparison").to_numpy()
    if alone.any():
        raise ValueError(
            "the spread over topics needs at least 2 topics with scores, and "
            f"{found['measure'].to_numpy()[alone][0]} has fewer of every pair of runs"
        )


def _warn_no_spread(found: xr.Dataset, estimate: Floats, error: Floats) -> None:
    """Say of which differences, all arrays (measure, comparison), the topics show no error."""
    unseen = (np.abs(estimate) > 0) & (error <= ROUNDING * np.abs(estimate))
    if found.attrs["population"] != "topics" or not unseen.any():
        return
    measure, comparison = np.argwhere(unseen)[0]
    first = found.isel(measure=measure, comparison=comparison)
    warn(
        f"topics show no spread, and so no error, of {int(unseen.sum())} of "
        f"{counted(unseen.size, 'difference')}, the first is {first['measure'].item()} of "
        f"'{first['run_a'].item()}' and '{first['run_b'].item()}' over "
        f"{first['n_topics'].item()} topics: interval, probability and p values (but for Tukey's) "
        "are not to be relied on; take more topics",
    )


def _warn_reversible(found: xr.Dataset) -> None:
    """Warn where unjudged documents, which count as non-relevant, could reverse a difference."""
    estimate, first, second = (
        found[name].transpose(*DIMS).to_numpy()
        for name in ("estimate", "outside_weight_a", "outside_weight_b")
    )
    beyond = second - first - estimate
    reversible = np.where(estimate > 0, beyond, -beyond) > 1e-9  # rounding of scores
    places = np.argwhere(reversible & (estimate != 0.0))
    if not len(places):
        return
    measure, comparison = places[0]
    one = found.isel(measure=measure, comparison=comparison)
    warn(
        f"{len(places)} of {counted(estimate.size, 'comparison')} may be reversed by documents "
        "that nobody judged and that count as non-relevant: the run that scores lower has more of "
        f"them, by more than the difference; the first is {one['measure'].item()} of "
        f"{one['run_a'].item()} and {one['run_b'].item()}, difference "
        f"{one['estimate'].item():z.4f}, weights on unjudged documents "
        f"{one['outside_weight_a'].item():.3f} and {one['outside_weight_b'].item():.3f}"
    )


def _arrays(found: xr.Dataset) -> list[Floats]:
    """Estimate, error and degrees of freedom (measure, comparison) that intervals rest on."""
    names = ("estimate", "standard_error", "degrees_of_freedom")
    return [found[name].transpose("measure", "comparison").to_numpy() for name in names]


def _by_permutation(
    difference: xr.DataArray, all_pairs, compared, topic_groups: Groups | None, randomised
) -> Floats:
    """Tukey's test by randomisation, on the topics that all runs of it have scores for.

    ``difference`` (measure, comparison, topic) is of all pairs; the sums over the topics of each
    group stand for these where there are groups. ``randomised`` are the number of permutations and
    their seed.
    """
    values = difference.transpose("measure", "topic", "comparison").to_numpy()
    of_group = None
    if topic_groups is not None:
        of_group = members(topic_groups, difference["topic"].to_numpy()).to_numpy()
    (first, second), (n_permutations, random_seed) = compared, randomised
    result, n_left_out = np.full((len(values), first.size), np.nan), 0
    for row, of_measure in zip(result, values, strict=True):
        scores = _scores_from_one(of_measure, all_pairs)
        tested = _with_common_topics(~np.isnan(scores))
        n_left_out = max(n_left_out, int((~tested).sum()))
        whole = ~np.isnan(scores[:, tested]).any(axis=1)
        units = scores[whole][:, tested]
        if of_group is not None:
            groups = of_group[whole]
            units = groups[:, groups.any(axis=0)].T @ units
        place, both = np.cumsum(tested) - 1, tested[first] & tested[second]
        if len(units) > 1 and both.any():  # one topic says nothing of what is random
            random = np.random.default_rng(random_seed)
            options = {"n_permutations": n_permutations, "random": random}
            row[both] = tukey_randomised(
                units, (place[first[both]], place[second[both]]), **options
            )
    if n_left_out:
        warn(
            f"Tukey's test is made without {counted(n_left_out, 'run')} with too few topics in "
            "common with the others (less than half): their p values by it are NaN",
        )
    return result


def _scores_from_one(difference: Floats, all_pairs) -> Floats:
    """Scores (topic, run) less those of the run that has most, of differences (topic, comparison).

    Shuffling the scores of a topic does not notice a constant. NaN on topics without that run.
    """
    first, second = all_pairs
    n_runs = int(max(first.max(), second.max())) + 1
    known = ~np.isnan(difference)
    has = [known[:, (first == run) | (second == run)].any(axis=1) for run in range(n_runs)]
    base = int(np.argmax([of_run.sum() for of_run in has]))
    scores = np.where(has[base][:, None], 0.0, np.full((1, n_runs), np.nan))
    scores[:, first[second == base]] = difference[:, second == base]
    scores[:, second[first == base]] = -difference[:, first == base]
    return scores


def _with_common_topics(known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Runs (run,) that are tested together, by where they have scores (topic, run).

    Those with most topics first, each as long as half of the most topics remain in common.
    """
    number = known.sum(axis=0)
    common, tested = np.ones(len(known), dtype=bool), np.zeros(number.size, dtype=bool)
    for run in np.argsort(-number, kind="stable"):
        shared = common & known[:, run]
        if 2 * shared.sum() >= number.max():
            common, tested[run] = shared, True
    return tested


def _by_joint_normal(z: Floats, error: Floats, matrices, pairs, random_seed: int) -> Floats:
    """Tukey's adjustment by draws of the joint normal distribution of the errors."""
    first, second = pairs
    result = np.empty(z.shape)
    for row, of_measure, size, matrix in zip(result, z, error, matrices, strict=True):
        errors = normal_draws(matrix, N_DRAWS, np.random.default_rng(random_seed))
        largest = np.zeros(N_DRAWS)
        apart = size > 0  # runs that are one and the same have no error
        for run in np.unique(first[apart]):
            chosen = apart & (first == run)
            off = (errors[:, [run]] - errors[:, second[chosen]]) / size[chosen]
            np.maximum(largest, np.abs(off).max(axis=1), out=largest)
        row[:] = share_at_least(np.abs(of_measure), largest)
    return result


def _equivalent(
    result: xr.Dataset, estimate: Floats, error: Floats, freedom: Floats, margins: Floats, tested
) -> xr.Dataset:
    """Comparisons with the chance that each difference is within the margins, and the two tests."""
    wide = margins[:, None]
    above, below = (upper_tail(*tested(sign * estimate + wide)) for sign in (1.0, -1.0))
    probability = equivalence_probability(estimate, error, freedom, wide)
    return with_equivalence(result, probability, np.maximum(above, below), margins)


def _of_pairs(error: Floats, pairs, n_runs: int) -> Floats:
    """Covariance around the mean run from the errors of all pairs of one measure."""
    square = np.zeros((n_runs, n_runs))
    square[pairs] = np.square(error)
    return covariance_of_differences(square + square.T)
