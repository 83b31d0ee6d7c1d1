"""The urn of Park: colours in order of draw, with ranks that nobody judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayeseval.distributions.wallenius_count import check_numbers

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


def wallenius_sequence(
    name: str | None,
    log_odds: Any,
    n_documents: Any,
    judged: Any,
    *,
    n_relevant: Any = None,
    logit_prevalence: Any = None,
    likelihood_weight: float = 1.0,
    **kwargs: Any,
) -> TensorVariable:
    r"""Random variable: relevance of the documents of a run, in the order of the ranks.

    A value holds 1 (relevant), 0 (not relevant) and -1 (unjudged). For a topic with N documents, M
    of them relevant, a run draws documents without replacement; after b relevant and c other ones
    the next document is relevant with probability (equation 12)

    .. math:: P(1 \mid b, c) = \frac{M - b}{(M - b) + w (N - M - c)}

    The likelihood of a run is the product over its ranks where all are judged down to the last
    judged one. Where some are not, it is summed exactly over their relevances: forward over the
    ranks, over the number of relevant documents among the unjudged ranks so far.

    With `n_relevant` the number M is known, runs are independent and a value is one run. With
    `logit_prevalence`, M ~ Binomial(N, q) belongs to the topic: a value is all its runs, and

    .. math:: L = \sum_M \binom{N}{M} q^M (1 - q)^{N - M} \prod_r L_r(M)^a

    with a = 1, the `likelihood_weight`; where M is known the log-likelihood of a run is a log L_r.
    Terms of the sum more than exp(-50) times smaller than the largest are left out, found from the
    largest outwards and from every 16th M.

    What is random: the draws of the runs, and M. Assumed: one weight for relevant and one for other
    documents; which ranks are judged does not depend on relevance given log w and q (ignorable);
    the runs of a topic are independent given M and w. Runs that share documents are not: the
    product is then a composite likelihood and its posterior too narrow, which a weight below 1 can
    correct. With a weight other than 1 the values of L do not sum to one over the colours, and
    random draws are not distributed as L: they ignore the weight and come from the urn. From short
    prefixes and large N, q and w are nearly not identified, only logit q - log w is.

    Cost: per value of M in proportion to the ranks, and with gaps to the ranks times the number of
    relevant documents that may stand at the unjudged ones; the gradient costs no more than the
    value.

    Parameters
    ----------
    name : str or None
        Name in the model; None gives an unnamed variable for `pm.logp` and `pm.draw`, outside a
        model.
    log_odds : tensor_like of float (..., run)
        log w, natural logarithm: 0 is random order, the lower the better the run. With `n_relevant`
        any batch dims, for instance (topic, run).
    n_documents : tensor_like of int
        N, the documents of the topic, common to all runs. Dims: those of `log_odds`, without run
        where M is summed out.
    judged : array_like of bool (..., run, rank)
        Where draws show a relevance; elsewhere, and past rank N, they are -1. It gives the number
        of ranks and does not enter the log-likelihood: there, the -1 of the value count. With
        `n_relevant` (..., rank).
    n_relevant : tensor_like of int, optional
        M, where it is known; dims as `log_odds`. Give this or `logit_prevalence`.
    logit_prevalence : tensor_like of float, optional
        log(q / (1 - q)), dims those of `log_odds` without run.
    likelihood_weight : float
        a, above 0 and fixed: the power of the runs' likelihoods. Draws ignore it.
    **kwargs
        What PyMC takes: `dims`, `observed`, `size`, `shape`.

    Returns
    -------
    TensorVariable of int8
        Dims of the parameters, then (rank,) where M is known and (run, rank) where it is not;
        the log-likelihood lacks these last dims. It has gradients with respect to `log_odds` and
        `logit_prevalence`.

    Raises
    ------
    ValueError
        If none or both of `n_relevant` and `logit_prevalence` are given, a number is not whole,
        negative or above N, `likelihood_weight` is not one positive number, or `judged` lacks
        ranks. Numbers that are themselves random variables
        are checked with the log-likelihood (PyMC's ParameterValueError).

    See Also
    --------
    wallenius_count : the number of relevant documents, without their order.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.1, equations 9 to 12,
    doi:10.1145/3015022.3015029.
    Ribatet, Cooley and Davison, Bayesian inference from composite likelihoods, with an application
    to spatial extremes, Statistica Sinica 22, 2012 (there the magnitude adjustment),
    doi:10.5705/ss.2009.248.

    Examples
    --------
    One relevant document among three, w = 1/2, nobody judged the first rank. The second document is
    the relevant one with probability 1/2 (another is first) times 2/3.

    >>> import numpy as np
    >>> import pymc as pm
    >>> run = wallenius_sequence(None, np.log(0.5), 3, [False, True], n_relevant=1)
    >>> np.exp(pm.logp(run, np.array([-1, 1], dtype="int8")).eval())
    np.float64(0.333333333)

    Two runs of a topic whose M is not known, one draw of each:

    >>> judged = np.ones((2, 5), dtype=bool)
    >>> topic = wallenius_sequence(None, [-3.0, 0.0], 50, judged, logit_prevalence=-1.0)
    >>> pm.draw(topic, random_seed=1).shape
    (2, 5)
    """
    from bayeseval.distributions.wallenius_sequence_variable import (
        WalleniusSequence,
        WalleniusTopic,
    )

    _check(n_documents, judged, n_relevant, logit_prevalence)
    check_weight(likelihood_weight)
    if n_relevant is None:
        kind, parameters = WalleniusTopic, (log_odds, logit_prevalence, n_documents)
    else:
        kind, parameters = WalleniusSequence, (log_odds, n_documents, n_relevant)
    parameters = (*parameters, judged, likelihood_weight)
    return kind.dist(*parameters, **kwargs) if name is None else kind(name, *parameters, **kwargs)


def _check(n_documents: Any, judged: Any, n_relevant: Any, logit_prevalence: Any) -> None:
    """Refuse what no urn has, as far as it is fixed."""
    if (n_relevant is None) == (logit_prevalence is None):
        given = "neither" if n_relevant is None else "both"
        raise ValueError(f"Give n_relevant or logit_prevalence, one of them; {given} given.")
    core = ("rank",) if n_relevant is not None else ("run", "rank")
    fixed = not hasattr(judged, "owner")
    if fixed and (np.ndim(judged) < len(core) or 0 in np.shape(judged)[-len(core) :]):
        raise ValueError(
            f"judged must have the dims {core}, none of them empty, last; found shape "
            f"{np.shape(judged)}."
        )
    known = {} if n_relevant is None else {"n_relevant": n_relevant}
    check_numbers(n_documents=n_documents, **known)


def check_weight(likelihood_weight: Any) -> None:
    """Refuse a weight that is no fixed positive number."""
    fixed = not hasattr(likelihood_weight, "owner") and np.ndim(likelihood_weight) == 0
    if not (fixed and 0.0 < likelihood_weight < np.inf):
        raise ValueError(
            f"likelihood_weight must be one fixed number above 0; found {likelihood_weight!r}."
        )
