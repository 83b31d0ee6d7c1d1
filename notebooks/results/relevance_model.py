"""Tables that the notebook of this name reads: the sampler on 12 topics, and eight samples.

Run it with ``PYTHONPATH=. python notebooks/results/relevance_model.py``: some minutes. It writes
``verdict`` and ``summary`` of the sampler, ``curves`` (the probability of relevance by rank),
``approximation`` (the mean error of sampler and Laplace approximation), ``errors`` (of the model,
stat and dyn over eight samples) and ``runs`` (their mean errors run by run) beside itself.
"""

from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.models.relevance.blocks import kept_scale

NAMES = ["population_effect", "curvature", "topic_sd", "reliability_sd", "topic_component_sd"]


def main() -> None:
    demo = be.simulate.demo_collection()
    collection = be.dual_runs(demo, random_seed=1)
    design = be.designs.pps_strata(collection, budget=100)
    selected = be.draw(design, n_replicates=8, random_seed=1)
    of_sampler(collection, be.reveal(collection, design, selected.isel(replicate=0)))
    real, learned = collection["run"].isin(demo["run"].values), collection["contributed"]
    groups = {"learned from": learned, "other real runs": real & ~learned, "dual runs": ~real}
    results = eight_samples(collection, design, selected)
    errors = be.experiments.error_summary(results, groups=groups).squeeze("measure", drop=True)
    save("errors", errors.to_dataframe())
    error = (results.estimate - results.truth).mean("replicate").squeeze("measure", drop=True)
    group = xr.where(learned, "learned from", xr.where(real, "other real runs", "dual runs"))
    columns = {"error": error, "true": results.truth.squeeze("measure", drop=True), "group": group}
    save("runs", xr.Dataset(columns).to_dataframe()[list(columns)])


def save(name: str, table: pd.DataFrame) -> None:
    path = Path(__file__).with_suffix("")
    table.to_csv(f"{path}_{name}.csv", float_format="%.6g")


def of_sampler(collection: xr.DataTree, sampled: xr.DataTree) -> None:
    """Fit the first 12 topics by the sampler and by the approximation."""
    some = be.select(sampled, topics=collection["topic"].values[:12])
    model = be.models.relevance_model(some)
    fitted = be.fit(model, draws=1500, random_seed=1, sample_kwargs={"progressbar": False})
    save("verdict", be.verdict(fitted).to_dataframe())
    save("summary", az.summary(fitted, var_names=NAMES, ci_prob=0.9, ci_kind="eti"))
    save("curves", curves(fitted))
    whole = be.select(collection, topics=some["topic"].values)
    exact = be.evaluate(whole, "P@10", estimator="assumed").estimate.mean("topic")
    learned = collection["run"].values[collection["contributed"].values]
    quick = be.fit(model, approximation="laplace", draws=500, chains=1, random_seed=1)
    errors = {}
    thinned = fitted.isel(draw=slice(None, None, 12))
    for name, draws in {"sampler": thinned, "laplace": quick}.items():
        scores = be.posterior_scores(draws, some, "P@10", random_seed=1).estimate
        error = (scores.mean(["chain", "draw"]) - exact).sel(measure="P@10", run=learned)
        errors[name] = float(error.mean())
    save("approximation", pd.Series(errors, name="mean error").rename_axis("by").to_frame())


def curves(fitted: xr.DataTree) -> pd.DataFrame:
    """Posterior mean of the probability of relevance, by fused rank and topic."""
    rank = np.geomspace(1, 1000, 60)
    scale = kept_scale(fitted["constant_data"].to_dataset())
    x, curve, tail = scale.shape_of(rank).T
    draws = az.extract(fitted, num_samples=200, random_seed=1)
    curve = np.outer(draws.curvature, curve) + np.outer(draws.tail_effect, tail)
    topic = draws.topic_effect.transpose("sample", "topic", "predictor").values
    share = 1 / (1 + np.exp(-(topic[..., :1] + topic[..., 1:] * x + curve[:, None])))
    return pd.DataFrame(share.mean(axis=0).T, index=pd.Index(rank, name="fused rank"))


def eight_samples(collection, design, selected) -> xr.Dataset:
    """Estimates of stat, dyn and the model (Laplace approximation) on the same eight samples."""
    posterior = [
        posterior_summary(be.reveal(collection, design, selected.isel(replicate=number)), number)
        for number in range(8)
    ]
    posterior = xr.concat(posterior, "replicate")
    designed = be.experiments.replicate(
        collection, design, "P@10", estimators=["stat", "dyn"], n_replicates=8, random_seed=1
    )
    bounds = {name: posterior.interval.sel(ci_bound=name, drop=True) for name in ("lower", "upper")}
    modelled = designed.sel(estimator=["dyn"]).assign_coords(estimator=["model"])
    found = {"estimate": posterior.estimate, "standard_error": posterior.standard_error, **bounds}
    modelled = modelled.assign({k: v.expand_dims(estimator=["model"]) for k, v in found.items()})
    return xr.concat([designed, modelled], "estimator", data_vars="minimal")


def posterior_summary(sample: xr.DataTree, number: int) -> xr.Dataset:
    model = be.models.relevance_model(sample)
    fitted = be.fit(model, approximation="laplace", draws=250, chains=1, random_seed=number)
    return be.summarize(be.posterior_scores(fitted, sample, "P@10", random_seed=number))


if __name__ == "__main__":
    main()
