"""Comparisons of runs: posterior differences, probabilities of a sign, practical equivalence."""

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice, check_ci_prob
from bayeseval.evaluation import compared_pairs
from bayeseval.messages import Message, Option
from bayeseval.rankings.evidence import Evidence, evidence_by_measure, studentised
from bayeseval.rounding import settled
from bayeseval.significance import upper_tail
from bayeseval.uncertainty import interval

PRIORS = ("normal", "flat")
# prior variance of a difference over its error variance
SCALES = 4.0 ** np.arange(-2, 7)
LARGEST = 30.0  # z beyond which a sign is sure

Floats = NDArray[np.floating]


def compare_draws(
    scores: xr.Dataset,
    *,
    covariance: xr.DataArray | None = None,
    reference: str | None = None,
    pair: tuple[str, str] | None = None,
    ci_prob: float = 0.9,
    equivalence: float | Mapping[str, float] | None = None,
    prior: str | None = None,
) -> xr.Dataset:
    """Posterior differences between all pairs of runs, or of all runs from one.

    Draws of a model of documents are too sure of which run is better: apply
    :func:`bayeseval.with_model_errors` or :func:`bayeseval.combine` before.

    Parameters
    ----------
    scores : Dataset
        Posterior draws of :func:`posterior_scores`; combined estimates with a variable
        ``covariance``; or means with ``covariance`` (see :func:`compare` for tests of those).
    covariance : DataArray (measure, run, run_other), optional
        For means: of :func:`covariance` with ``anticipated=True``.
    reference : str, optional
        Compare every run with this one; by default all pairs.
    pair : tuple of str, optional
        Compare these two runs alone.
    ci_prob : float
        Probability of each interval (equal tails).
    equivalence : float or mapping of measure to float, optional
        Largest difference that has no practical meaning.
    prior : {"normal", "flat"}, optional
        Of ``probability_better`` where there are no draws; as for :func:`rank_probabilities`.

    Returns
    -------
    Dataset (measure, comparison)
        With coords ``run_a`` and ``run_b``: ``estimate`` (a less b), ``standard_error``,
        ``interval``, ``probability_better`` (equal scores count half); ``standardised`` where the
        draws have a dim topic: the posterior mean of the mean difference over its standard
        deviation over topics; ``probability_equivalent`` where ``equivalence`` is given. A
        posterior has no p values.

    Raises
    ------
    ValueError
        As :func:`rank_probabilities`; an unknown run.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> draws = [[[[0.5, 0.4], [0.6, 0.3], [0.5, 0.2], [0.4, 0.5]]]]
    >>> post = xr.Dataset(
    ...     {"estimate": (("measure", "chain", "draw", "run"), draws)},
    ...     coords={"measure": ["P@10"], "run": ["a", "b"]},
    ... )
    >>> pairs = be.rankings.compare_draws(post)
    >>> pairs.estimate.item(), pairs.probability_better.item()
    (0.15, 0.75)
    """
    check_ci_prob(ci_prob)
    measures, runs, known = evidence_by_measure(scores, covariance)
    first, second = compared_pairs(runs, reference, pair)
    margins = equivalence_margins(equivalence, np.array(measures))
    estimate = np.stack([one.difference[first, second] for one in known])
    error = np.stack([one.error[first, second] for one in known])
    dims = ("measure", "comparison")
    result = xr.Dataset(
        {"estimate": (dims, estimate), "standard_error": (dims, error)},
        coords={
            "measure": measures,
            "run_a": ("comparison", runs[first]),
            "run_b": ("comparison", runs[second]),
        },
        attrs=scores.attrs | {"ci_prob": ci_prob, "reference": reference or ""},
    )
    prior = chosen_prior(prior, known[0])
    if prior is None:
        return _of_draws(result, known, (first, second), margins, scores["estimate"])
    freedom = np.array([[one.freedom] for one in known])
    every = np.triu_indices(runs.size, k=1)
    weights = None
    if prior == "normal":
        weights = [
            prior_weights(one.difference[every], one.error[every], one.freedom, runs.size)
            for one in known
        ]
    result = result.assign(
        interval=interval(
            result["estimate"],
            result["standard_error"],
            ci_prob=ci_prob,
            degrees_of_freedom=xr.DataArray(freedom[:, 0], dims="measure"),
        ),
        probability_better=(dims, probability_better(estimate, error, freedom, weights)),
    ).assign_attrs(prior=prior)
    if margins is None:
        return result
    within = equivalence_probability(estimate, error, freedom, margins[:, None])
    return with_equivalence(result, within, None, margins)


def chosen_prior(prior: str | None, evidence: Evidence) -> str | None:
    """The prior asked for, else that of such estimates; None for draws, which have their own."""
    if evidence.draws is not None:
        if prior is not None:
            raise ValueError("posterior draws have the prior of their model; leave prior= out")
        return None
    prior = prior or ("flat" if evidence.combined else "normal")
    check_choice("prior", prior, PRIORS)
    return prior


def prior_weights(estimate: Floats, error: Floats, freedom: Floats | float, n_runs: int) -> Floats:
    """Weights of a normal prior of differences, learned from all pairs (pair,) of ``n_runs`` runs.

    Each pair counts once. Differences from one run alone share its error, and would give another
    prior.
    """
    z = np.where(error > 0, studentised(estimate, error, freedom), np.nan)
    return learned_weights(z, n_runs)


def probability_better(
    estimate: Floats, error: Floats, freedom: Floats, weights: Sequence[Floats] | None
) -> Floats:
    """Probability that each difference is above 0; NaN where its error is not known.

    Arrays (measure, comparison) that broadcast together; ``weights`` are of :func:`prior_weights`
    for each measure, or None: the prior is flat.
    """
    z = studentised(estimate, error, freedom)
    priors = weights or [None] * len(z)
    result = [probability_positive(row, weight) for row, weight in zip(z, priors, strict=True)]
    return np.where(np.isnan(error), np.nan, np.stack(result))


def equivalence_margins(
    equivalence: float | Mapping[str, float] | None, measures: NDArray
) -> Floats | None:
    """Largest difference without practical meaning for each measure, or None.

    Examples
    --------
    >>> equivalence_margins({"P@10": 0.02, "AP": 0.01}, np.array(["AP", "P@10"]))
    array([0.01, 0.02])
    """
    if equivalence is None:
        return None
    if isinstance(equivalence, Mapping):
        missing = [str(label) for label in measures if label not in equivalence]
        if missing:
            raise ValueError(
                f"equivalence has no value for {missing[0]}; it has some for "
                f"{', '.join(map(str, equivalence))}"
            )
        given = [equivalence[label] for label in measures]
    else:
        given = [equivalence] * measures.size
    for value in given:
        if not isinstance(value, Real):
            raise ValueError(Message(Option("equivalence"), f" must be a number, not {value!r}"))
    values = np.array(given, dtype=float)
    if not (values > 0).all():
        raise ValueError(Message(Option("equivalence"), f" must be above 0, not {values.min():g}"))
    return values


def equivalence_probability(
    estimate: Floats, error: Floats, freedom: Floats, margin: Floats
) -> Floats:
    """Probability under a flat prior that a difference lies within the margin on either side."""
    above = upper_tail(margin - estimate, error, freedom)
    below = upper_tail(margin + estimate, error, freedom)
    return 1.0 - above - below


def with_equivalence(
    result: xr.Dataset, probability: Floats, p_value: Floats | None, margin: Floats
) -> xr.Dataset:
    """Comparisons with the variables of practical equivalence."""
    dims = ("measure", "comparison")
    result = result.assign(
        probability_equivalent=(dims, probability), equivalence=("measure", margin)
    )
    if p_value is None:
        return result
    equivalent = p_value <= 0.5 * (1.0 - result.attrs["ci_prob"])
    return result.assign(p_equivalence=(dims, p_value), equivalent=(dims, equivalent))


def learned_weights(z: Floats, n_runs: int) -> Floats:
    """Weight (scale,), learned from differences over their standard errors by EM; NaN is left out.

    R runs have R - 1 independent differences, so all pairs together count as that many; a tenth of
    an independent difference is added to every scale.

    Examples
    --------
    >>> learned_weights(np.array([0.1, -0.2]), 3).argmax()
    np.int64(0)
    """
    observed = np.minimum(np.abs(z[~np.isnan(z)]), LARGEST)
    weight = np.full(SCALES.size, 1.0 / SCALES.size)
    if not observed.size:
        return weight
    count, edge = np.histogram(observed, bins=200, range=(0.0, LARGEST))
    likelihood = _likelihood(0.5 * (edge[1:] + edge[:-1]))
    for _ in range(300):
        share = likelihood * weight
        share /= share.sum(axis=1, keepdims=True)
        weight = (n_runs - 1.0) * (count @ share) / observed.size + 0.1
        weight /= weight.sum()
    return weight


def probability_positive(z: Floats, weight: Floats | None) -> Floats:
    r"""Probability that differences are above 0, given their estimates by standard errors.

    With a flat prior (no weights) it is :math:`\Phi(z)`, which is too sure: many true differences
    among runs are small beside their errors. With weights, of :func:`learned_weights`, a difference
    has a normal prior around 0 whose variance is a multiple k of its error variance,

    .. math:: P(\delta > 0 \mid z) = \sum_k w_k(z)\, \Phi\left(z \sqrt{k / (1 + k)}\right),
        \qquad w_k(z) \propto w_k N(z; 0, 1 + k).

    References
    ----------
    Stephens, "False discovery rates: a new deal", Biostatistics 18 (2017),
    doi:10.1093/biostatistics/kxw041.
    """
    wrong = _wrong_sign(np.abs(z), weight)
    return np.where(z == 0, 0.5, np.where(z < 0, wrong, 1.0 - wrong))


def variance_factor(z: Floats, weight: Floats) -> Floats:
    """Factor on the error variance with which a flat prior is as sure as the learned one."""
    from scipy.special import ndtri

    size = np.clip(np.abs(z), 0.01, LARGEST)
    equivalent = -ndtri(_wrong_sign(size, weight))
    return np.maximum(np.square(size / equivalent), 1.0)


def _wrong_sign(size: Floats, weight: Floats | None) -> Floats:
    """Probability that a difference has the other sign than its estimate."""
    from scipy.special import ndtr

    if weight is None:
        return ndtr(-size)
    size = np.minimum(size, LARGEST)
    share = _likelihood(size) * weight
    share /= share.sum(axis=-1, keepdims=True)
    return (share * ndtr(-size[..., None] * np.sqrt(SCALES / (1.0 + SCALES)))).sum(axis=-1)


def _likelihood(size: Floats) -> Floats:
    """Density of |z| under every scale, up to a factor, (..., scale)."""
    variance = 1.0 + SCALES
    log = -0.5 * (np.log(variance) + np.square(size)[..., None] / variance)
    return np.exp(log - log.max(axis=-1, keepdims=True))


def _of_draws(result: xr.Dataset, known, pairs, margins, scores: xr.DataArray) -> xr.Dataset:
    """Intervals and probabilities from the draws themselves, pair by pair."""
    first, second = pairs
    shape = (len(known), first.size)
    bounds, better, within = np.empty((*shape, 2)), np.empty(shape), np.empty(shape)
    tail = 0.5 * (1.0 - result.attrs["ci_prob"])
    for measure, one in enumerate(known):
        for pair, (run, other) in enumerate(zip(first, second, strict=True)):
            drawn = settled(one.draws[:, run] - one.draws[:, other], one.draws[:, run])
            bounds[measure, pair] = np.quantile(drawn, [tail, 1.0 - tail])
            better[measure, pair] = 0.5 * (1.0 + np.sign(drawn).mean())
            if margins is not None:
                within[measure, pair] = (np.abs(drawn) <= margins[measure]).mean()
    dims = ("measure", "comparison")
    result = result.assign(
        interval=((*dims, "ci_bound"), bounds), probability_better=(dims, better)
    ).assign_coords(ci_bound=["lower", "upper"])
    if "topic" in scores.dims:
        result = result.assign(standardised=(dims, _sizes(scores, pairs)))
    return result if margins is None else with_equivalence(result, within, None, margins)


def _sizes(scores: xr.DataArray, pairs) -> np.ndarray:
    """Posterior mean (measure, comparison) of the standardised mean difference over topics."""
    if "measure" not in scores.dims:
        scores = scores.expand_dims("measure")
    first, second = pairs
    values = scores.transpose("measure", "run", "chain", "draw", "topic").to_numpy()
    sizes = np.empty((len(values), first.size))
    for pair, (run, other) in enumerate(zip(first, second, strict=True)):
        difference = values[:, run] - values[:, other]
        spread = difference.std(axis=-1, ddof=1)
        size = difference.mean(axis=-1) / np.where(spread > 0, spread, np.nan)
        sizes[:, pair] = size.mean(axis=(1, 2))
    return sizes
