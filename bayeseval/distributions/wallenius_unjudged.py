"""Draws of the relevance of unjudged ranks, given the judged ones, under the urn."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayeseval.distributions.wallenius_count import check_numbers
from bayeseval.distributions.wallenius_sequence import check_weight
from bayeseval.progress import track

CORE = ("topic", "run", "rank")


def wallenius_unjudged(
    relevance: xr.DataArray | ArrayLike,
    log_odds: xr.DataArray | ArrayLike,
    *,
    n_documents: int | xr.DataArray | ArrayLike,
    n_relevant: int | xr.DataArray | ArrayLike | None = None,
    logit_prevalence: float | xr.DataArray | ArrayLike | None = None,
    depth: int | xr.DataArray | ArrayLike | None = None,
    likelihood_weight: float = 1.0,
    random_seed: int | None,
) -> xr.Dataset:
    r"""Draws of the relevance at unjudged ranks, and of M, given the judged ranks of a topic.

    Model and codes are those of `wallenius_sequence`. With a the judged relevances above `depth`
    and b the unjudged ones, one draw for each log w and q is exact from

    .. math::
        P(M \mid a) \propto \binom{N}{M} q^M (1 - q)^{N - M} \prod_r P(a_r \mid M, w_r), \qquad
        P(b_r \mid a_r, M, w_r)

    the second by filtering forward over the ranks, over the number of relevant documents among the
    unjudged ranks so far, and sampling backward from the last judged one. Ranks from `depth` on are
    drawn in order from what is left; a judged document there informs nothing before it and only
    leaves the urn (or comes from nothing, where none of its kind is left). No relevant document is
    drawn past rank N.

    What is random: M, once per topic and draw, and the unjudged ranks; runs are independent given
    M. Assumed: which ranks above `depth` are judged does not depend on relevance given log w and q.
    Cost: for M as for the log-likelihood of `wallenius_sequence`, for each draw; then a random
    number per unjudged rank, and per gap the number of gaps before it.

    Parameters
    ----------
    relevance : DataArray or array of int ([topic,] run, rank)
        1 relevant, 0 not, -1 unjudged, -2 nothing there (only at the end of a list).
    log_odds : DataArray or array of float (..., [topic,] run)
        log w, natural logarithm. Other dims are those of the draws; that of an array is `draw`.
    n_documents : int, DataArray or array ([topic])
        N.
    n_relevant : int, DataArray or array (..., [topic]), optional
        M, where it is known. Give this or `logit_prevalence`.
    logit_prevalence : float, DataArray or array (..., [topic]), optional
        log(q / (1 - q)), with M ~ Binomial(N, q).
    depth : int, DataArray or array ([topic,] [run]), optional
        Ranks whose judgments inform, 0 to all of them, which is the default.
    likelihood_weight : float
        Power of the runs' likelihoods in the distribution of M, above 0.
    random_seed : int or None
        Seed; the same seed gives the same draws (of ``numpy.random.default_rng``, one for each
        topic, spawned from it).

    Returns
    -------
    Dataset
        ``relevance`` (..., [topic,] run, rank) of int8, judged ranks as given and unjudged ones
        drawn, and ``n_relevant`` (..., [topic]), M.

    Raises
    ------
    ValueError
        None or both of `n_relevant` and `logit_prevalence`, a code, depth, weight or number outside
        its range, parameters that are not finite, or judged documents that no M leaves room for.

    See Also
    --------
    wallenius_sequence : the likelihood of the judged ranks.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.1, equation 12,
    doi:10.1145/3015022.3015029.
    Frühwirth-Schnatter, Data augmentation and dynamic linear models, Journal of Time Series
    Analysis 15, 1994 (forward filtering, backward sampling),
    doi:10.1111/j.1467-9892.1994.tb00184.x.

    Examples
    --------
    One relevant document among three, w = 1/2, judged not relevant at the second rank. It is first
    with probability (1/2) 1, third with (1/2)(1/3), so first in three of four cases.

    >>> import numpy as np
    >>> drawn = wallenius_unjudged(
    ...     [[-1, 0, -1]], np.full((10000, 1), np.log(0.5)), n_documents=3, n_relevant=1,
    ...     random_seed=1,
    ... )
    >>> drawn.relevance.dims
    ('draw', 'run', 'rank')
    >>> drawn.relevance.mean("draw").values.round(2)
    array([[0.75, 0.  , 0.25]])
    """
    check_weight(likelihood_weight)
    chance = _one_of(n_relevant, logit_prevalence)
    known = n_relevant is not None
    parts = _labelled(relevance, log_odds, n_documents, chance, depth)
    _check(parts, known)
    filled, number = _drawn(parts, known, likelihood_weight, random_seed)
    sample = [dim for dim in parts.log_odds.dims if dim not in CORE]
    sizes = [parts.sizes[dim] for dim in sample]
    drawn = xr.Dataset(
        {
            "relevance": ((*sample, *CORE), filled.reshape((*sizes, *filled.shape[1:]))),
            "n_relevant": ((*sample, "topic"), number.reshape((*sizes, parts.sizes["topic"]))),
        },
        coords=parts.coords,
    )
    return drawn if parts.attrs["topics"] else drawn.squeeze("topic", drop=True)


def _one_of(n_relevant, logit_prevalence):
    """What says how many documents are relevant."""
    if (n_relevant is None) == (logit_prevalence is None):
        given = "neither" if n_relevant is None else "both"
        raise ValueError(f"Give n_relevant or logit_prevalence, one of them; {given} given.")
    return logit_prevalence if n_relevant is None else n_relevant


def _labelled(relevance, log_odds, n_documents, chance, depth) -> xr.Dataset:
    """All arguments with all their dims: those of the draws, topic, run, rank."""
    seen = _array(relevance, CORE)
    topic = ("topic",) if "topic" in seen.dims else ()
    if set(seen.dims) != {*topic, "run", "rank"}:
        raise ValueError(f"relevance must have the dims ([topic,] run, rank); found {seen.dims}.")
    arguments = {
        "relevance": seen,
        "log_odds": _array(log_odds, ("draw", *topic, "run")),
        "n_documents": _array(n_documents, topic),
        "chance": _array(chance, ("draw", *topic)),
        "depth": _array(seen.sizes["rank"] if depth is None else depth, (*topic, "run")),
    }
    if not topic:
        arguments = {name: x.expand_dims("topic") for name, x in arguments.items()}
    parts = xr.merge(
        [x.rename(name) for name, x in arguments.items()], join="exact", compat="override"
    ).assign_attrs(topics=bool(topic))
    per_run = parts.relevance.isel(rank=0, drop=True)
    odds = xr.broadcast(parts.log_odds, parts.chance, per_run)[0]
    odds = odds.transpose(..., "topic", "run")
    per_topic = odds.isel(run=0, drop=True)
    return parts.assign(
        relevance=parts.relevance.transpose(*CORE),
        log_odds=odds,
        n_documents=xr.broadcast(parts.n_documents, per_run.isel(run=0, drop=True))[0],
        chance=xr.broadcast(parts.chance, per_topic)[0].transpose(*per_topic.dims),
        depth=xr.broadcast(parts.depth, per_run)[0].transpose("topic", "run"),
    )


def _array(value, dims: tuple[str, ...]) -> xr.DataArray:
    """A labelled array as it is; a plain one has the last of the dims."""
    if isinstance(value, xr.DataArray):
        return value
    plain = np.asarray(value)
    if plain.ndim > len(dims):
        raise ValueError(f"an array of {plain.ndim} dims is given where at most {dims} are.")
    return xr.DataArray(plain, dims=dims[len(dims) - plain.ndim :])


def _check(parts: xr.Dataset, known: bool) -> None:
    """Refuse codes, depths and numbers outside their ranges."""
    seen = parts.relevance.to_numpy()
    if not np.isin(seen, [-2, -1, 0, 1]).all():
        raise ValueError(
            "relevance must hold 1, 0, -1 (unjudged) and -2 (nothing there); found "
            f"{seen[~np.isin(seen, [-2, -1, 0, 1])][0]}."
        )
    if ((seen[..., :-1] == -2) & (seen[..., 1:] != -2)).any():
        raise ValueError("relevance must hold -2 (nothing there) only at the end of a run.")
    check_numbers(n_documents=parts.n_documents)
    check_numbers(depth=parts.depth)
    if (parts.depth > seen.shape[-1]).any():
        raise ValueError(
            f"depth must be at most the {seen.shape[-1]} ranks; found {int(parts.depth.max())}."
        )
    if known:
        check_numbers(n_documents=parts.n_documents, n_relevant=parts.chance)
    for name, array in {"log_odds": parts.log_odds, "logit_prevalence": parts.chance}.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite.")


def _drawn(parts: xr.Dataset, known: bool, likelihood_weight: float, random_seed: int | None):
    """Colours (draw, topic, run, rank) and M (draw, topic)."""
    from bayeseval.distributions import wallenius_unjudged_kernel as kernel

    colour, depth = parts.relevance.to_numpy().astype(np.int8), parts.depth.to_numpy()
    odds = parts.log_odds.to_numpy().astype(float).reshape((-1, *depth.shape))
    chance = parts.chance.to_numpy().reshape((len(odds), -1))
    filled = np.empty((len(odds), *colour.shape), dtype=np.int8)
    number = np.empty(chance.shape, dtype=np.int64)
    seeds = np.random.SeedSequence(random_seed).generate_state(len(colour), np.uint64)
    for topic in track(range(len(colour)), "unjudged ranks"):
        documents, seed = int(parts.n_documents[topic]), int(seeds[topic])
        _check_room(
            parts, topic, known, kernel.possible_numbers(colour[topic], depth[topic], documents)
        )
        given = (seed, colour[topic], depth[topic], odds[:, topic])
        if known:
            number[:, topic] = chance[:, topic]
            filled[:, topic] = kernel.filled_runs(*given, documents, chance[:, topic])
        else:
            filled[:, topic], number[:, topic] = kernel.filled_topic(
                *given, chance[:, topic], documents, likelihood_weight
            )
    return filled, number


def _check_room(parts: xr.Dataset, topic: int, known: bool, possible: tuple[int, int]) -> None:
    """Refuse judged documents that no M, or not the known one, leaves room for."""
    label = parts.topic[topic].item() if "topic" in parts.coords else topic
    lowest, highest = possible
    if lowest > highest:
        raise ValueError(
            f"n_documents is too small for topic {label!r}: {int(parts.n_documents[topic])} "
            "documents have no room for the judged ranks."
        )
    number = parts.chance.isel(topic=topic)
    if known and not ((number >= lowest) & (number <= highest)).all():
        raise ValueError(
            f"n_relevant of topic {label!r} must lie between {lowest} and {highest}, given its "
            f"judged ranks; found {int(number.min())} to {int(number.max())}."
        )
