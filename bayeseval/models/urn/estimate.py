"""Maximum likelihood of Park's urn from the judged top of every run."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_ci_prob
from bayeseval.models.urn.tops import judged_tops
from bayeseval.progress import track

LOGIT_RANGE = (-14.0, 8.0)
LOG_ODDS_RANGE = (-16.0, 10.0)


def urn_estimate(
    collection: xr.DataTree,
    *,
    n_documents: int | xr.DataArray,
    depth: int,
    relevance_level: int = 1,
    runs: list[str] | None = None,
    gaps: str = "refuse",
    profile: xr.DataArray | NDArray | None = None,
    ci_prob: float = 0.9,
) -> xr.Dataset:
    r"""Estimates of q (relevant proportion) and w (relevance ratio of each run), with profile.

    The urn of equation 12 is fitted to the first `depth` ranks of the runs by maximum likelihood:
    one q for all topics, M ~ Binomial(N, q) once per topic and common to its runs, one w per run:
    its relevance ratio, the weight of a non-relevant document in units of that of a relevant one.

    Estimand: q and w of the urn. Random: M and the draws. From the top of a list the two are nearly
    not identified apart when N is large: only the depletion of the urn tells them apart. Well known
    is the *contrast* logit q - log w, the log odds of relevance at the first rank; read that, and
    of q its interval by the likelihood ratio. The standard errors of logit q and log w come from
    the observed information and are often much too small where the judged ranks are few. Runs that
    share documents are not independent given M and w: with several runs this is a composite
    likelihood, whose standard errors and intervals are too small. What breaks it: topics of unlike
    difficulty; M more variable than Binomial; gaps that are not ignorable.

    Gaps, unjudged documents at the first `depth` ranks, may be summed over only if, given what is
    judged, being judged does not depend on the relevance of what is not: ranks left out by lot, or
    by a rule that looks at the rank alone. Pools are *not* like that: the judged part of an
    unpooled run is better than the run. By default any gap is refused.

    Parameters
    ----------
    collection : DataTree
        Rankings and judgments, without replicates and without a random design.
    n_documents : int or DataArray (topic,)
        N: documents that could be drawn, the topic's frame, the same for all runs.
    depth : int
        Ranks used, such as the pool depth.
    relevance_level : int
        Lowest relevant grade.
    runs : list of str, optional
        Runs to fit, in the collection's order; by default those of the depth pool that the
        judgments come from, without such a design the contributing ones.
    gaps : {"refuse", "ignorable"}
        Refuse gaps, or sum over them exactly; those at the end of a list are cut off.
    profile : array of float, optional
        Values of logit q for the profile likelihood; by default 13 around the estimate.
    ci_prob : float
        Coverage of the interval of logit q.

    Returns
    -------
    Dataset
        ``logit_q``, ``log_odds`` (run), which is log w, and ``contrast`` (run), each with
        ``_standard_error`` (NaN where the information is singular); ``logit_q_interval`` (ci_bound)
        by the likelihood ratio, infinite where the likelihood does not fall far enough;
        ``relevant_probability``, ``log_likelihood``; ``covariance`` (parameter, parameter_other);
        ``profile_log_likelihood`` (logit) and ``profile_log_odds`` (logit, run).

    Raises
    ------
    ValueError
        Replicates, a random design, no judged document, ``depth`` below 1 or deeper than the pool,
        N below what the lists hold, an unknown run or one that is not of the pool, gaps.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.1, doi:10.1145/3015022.3015029.

    Examples
    --------
    >>> import numpy as np, bayeseval as be
    >>> lists = be.simulate.urn_collection(
    ...     [0.1], n_topics=40, n_documents=60, prevalence=0.2, depth=60, random_seed=1
    ... )
    >>> fit = be.residual.urn_estimate(lists, n_documents=60, depth=60)
    >>> fit.relevant_probability.item(), float(np.exp(fit.log_odds[0]))
    (0.2004, 0.102)
    """
    check_ci_prob(ci_prob)
    options = {"depth": depth, "relevance_level": relevance_level, "gaps": gaps}
    lists, run = urn_lists(collection, n_documents, runs=runs, **options)
    best, bounds = _maximum_within(lists, ci_prob)
    points = best[0] + np.linspace(-3.0, 3.0, 13) if profile is None else np.asarray(profile)
    covariance = _covariance(lists, best)
    error = np.sqrt(np.diag(covariance))
    contrast = covariance[0, 0] + np.diag(covariance)[1:] - 2.0 * covariance[0, 1:]
    held = [_held(lists, best, logit) for logit in track(points.tolist(), "profile likelihood")]
    names = ["logit_q", *(f"log_odds[{label}]" for label in run)]
    return xr.Dataset(
        {
            "relevant_probability": 1.0 / (1.0 + np.exp(-best[0])),
            "logit_q": best[0],
            "logit_q_standard_error": error[0],
            "logit_q_interval": ("ci_bound", bounds),
            "log_odds": ("run", best[1:]),
            "log_odds_standard_error": ("run", error[1:]),
            "contrast": ("run", best[0] - best[1:]),
            "contrast_standard_error": ("run", np.sqrt(contrast)),
            "log_likelihood": lists.log_likelihood(best)[0],
            "covariance": (("parameter", "parameter_other"), covariance),
            "profile_log_likelihood": (
                "logit",
                [lists.log_likelihood(parameters)[0] for parameters in held],
            ),
            "profile_log_odds": (("logit", "run"), np.reshape(held, (-1, best.size))[:, 1:]),
        },
        coords={
            "run": run,
            "logit": points,
            "ci_bound": ["lower", "upper"],
            "parameter": names,
            "parameter_other": names,
        },
        attrs=options | {"ci_prob": ci_prob},
    )


class UrnLists(NamedTuple):
    r"""Judged lists of several topics and the likelihood of the urn's parameters.

    M, the number of relevant documents, belongs to the topic: it is Binomial(N, q) once per topic
    and shared by all runs, which draw their lists independently given M and their w,

    .. math:: L(q, w) = \prod_t \sum_M \binom{N_t}{M} q^M (1 - q)^{N_t - M}
              \prod_r P(r_{t,r,1}, \dots, r_{t,r,d} \mid M, w_r)

    The probability of a list is that of its sequence of draws (equation 12), unjudged ranks summed
    over exactly. The gradient is analytic: with :math:`\pi_t(M)` the distribution of M given the
    lists of topic t,

    .. math:: \frac{\partial \log L}{\partial\, logit\, q} = \sum_t E_{\pi_t}[M - N_t q], \quad
              \frac{\partial \log L}{\partial \log w_r} = \sum_t E_{\pi_t}\left[
              \frac{\partial \log P_{t,r}}{\partial \log w_r}\right]

    Examples
    --------
    >>> lists = UrnLists(np.array([[[1, -1, 0]]], np.int8), np.array([4]))
    >>> value, gradient = lists.log_likelihood(np.zeros(2))
    >>> float(np.exp(value)), gradient  # order at random: 1/2 times 1/2
    (0.25, array([ 0.    , -0.4167]))
    """

    relevance: NDArray[np.int8]  # (topic, run, rank): 1 relevant, 0 not, -1 not judged
    n_documents: NDArray[np.integer]  # (topic,): N

    def log_likelihood(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Log-likelihood and its gradient by logit q and each log w, all (1 + run,)."""
        from bayeseval.distributions.wallenius_sequence_kernel import topic_log_likelihoods

        n_topics = len(self.relevance)
        value, slope, change = topic_log_likelihoods(
            self.relevance,
            np.tile(parameters[1:], (n_topics, 1)),
            np.full(n_topics, parameters[0]),
            np.asarray(self.n_documents, dtype=np.int64),
            np.ones(n_topics),
        )
        return value.sum(), np.append(change.sum(), slope.sum(axis=0))


def urn_lists(
    collection: xr.DataTree, n_documents: int | xr.DataArray, **options
) -> tuple[UrnLists, NDArray[np.str_]]:
    """Judged tops of the runs, checked, and the labels of these runs; asked as `urn_estimate`."""
    check_collection(collection, "rankings", "judgments")
    every = np.ones(collection.sizes["pair"], dtype=bool)
    tops = judged_tops(collection, frame=every, **options)
    labels = tops.coords
    numbers = n_documents
    if isinstance(n_documents, xr.DataArray):
        numbers = n_documents.sel(topic=labels["topic"]).to_numpy()
    numbers = np.broadcast_to(numbers, labels["topic"].size)
    wrong = ~np.isfinite(numbers) | (numbers != np.round(numbers)) | (numbers < 0)
    if wrong.any():
        raise ValueError(
            f"n_documents must be whole numbers, 0 or more; found {numbers[wrong][0]}."
        )
    numbers = numbers.astype(np.int64)
    relevance = np.ascontiguousarray(tops.lists(every))
    used = np.where(relevance >= 0, labels["rank"], 0).max(axis=(1, 2))
    if (used > numbers).any():
        topic = int(np.argmax(used > numbers))
        raise ValueError(
            f"n_documents must be at least the ranks used; topic '{labels['topic'][topic]}' has "
            f"{numbers[topic]} documents and a run with more."
        )
    relevant, others = ((relevance == grade).sum(axis=2).max(axis=1) for grade in (1, 0))
    if (relevant + others > numbers).any():
        topic = int(np.argmax(relevant + others > numbers))
        raise ValueError(
            f"n_documents must be at least what the lists show; topic '{labels['topic'][topic]}' "
            f"has {numbers[topic]} documents, one run {relevant[topic]} that are relevant and one "
            f"{others[topic]} that are not."
        )
    return UrnLists(relevance, numbers), labels["run"]


def _maximum(
    lists: UrnLists, start: NDArray[np.float64] | None = None, logit: float | None = None
) -> NDArray[np.float64]:
    """Parameters (logit q, contrast per run turned into log w) of the largest likelihood.

    The search runs over logit q and the contrasts, which are far less correlated than logit q and
    log w. With ``logit`` given it is held fixed.
    """
    from scipy.optimize import minimize

    def turned(parameters):
        """Logit q and log w as logit q and contrasts, or the other way round."""
        return np.append(parameters[0], parameters[0] - parameters[1:])

    def loss(parameters):
        value, gradient = lists.log_likelihood(turned(parameters))
        by_logit = gradient[0] + gradient[1:].sum()
        return -value, np.append(-by_logit, gradient[1:])

    begin = turned(_start(lists) if start is None else start)
    reach = (LOGIT_RANGE[0] - LOG_ODDS_RANGE[1], LOGIT_RANGE[1] - LOG_ODDS_RANGE[0])
    bounds = [LOGIT_RANGE if logit is None else (logit, logit)] + [reach] * (begin.size - 1)
    begin[0] = begin[0] if logit is None else logit
    optimum = minimize(
        loss, begin, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-13}
    )
    return turned(optimum.x)


def _held(lists: UrnLists, near: NDArray[np.float64], logit: float) -> NDArray[np.float64]:
    """Parameters of the largest likelihood at a logit q, sought from the contrasts of others."""
    return _maximum(lists, np.append(logit, near[1:] + logit - near[0]), logit)


def _maximum_within(lists: UrnLists, ci_prob: float) -> tuple[NDArray, NDArray]:
    """Parameters of the largest likelihood and bounds of logit q by the likelihood ratio.

    Along the ridge of logit q and log w the likelihood can have two tops: searches begin at several
    places of it, and whatever the bounds' search meets above the top is climbed from.
    """
    tops = [_maximum(lists, _start(lists) + shift) for shift in (0.0, 2.0, 4.0)]
    best = max(tops, key=lambda top: lists.log_likelihood(top)[0])
    while True:
        bounds = np.array([-np.inf, np.inf])
        for side in track((0, 1), "interval of logit q"):
            bounds[side], higher = _bound(lists, best, ci_prob, 2.0 * side - 1.0)
            if higher is not None:
                best = _maximum(lists, higher)
                break
        else:
            return best, bounds


def _bound(
    lists: UrnLists, best: NDArray[np.float64], ci_prob: float, sign: float
) -> tuple[float, NDArray[np.float64] | None]:
    """Where the profile likelihood has fallen by half the quantile of chi-squared, 1 degree.

    Below the largest (``sign`` -1) or above it, and infinite where it does not fall so far; or a
    point of the profile that is above the largest.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    top, allowed = lists.log_likelihood(best)[0], 0.5 * ndtri(0.5 + 0.5 * ci_prob) ** 2
    inside, step = best, 0.25

    def beyond(logit: float) -> float:
        return top - lists.log_likelihood(_held(lists, inside, logit))[0] - allowed

    while sign * inside[0] < max(sign * edge for edge in LOGIT_RANGE):
        logit = float(np.clip(inside[0] + sign * step, *LOGIT_RANGE))
        farther = _held(lists, inside, logit)
        lost = top - lists.log_likelihood(farther)[0]
        if lost < -1e-5:
            return np.nan, farther
        if lost > allowed:
            crossing: Any = brentq(beyond, inside[0], logit, xtol=1e-3)
            return crossing, None
        inside, step = farther, 2.0 * step
    return sign * np.inf, None


def _start(lists: UrnLists) -> NDArray[np.float64]:
    """First guess: proportion relevant at the judged ranks, and a tenth of it in the urn."""
    judged = (lists.relevance >= 0).sum(axis=(0, 2))
    relevant = (lists.relevance == 1).sum(axis=(0, 2))
    share = (relevant + 0.5) / (judged + 1.0)
    overall = (relevant.sum() + 0.5) / (judged.sum() + 1.0) / 5.0
    logit = np.log(overall / (1.0 - overall))
    return np.append(logit, logit - np.log(share / (1.0 - share)))


def _covariance(lists: UrnLists, best: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse of the observed information, by differences of the analytic gradient."""
    information = np.zeros((best.size, best.size))
    for column in track(range(best.size), "standard errors of the urn"):
        shift = np.zeros(best.size)
        shift[column] = 1e-4
        above = lists.log_likelihood(best + shift)[1]
        below = lists.log_likelihood(best - shift)[1]
        information[:, column] = (below - above) / 2e-4
    information = 0.5 * (information + information.T)
    if np.linalg.eigvalsh(information).min() <= 1e-9:
        return np.full(information.shape, np.nan)
    return np.linalg.inv(information)
