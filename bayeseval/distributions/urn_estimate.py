"""Maximum likelihood of Park's urn from the judged top of every run."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.designs.gather import grade_columns
from bayeseval.distributions.urn_likelihood import UrnLists, prefix_lists
from bayeseval.progress import track

LOGIT_RANGE = (-14.0, 8.0)
LOG_ODDS_RANGE = (-16.0, 10.0)
STEP = 1e-4  # of the difference quotients of the gradient


def urn_estimate(
    collection: xr.DataTree,
    *,
    n_documents: int | xr.DataArray,
    depth: int,
    relevance_level: int = 1,
    profile: xr.DataArray | NDArray | None = None,
) -> xr.Dataset:
    r"""Estimates of q (relevant proportion) and w (relevance ratio of each run), with profile.

    The urn of equation 12 is fitted to the first `depth` ranks of every run by maximum likelihood:
    one q for all topics, M ~ Binomial(N, q) once per topic and common to its runs, one w per run.
    Unjudged ranks in between are summed over exactly.

    Estimand: q and w of the urn. Random: M and the draws. From the top of a list the two are nearly
    not identified apart when N is large: only the depletion of the urn tells them apart. What the
    judged ranks do identify is the *contrast* logit q - log w, the log odds of relevance at the
    first rank; read that, and the two alone only where their standard errors are small, which
    `profile_log_likelihood` shows. Standard errors come from the observed information. Runs that
    share documents are not independent given M and w: with several runs this is a composite
    likelihood, whose standard errors are too small. What breaks it: a top that is not judged in
    full because documents were left out for what they are; topics of unlike difficulty (w is
    common to all of them); M more variable than Binomial. Cost: runs times topics times N times
    depth per evaluation, some hundred evaluations, and two per run for the standard errors.

    Parameters
    ----------
    collection : DataTree
        Rankings and judgments, without replicates and without a random design: under unequal
        probabilities the judged documents are not the top of the lists.
    n_documents : int or DataArray (topic,)
        N: documents that could be drawn, the topic's frame, the same for all runs.
    depth : int
        Ranks used, such as the pool depth.
    relevance_level : int
        Lowest relevant grade.
    profile : array of float, optional
        Values of logit q for the profile likelihood; by default 13 from 3 below the estimate to 3
        above.

    Returns
    -------
    Dataset
        ``logit_q``, ``log_odds`` (run), ``contrast`` (run), each with ``_standard_error``;
        ``relevant_probability``, ``log_likelihood``; ``covariance`` (parameter,
        parameter_other) of logit q and the log odds; ``profile_log_likelihood`` (logit) and
        ``profile_log_odds`` (logit, run): the likelihood and the log odds that go best with a given
        logit q. Standard errors are NaN where the information is singular.

    Raises
    ------
    ValueError
        Replicates, a random design, no judged document, ``depth`` below 1, N below what the lists
        hold.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.1 (the model; its parameters
    are left open in section 4), doi:10.1145/3015022.3015029.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1], n_topics=40, n_documents=60, prevalence=0.2, depth=60, random_seed=1
    ... )
    >>> fit = urn_estimate(collection, n_documents=60, depth=60)
    >>> fit.relevant_probability.item(), float(np.exp(fit.log_odds[0]))
    (0.2004, 0.102)
    """
    lists = _lists(collection, n_documents, depth, relevance_level)
    run = collection["run"].to_numpy()
    best = _maximum(lists)
    points = best[0] + np.linspace(-3.0, 3.0, 13) if profile is None else np.asarray(profile)
    covariance = _covariance(lists, best)
    error = np.sqrt(np.diag(covariance))
    contrast = covariance[0, 0] + np.diag(covariance)[1:] - 2.0 * covariance[0, 1:]
    value, along = _profile(lists, best, points)
    names = ["logit_q", *(f"log_odds[{label}]" for label in run)]
    return xr.Dataset(
        {
            "relevant_probability": 1.0 / (1.0 + np.exp(-best[0])),
            "logit_q": best[0],
            "logit_q_standard_error": error[0],
            "log_odds": ("run", best[1:]),
            "log_odds_standard_error": ("run", error[1:]),
            "contrast": ("run", best[0] - best[1:]),
            "contrast_standard_error": ("run", np.sqrt(contrast)),
            "log_likelihood": lists.log_likelihood(best[0], best[1:])[0],
            "covariance": (("parameter", "parameter_other"), covariance),
            "profile_log_likelihood": ("logit", value),
            "profile_log_odds": (("logit", "run"), along),
        },
        coords={"run": run, "logit": points, "parameter": names, "parameter_other": names},
        attrs={"depth": depth, "relevance_level": relevance_level},
    )


def _lists(collection, n_documents, depth: int, relevance_level: int) -> UrnLists:
    """Judged tops of the runs, checked."""
    check_collection(collection)
    if depth < 1:
        raise ValueError(f"depth must be at least 1, not {depth}.")
    if "design" in collection.children:
        scheme = collection["design"].attrs["scheme"]
        if scheme != "deterministic":
            raise ValueError(
                f"the judgments come from a {scheme} design; the urn's likelihood is that of the "
                "judged top of a list and needs judgments to a depth, such as those of a pool."
            )
    grade = grade_columns(collection)
    if len(grade) > 1:
        raise ValueError("the judgments have the dim 'replicate'; estimate from one of them.")
    numbers = n_documents
    if isinstance(n_documents, xr.DataArray):
        numbers = n_documents.sel(topic=collection["topic"].to_numpy()).to_numpy()
    numbers = np.broadcast_to(numbers, collection.sizes["topic"]).astype(np.int64)
    ranking = collection["rankings/ranking"].to_numpy()
    lists = prefix_lists(ranking, grade[0], depth, relevance_level, numbers)
    if not lists.length.any():
        raise ValueError(f"no run has a judged document in its first {depth} ranks.")
    short = lists.length.max(axis=1) > numbers
    if short.any():
        topic = collection["topic"].to_numpy()[int(np.argmax(short))]
        raise ValueError(
            f"n_documents must be at least the ranks used; topic '{topic}' has "
            f"{numbers[int(np.argmax(short))]} documents and a run with more."
        )
    return lists


def _maximum(
    lists: UrnLists, start: NDArray[np.float64] | None = None, logit: float | None = None
) -> NDArray[np.float64]:
    """Parameters (logit q, contrast per run turned into log odds) of the largest likelihood.

    The search runs over logit q and the contrasts, which are far less correlated than logit q and
    the log odds. With ``logit`` given it is held fixed.
    """
    from scipy.optimize import minimize

    def loss(parameters):
        value, gradient = lists.log_likelihood(parameters[0], parameters[0] - parameters[1:])
        by_logit = gradient[0] + gradient[1:].sum()
        return -value, np.append(-by_logit, gradient[1:])

    begin = _start(lists) if start is None else start
    begin = np.append(begin[0], begin[0] - begin[1:])
    reach = (LOGIT_RANGE[0] - LOG_ODDS_RANGE[1], LOGIT_RANGE[1] - LOG_ODDS_RANGE[0])
    bounds = [LOGIT_RANGE if logit is None else (logit, logit)] + [reach] * lists.n_runs
    begin[0] = begin[0] if logit is None else logit
    found = minimize(
        loss, begin, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-13}
    )
    return np.append(found.x[0], found.x[0] - found.x[1:])


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
        shift[column] = STEP
        above = lists.log_likelihood(*_split(best + shift))[1]
        below = lists.log_likelihood(*_split(best - shift))[1]
        information[:, column] = (below - above) / (2.0 * STEP)
    information = 0.5 * (information + information.T)
    if np.linalg.eigvalsh(information).min() <= 1e-9:
        return np.full(information.shape, np.nan)
    return np.linalg.inv(information)


def _profile(lists: UrnLists, best, points) -> tuple[NDArray, NDArray]:
    """Largest log-likelihood at every logit q, and the log odds it is reached with."""
    value, along = np.empty(points.size), np.empty((points.size, best.size - 1))
    for index, logit in enumerate(track(points.tolist(), "profile likelihood")):
        held = _maximum(lists, np.append(logit, best[1:] + logit - best[0]), logit)
        value[index] = lists.log_likelihood(*_split(held))[0]
        along[index] = held[1:]
    return value, along


def _split(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    return float(parameters[0]), parameters[1:]
