"""Posterior scores with what a model is off by beyond what it says."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import generator
from bayeseval.collection.origin import check_errors_once, drawn_as_lists
from bayeseval.models.score.constants import (
    LISTS,
    Constants,
    constants_by_group,
    kinds_of_measures,
)
from bayeseval.rounding import ROUNDING


def with_model_errors(
    post: xr.Dataset,
    *,
    groups: str | Mapping[str, str] | None = None,
    constants: Mapping[str, Any] | None = None,
    random_seed: int = 0,
) -> xr.Dataset:
    r"""Posterior draws of scores, with the model's own errors added.

    .. math:: \theta_{sr} + s_r \, z_s + a_r \, \sigma_r \, z_{sr}, \qquad
        s_r^2 = \max(e_r^2 \, v_r - a_r^2 \, \sigma_r^2, 0)

    for draw s of run r: :math:`v_r` is the run's posterior variance, :math:`\sigma_r` the standard
    deviation of its distance from the mean of all runs (times :math:`\sqrt{n / (n - 1)}` for n
    runs, and :math:`\sqrt{v_r}` at most), e the ``alone_ratio`` and a the ``apart_ratio`` of the
    run's group (contributed, new) and the kind of measure, all z standard normal, of mean 0 over
    the draws. What runs have in common, such as the numbers of relevant documents in AP, cancels in
    differences as far as it is of the same size.

    A posterior promises what holds where its model does. By how much real runs are off beyond it
    was learned from fits of ``relevance_model`` to samples of 100 judgments a topic: for P@10 and
    RBP (the linear measures), for AP by ``denominator="counts"`` of :func:`posterior_scores` (R@k
    by the counts takes the same), and for AP as the model has it, whose constants all other
    measures take. It is half a posterior deviation at least, though none was seen for most of these
    (``alone_ratio``): what was learned on six collections is too little elsewhere. By what the
    others taught, 90 % intervals of the runs that the model learned from hold .88 to .97 on each of
    six at 100 judgments (.86 and more at 50) and .76 to 1.00 on seven of which nothing was learned,
    on average .90; those of new runs .89 to .97 on the six, of runs made to mislead .86 to 1.00
    (``benchmarks/relevance_model/README.md``); and the draws say how sure a model of documents can
    be of which run is better (``benchmarks/combined_intervals/README.md``).
    Where the judgments are a random sample, :func:`bayeseval.combine` knows more. Give all runs and
    select afterwards: a run's distance is measured from the mean of all.

    Draws of ``urn_model`` have their errors in what the urns fill, of weight :math:`W_r`
    (``filled_weight``) beside the score :math:`\theta^J_r` of the judged documents
    (``judged_score``), and in nothing else:

    .. math:: \theta^J_r + W_r \, \mathrm{expit}\left(\mathrm{logit} \frac{\theta_{sr} -
        \theta^J_r}{W_r} + e_r z_s\right)

    with e the ``alone_ratio`` of the kind "lists", learned from depth pools of real and simulated
    collections (``benchmarks/urn_pools/README.md``). A pool of few runs leaves much to fill, and
    their lists are no urns; a pool of many leaves next to nothing. No score leaves its bounds.

    What is random: as in the posterior, and the model's errors. What breaks it: a collection on
    which the model is further off than on those; runs that are not as modelled at all, which only a
    design shows (:func:`bayeseval.compare_intervals`). Scores near 0 or 1 may come to lie outside,
    but for those of urns.

    Parameters
    ----------
    post : Dataset
        Means over topics of :func:`bayeseval.posterior_scores`.
    groups : str or mapping of run to group, optional
        As for :func:`bayeseval.combine`.
    constants : mapping of group to mapping, optional
        Other ``alone_ratio`` and ``apart_ratio`` for those of the package (urns have the first
        alone, in log odds).
    random_seed : int

    Returns
    -------
    Dataset
        ``post`` with other ``estimate`` (chain, draw, measure, run), and with the standard
        deviation that it had as ``posterior_error`` (measure, run), for
        :func:`bayeseval.summarize` and, but for urns, :func:`rankings.compare_draws` and
        :func:`rankings.rank_probabilities`.

    Raises
    ------
    ValueError
        Scores per topic, or for the population of topics; something else than posterior draws, two
        at least; NaN; draws that have such errors already; a group without constants.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> draws = np.random.default_rng(1).normal(0.4, 0.01, (1, 4000, 1, 20))
    >>> post = xr.Dataset(
    ...     {"estimate": (("chain", "draw", "measure", "run"), draws)},
    ...     coords={"measure": ["P@10"], "contributed": ("run", [True] * 10 + [False] * 10)},
    ... ).assign_coords(run=list("abcdefghijklmnopqrst"))
    >>> own = {"contributed": {"alone_ratio": 0.0}, "new": {"alone_ratio": 1.0}}
    >>> own = {group: known | {"apart_ratio": 0.0} for group, known in own.items()}
    >>> wider = be.with_model_errors(post, constants=own).estimate.std(("chain", "draw"))
    >>> (wider / post.estimate.std(("chain", "draw"))).sel(run=["a", "t"]).values.round(1)
    array([[1. , 1.4]])
    """
    _check(post)
    known, group = constants_by_group(post, groups, constants)
    draws = post["estimate"].transpose("chain", "draw", "measure", "run")
    values = draws.to_numpy().astype(np.float64)
    n_chains, n_draws, _, n_runs = values.shape
    if np.isnan(values).any() or n_chains * n_draws < 2:
        raise ValueError("a model's own errors need two draws or more, without NaN")
    random = generator(random_seed)
    drawn = (random.standard_normal((n_chains, n_draws, n)) for n in (1, n_runs))
    shared, own = (z - z.mean(axis=(0, 1)) for z in drawn)  # posterior means stay as they are
    wider = np.empty_like(values)
    for number, label in enumerate(draws["measure"].to_numpy().tolist()):
        some = values[:, :, number]
        if drawn_as_lists(post):
            of_runs = [known[LISTS, name] for name in group]
            wider[:, :, number] = _of_lists(some, post.sel(measure=label), of_runs, shared)
        else:
            (kind,) = kinds_of_measures([label], post)
            common, apart = _of_documents(some, [known[kind, name] for name in group])
            wider[:, :, number] = some + common * shared + apart * own
    exact = draws.max(("chain", "draw")) - draws.min(("chain", "draw")) < ROUNDING
    return post.assign(
        estimate=draws.copy(data=wider),
        posterior_error=draws.std(("chain", "draw"), ddof=1).where(~exact, 0.0),
    ).assign_attrs(model_errors="added")


def _of_documents(values: NDArray, of_runs: list[Constants]) -> tuple[NDArray, NDArray]:
    """Standard deviations (run,) of what all runs share and of what is each one's own."""
    alone = np.array([one.alone_ratio for one in of_runs])
    ratio = np.array([one.apart_ratio for one in of_runs])
    n_runs = len(of_runs)
    apart = (values - values.mean(axis=-1, keepdims=True)).var(axis=(0, 1), ddof=1)
    variance = values.var(axis=(0, 1), ddof=1)
    apart = ratio**2 * np.minimum(apart * n_runs / max(n_runs - 1, 1), variance)
    return np.sqrt(np.maximum(alone**2 * variance - apart, 0.0)), np.sqrt(apart)


def _of_lists(
    values: NDArray, post: xr.Dataset, of_runs: list[Constants], shared: NDArray
) -> NDArray:
    """Scores (chain, draw, run) with errors in the log odds of the share that the urns fill."""
    ratio = np.array([one.alone_ratio for one in of_runs])
    judged, weight = post["judged_score"].to_numpy(), post["filled_weight"].to_numpy()
    share = np.clip((values - judged) / np.where(weight > 0.0, weight, 1.0), 0.0, 1.0)
    times = np.exp(ratio * shared)
    return np.where(
        weight > 0.0, judged + weight * share * times / (1 + share * (times - 1)), values
    )


def _check(post: xr.Dataset) -> None:
    """Refuse what no errors are known of."""
    if "estimate" not in post or not {"chain", "draw"} <= set(post["estimate"].dims):
        raise ValueError("post must be posterior draws, as posterior_scores returns them")
    if "topic" in post["estimate"].dims or post.attrs.get("population") == "topics":
        raise ValueError(
            "a model's own errors are known of means over these topics: give posterior_scores "
            "with population='sample' and without over=None"
        )
    for dim in ("measure", "run"):
        if dim not in post["estimate"].dims:
            raise ValueError(f"pick {dim}s with sel({dim}=[...]), which keeps the dim")
    check_errors_once(post)
    if drawn_as_lists(post) and not {"judged_score", "filled_weight"} <= set(post.data_vars):
        raise ValueError(
            "these draws do not say what their urns fill: give what posterior_scores returns, whole"
        )
