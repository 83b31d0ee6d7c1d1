"""One simulation of the calibration of the urn model: lists from its prior, their tops judged."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.experiments.calibration import Study, prior_draw, step_seeds
from bayeseval.inference import verdict
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import rank_weight
from bayeseval.models import urn_model
from bayeseval.models.urn.draws import weighted_sums
from bayeseval.simulate import urn_collection

PARAMETERS = (
    "population_logit_prevalence",
    "population_log_odds",
    "population_contrast",
    "topic_sd",
    "run_sd",
)
N_SHOWN = 3  # entries of the longer parameters that are compared


def urn_study(
    fits: Callable[..., xr.DataTree],
    *,
    n_topics: int,
    n_runs: int,
    n_documents: int,
    depth: int,
    n_ranks: int,
    measures: Sequence[str],
) -> Study:
    """Study of ``urn_model`` for ``simulation_based_calibration``.

    In each simulation the parameters come from the model's prior, then M of every topic, then the
    relevances of ``n_ranks`` ranks of every run. The first ``depth`` are judged and the others
    hidden; the model, with one urn and the likelihood as it is (``documents="all"``, weight 1), is
    fitted to them, and mean scores over all ranks are compared with the posterior's. The lists say
    nothing of which documents they hold: the runs are independent given M, and then the likelihood
    is exact. That of real runs, which share documents, is a composite one; its width is another
    question (``benchmarks/urn_width.py``). The measures are linear ones.
    """
    import pymc as pm

    assert 1 <= depth <= n_ranks <= n_documents
    model = _model(n_topics, n_runs, n_documents, depth)
    parsed = parse_measures(list(measures), relevance_level=1, grades=(0.0, 1.0))
    weight = [np.pad(w := rank_weight(m, n_ranks), (0, n_ranks - w.size)) for m in parsed]
    labels = [measure.label for measure in parsed]

    def study(seed: int) -> xr.DataTree:
        of_prior, of_lists, of_fit, of_scores = step_seeds(seed)
        prior = prior_draw(
            model, [*PARAMETERS, "log_odds", "logit_prevalence", "contrast"], of_prior
        )
        colour = _lists(prior, n_documents, n_ranks, of_lists)
        with model:
            pm.set_data({"judged_relevance": colour[:, :, :depth]})
        fitted = fits(model, random_seed=of_fit)
        posterior = fitted["posterior"].to_dataset()
        true = np.stack([(colour == 1) @ part for part in weight]).mean(axis=1)
        score = _scores(posterior, colour, depth, n_documents, weight, of_scores)
        dims = ("mean_score_measure", "mean_score_run")
        coords = dict(zip(dims, (labels, prior["run"].to_numpy()), strict=True))
        truth = _compared(prior).assign(mean_score=xr.DataArray(true, dims=dims, coords=coords))
        sizes = (posterior.sizes["chain"], posterior.sizes["draw"])
        drawn = np.moveaxis(score, -1, 0).reshape(*sizes, *true.shape)
        drawn = xr.DataArray(drawn, dims=("chain", "draw", *dims), coords=coords)
        groups = {"truth": truth, "posterior": _compared(posterior).assign(mean_score=drawn)}
        return xr.DataTree.from_dict(groups | {"verdict": verdict(fitted)})

    return study


def _model(n_topics: int, n_runs: int, n_documents: int, depth: int) -> Any:
    """The model of lists of these sizes; its data are replaced in every simulation."""
    collection = urn_collection(
        np.full(n_runs, 0.3),
        n_topics=n_topics,
        n_documents=n_documents,
        prevalence=0.2,
        depth=depth,
        random_seed=1,
    )
    return urn_model(
        collection, depth=depth, frame="judged", documents="all", likelihood_weight=1.0
    )


def _lists(prior: xr.Dataset, n_documents: int, n_ranks: int, seed: int) -> NDArray[np.int8]:
    """Relevances (topic, run, rank): M of every topic, and the draws of its runs."""
    from bayeseval.distributions.wallenius_sequence_draws import random_topics

    logit = prior["logit_prevalence"].to_numpy()
    odds = np.tile(prior["log_odds"].to_numpy(), (logit.size, 1))
    judged = np.ones((*odds.shape, n_ranks), dtype=bool)
    number = np.full(logit.size, n_documents)
    return random_topics(np.random.default_rng(seed), odds, logit, number, judged)


def _scores(posterior, colour, depth: int, n_documents: int, weight, seed: int) -> NDArray:
    """Mean scores (measure, run, draw) with the ranks below ``depth`` drawn."""
    from bayeseval.distributions.wallenius_sequence_draws import filled_topic

    odds, logit = (
        posterior[name].transpose("chain", "draw", ...).to_numpy().reshape(-1, posterior.sizes[dim])
        for name, dim in (("log_odds", "run"), ("logit_prevalence", "topic"))
    )
    shown = colour.copy()
    shown[:, :, depth:] = -1
    judged = np.full(colour.shape[1], depth)
    seeds = np.random.SeedSequence(seed).generate_state(colour.shape[0])
    total = np.zeros((len(weight), colour.shape[1], len(logit)))
    for topic, of_topic in enumerate(seeds.tolist()):
        filled, _ = filled_topic(
            of_topic, shown[topic], judged, odds, logit[:, topic], n_documents, 1.0
        )
        for index, part in enumerate(weight):
            total[index] += weighted_sums(filled, np.tile(part, (colour.shape[1], 1)))
    return total / colour.shape[0]


def _compared(values: xr.Dataset) -> xr.Dataset:
    """Parameters whose true values are ranked, each with dims of its own."""
    chosen = {name: values[name] for name in PARAMETERS}
    for name, dim in (("log_odds", "run"), ("contrast", "run"), ("logit_prevalence", "topic")):
        part = values[name].isel({dim: slice(0, N_SHOWN)})
        chosen[name] = part.rename({dim: f"{name}_{dim}"})
    return xr.Dataset(chosen)
