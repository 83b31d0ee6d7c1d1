"""One simulation of the calibration of the count model: counts from its prior, some judged."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.designs import draw, reveal
from bayeseval.designs.stratified import pps_strata
from bayeseval.experiments.calibration import Study, prior_draw, step_seeds
from bayeseval.inference import verdict
from bayeseval.models import count_model, relevant_numbers

PARAMETERS = (
    "intercept",
    "curve",
    "topic_intercept_sd",
    "topic_slope_sd",
    "topic_correlation",
)
N_SHOWN = 4  # topics that are compared


def count_study(
    collection: xr.DataTree,
    fits: Callable[..., xr.DataTree],
    *,
    budget: int,
    n_strata: int,
    priors: Mapping[str, Any],
) -> Study:
    """Study of ``count_model`` for ``simulation_based_calibration``.

    The cells are those of one sample by ``pps_strata``. In each simulation
    the parameters come from the prior, then the relevant documents of every cell, judged and not;
    the model is fitted to the judged ones, and the numbers of relevant documents are compared with
    its posterior.
    """
    import pymc as pm

    design = pps_strata(collection, budget=budget, n_strata=n_strata)
    sampled = reveal(collection, design, draw(design, random_seed=1))
    model = count_model(sampled, priors=priors)
    constant = {variable.name: variable.get_value() for variable in model.data_vars}
    unjudged = constant["cell_unjudged"].astype(int)
    judged = np.zeros(unjudged.size, dtype=int)
    judged[np.array(model.coords["judged_cell"])] = constant["cell_judged"].astype(int)

    def study(seed: int) -> xr.DataTree:
        of_prior, of_counts, of_fit, of_numbers = step_seeds(seed)
        prior = prior_draw(model, [*PARAMETERS, "topic_effect", "logit"], of_prior)
        random = np.random.default_rng(of_counts)
        share = 1.0 / (1.0 + np.exp(-prior["logit"].to_numpy()))
        relevant, rest = random.binomial(judged, share), random.binomial(unjudged, share)
        with model:
            pm.set_data(
                {"cell_relevant": relevant, "judged_relevant": relevant[judged > 0]},
            )
        fitted = fits(model, random_seed=of_fit)
        drawn = relevant_numbers(fitted, random_seed=of_numbers)
        topic = constant["cell_topic"].astype(int)
        total = np.bincount(topic, relevant + rest, drawn.sizes["topic"])
        true = xr.DataArray(total, dims="topic", coords={"topic": drawn["topic"]})
        groups = {
            "truth": _compared(prior, true),
            "posterior": _compared(fitted["posterior"].to_dataset(), drawn),
        }
        return xr.DataTree.from_dict(groups | {"verdict": verdict(fitted)})

    return study


def _compared(values: xr.Dataset, number: xr.DataArray) -> xr.Dataset:
    """What is compared: hyperparameters, and the effects and numbers of the first topics."""
    few = {"topic": slice(0, N_SHOWN)}
    effects = values[[*PARAMETERS, "topic_effect"]].isel(few)
    return effects.assign(relevant_number=number.isel(few).astype(float))
