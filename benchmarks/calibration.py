"""Simulation-based calibration of the models: ranks, and a table of tests.

``python benchmarks/calibration.py run STUDY`` simulates (and goes on where it was stopped),
``report`` writes ``calibration/summary.csv`` and the pictures of three studies. A study is one
function without arguments in STUDIES, which returns a function of a seed.

In a simulation of a model of documents the rankings are given: parameters and the relevance (or
grade) of every pair come from the model's prior, a pps design draws judgments, the model is fitted
to them, and parameters and scores of the complete judgments are ranked among the posterior's. In
one of the urn, the relevances of every run's ranks come from the prior, the tops are judged and the
others hidden, with one urn and the likelihood as it is (``documents="all"``, weight 1): the runs
are then independent given the topic's number, and the likelihood is exact.
"""

import argparse
import json
import logging
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import bayeseval as be
from bayeseval.collection import with_node
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import rank_weight
from bayeseval.models.urn.tops import weighted_sums
from bayeseval.processors import dask_client, in_chunks
from benchmarks.simulation_based_calibration import (
    RepeatedFits,
    Study,
    covered,
    plot_ranks,
    prior_draw,
    rank_uniformity,
    simulation_based_calibration,
    step_seeds,
)

CHECKS = ("divergences", "r_hat", "ess_bulk", "ess_tail", "bfmi")
WORK = Path(tempfile.gettempdir()) / "bayeseval-calibration"
RESULTS = Path(__file__).parent / "calibration"
MEASURES = ["P@10", "RBP(p=0.8)", "AP"]
N_DRAWS = 99
LEVEL = 0.05
PICTURES = ("relevance", "grade", "urn")

WHOLE = (
    *("population_effect", "curvature", "tail_effect", "topic_sd", "topic_correlation"),
    *("reliability_sd", "curve_component_sd", "agreement_sd", "topic_component_sd"),
    *("topic_shape_sd", "step_intercept", "step_slope", "step_log_rank", "topic_step_sd"),
)
PARAMETERS: dict[str, dict[str, Any]] = dict.fromkeys(WHOLE, {}) | {
    "topic_step_effect": {"topic": slice(0, 2)},
    "topic_effect": {"topic": slice(0, 3)},
    "reliability": {"run": slice(0, 3)},
    "run_curve": {"curve": slice(0, 2), "run": slice(0, 1)},
    "topic_component_effect": {"topic": slice(0, 2), "topic_component": slice(0, 1)},
}
OF_URN = (
    "population_logit_prevalence",
    "population_log_odds",
    "population_contrast",
    "topic_sd",
    "run_sd",
)
N_SHOWN = 3  # entries of the longer parameters of the urn that are compared


def _urn(n_runs: int, **sizes) -> xr.DataTree:
    odds = np.geomspace(0.05, 0.6, n_runs)
    return be.simulate.urn_collection(odds, prevalence=0.15, random_seed=1, **sizes)


def relevance():
    """10 topics x 8 runs, 30 of 120 documents judged."""
    collection = _urn(8, n_topics=10, n_documents=120, depth=60)
    fits = RepeatedFits(draws=1000, tune=500, chains=2)
    build = be.models.relevance_model
    return relevance_study(collection, build, fits, budget=30, measures=MEASURES)


def relevance_many_runs():
    """12 topics x 20 runs, 110 of 160 documents judged."""
    collection = _urn(20, n_topics=12, n_documents=160, depth=60)
    fits = RepeatedFits(draws=500, tune=500, chains=2)
    compared = {"measures": MEASURES, "runs": ["run001", "run007", "run014", "run020"]}
    return relevance_study(collection, be.models.relevance_model, fits, budget=110, **compared)


def grade(fits=None):
    """6 topics x 8 runs, 30 of 120 documents judged on a scale of three grades."""
    sizes = {"n_topics": 6, "n_documents": 120, "depth": 60}
    collection = _urn(8, **sizes, grade_proportions=[0.6, 0.4])
    fits = fits or RepeatedFits(draws=500, tune=500, chains=2)
    measures = ["nDCG@10", "P@10"]
    return relevance_study(collection, be.models.grade_model, fits, budget=30, measures=measures)


def grade_laplace():
    """6 topics x 8 runs, 30 of 120 documents judged on three grades: by the approximation."""
    return grade(partial(be.fit, approximation="laplace", draws=500, chains=2))


def urn():
    """10 topics x 8 runs, 60 documents, 10 ranks of each run judged and 60 scored."""
    return urn_study(10, ["RBP(p=0.95)", "P@20"])


def urn_deep():
    """10 topics x 8 runs, 60 documents, 50 ranks of each run judged and 60 scored."""
    return urn_study(50, ["RBP(p=0.95)", "P@55"])


STUDIES = {
    "relevance": relevance,
    "relevance_many_runs": relevance_many_runs,
    "grade": grade,
    "grade_laplace": grade_laplace,
    "urn": urn,
    "urn_deep": urn_deep,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "report"])
    parser.add_argument("study", nargs="*", metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--work", type=Path, default=WORK, help="folder of unfinished runs")
    parser.add_argument("--scheduler", help="address of a dask scheduler")
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.WARNING)
    for folder in (options.work, RESULTS):
        folder.mkdir(parents=True, exist_ok=True)
    if options.action == "run":
        with dask_client(options.scheduler) as client:
            for name in options.study or STUDIES:
                run(name, options.simulations, options.work / f"{name}.csv", client)
        return
    files = {name: options.work / f"{name}.csv" for name in STUDIES}
    rows = {name: pd.read_csv(file) for name, file in files.items() if file.exists()}
    lines = [summary_line(name, STUDIES[name].__doc__ or "", rows[name]) for name in rows]
    table = pd.DataFrame(lines).convert_dtypes()  # whole numbers beside those that are missing
    table.to_csv(RESULTS / "summary.csv", index=False)
    for name in set(PICTURES) & rows.keys():
        figure = plot_ranks(calibration_of(rows[name]), level=LEVEL)
        figure.savefig(RESULTS / f"{name}.png", dpi=70)


def run(name: str, n_simulations: int, path: Path, client=None) -> None:
    """Simulate seeds 1, 2, ... that the file does not have yet; one row each."""
    done = set(pd.read_csv(path)["seed"]) if path.exists() else set()
    seeds = sorted(set(range(1, n_simulations + 1)) - done)
    for row in in_chunks(simulated, (STUDIES[name](),), seeds, name, client):
        pd.DataFrame([row]).to_csv(path, mode="a", header=not path.exists(), index=False)
        print(name, row["seed"], row["seconds"], flush=True)


def simulated(study: Study, seed: int) -> dict:
    """Row of one simulation."""
    began = time.perf_counter()
    found = simulation_based_calibration(study, [seed], n_draws=N_DRAWS)
    row = {"seed": seed, "seconds": round(time.perf_counter() - began, 2)}
    if "verdict" in found:
        values = found["verdict"].isel(simulation=0)
        row |= dict(zip(values["check"].values, values.to_numpy(), strict=True))
    ranks = found["rank"].isel(simulation=0).to_numpy()
    return row | dict(zip(found["quantity"].values, ranks, strict=True))


def calibration_of(rows: pd.DataFrame) -> xr.Dataset:
    """Rows of a run as what simulation_based_calibration returns."""
    ranks = rows.drop(columns=["seed", "seconds", *CHECKS], errors="ignore")
    return xr.Dataset(
        {"rank": (("simulation", "quantity"), ranks.to_numpy())},
        coords={"simulation": rows["seed"].to_numpy(), "quantity": ranks.columns.tolist()},
        attrs={"n_draws": N_DRAWS},
    )


def summary_line(name: str, what: str, rows: pd.DataFrame) -> dict:
    """Numbers of one study, all from its ranks and verdicts."""
    found = calibration_of(rows)
    tested = rank_uniformity(found, level=LEVEL)
    worst = int(tested["p_value"].to_numpy().argmin())
    inside = covered(found["rank"], N_DRAWS, 0.9)
    scores = np.array(["score" in str(name) for name in found["quantity"].values])
    return {
        "study": name,
        "setting": what,
        "simulations": len(rows),
        "quantities": found.sizes["quantity"],
        "failed": int((~tested["passed"]).sum()),
        "least_p_value": round(float(tested["p_value"][worst]), 5),
        "its_adjusted_p_value": round(float(tested["adjusted_p_value"][worst]), 4),
        "of": str(found["quantity"].values[worst]),
        "coverage_90_parameters": round(float(inside[:, ~scores].mean()), 3),
        "coverage_90_scores": round(float(inside[:, scores].mean()), 3),
        **(of_sampler(rows) if "r_hat" in rows else {}),
        "median_seconds": round(float(rows["seconds"].median()), 1),
    }


def of_sampler(rows: pd.DataFrame) -> dict:
    """How many fits of a study had faults; an approximation has no sampler."""
    return {
        "fits_with_divergences": int((rows["divergences"] > 0).sum()),
        "fits_r_hat_above_1.01": int((rows["r_hat"] > 1.01).sum()),
        f"fits_ess_below_{N_DRAWS}": int((rows["ess_bulk"] < N_DRAWS).sum()),
        "worst_r_hat": round(float(rows["r_hat"].max()), 3),
        "least_ess": round(float(rows[["ess_bulk", "ess_tail"]].min().min())),
    }


def relevance_study(
    collection: xr.DataTree,
    build,
    fits,
    *,
    budget: int,
    measures: list[str],
    n_strata: int = 5,
    runs: list[str] | None = None,
) -> Study:
    """Study of a model of relevance or of grades; every pair of the collection has a grade.

    Scores of ``runs`` (default: all) are compared, and the first topic's score by the first measure
    of the first and the last of them.
    """
    truth_of = prior_truth(collection, build)
    names = collection["run"].to_numpy() if runs is None else np.asarray(runs)

    def study(seed: int) -> xr.DataTree:
        of_prior, of_draw, of_fit, of_scores = step_seeds(seed)
        complete, prior = truth_of(of_prior)
        design = be.designs.pps_strata(complete, budget=budget, n_strata=n_strata)
        sampled = be.reveal(complete, design, be.draw(design, random_seed=of_draw))
        fitted = fits(build(sampled), random_seed=of_fit)
        true_score = be.evaluate(complete, measures, estimator="assumed")["estimate"]
        score = be.posterior_scores(fitted, sampled, measures, over=None, random_seed=of_scores)
        posterior = fitted["posterior"].to_dataset()
        groups = {
            "truth": _compared(prior, true_score, names),
            "posterior": _compared(posterior, score["estimate"], names),
        }
        if "sample_stats" in fitted.children:
            groups["verdict"] = be.verdict(fitted)
        return xr.DataTree.from_dict(groups)

    return study


def prior_truth(collection: xr.DataTree, build):
    """Function of a seed: complete judgments from a model's prior, and the parameters behind them.

    Every pair of the collection has a grade, of which only the scale is used.
    """
    model = build(collection)
    response = "grade" if "grade_value" in model.coords else "relevance"
    grades = np.unique(collection["judgments/grade"].to_numpy())
    assert not np.isnan(grades).any()
    scale = grades if response == "grade" else np.array([0.0, 1.0])
    judgments = collection.children["judgments"].to_dataset(inherit=False)
    judgments = judgments.assign_attrs(grade_scale=json.dumps(scale.tolist()))

    def truth(seed: int) -> tuple[xr.DataTree, xr.Dataset]:
        prior = prior_draw(model, None, seed)
        drawn = scale[prior[response].to_numpy()].astype(np.float32)
        judged = judgments.assign(grade=("pair", drawn))
        return with_node(collection, "judgments", judged), prior.drop_vars(response)

    return truth


def _compared(values: xr.Dataset, score: xr.DataArray, runs) -> xr.Dataset:
    """Parameters and scores whose true values are ranked, each with dims of its own."""
    compared = {name: values[name].isel(at) for name, at in PARAMETERS.items() if name in values}
    score = score.sel(run=runs)
    ends = [0, score.sizes["run"] - 1]
    by_topic = score.isel(measure=0, run=ends, topic=slice(0, 1), drop=True)
    compared |= {"mean_score": score.mean("topic", skipna=False), "topic_score": by_topic}
    # what is known of runs beside their names may differ between scores and truth
    compared = {name: value.reset_coords(drop=True) for name, value in compared.items()}
    return xr.Dataset({name: _own_dims(name, value) for name, value in compared.items()})


def _own_dims(name: str, value: xr.DataArray) -> xr.DataArray:
    shared = [str(dim) for dim in value.dims if dim not in ("chain", "draw")]
    return value.rename({dim: f"{name}_{dim}" for dim in shared})


def urn_study(
    depth: int, measures: list[str], *, n_topics=10, n_runs=8, n_documents=60, fits=None
) -> Study:
    """Study of ``urn_model``: all documents are ranked, and the ranks to ``depth`` are judged."""
    import pymc as pm

    fits = fits or RepeatedFits(draws=1000, tune=500, chains=2)
    sizes = {"n_topics": n_topics, "n_documents": n_documents, "depth": depth}
    collection = be.simulate.urn_collection(
        np.full(n_runs, 0.3), prevalence=0.2, random_seed=1, **sizes
    )
    model = be.models.urn_model(
        collection, depth=depth, frame="judged", documents="all", likelihood_weight=1.0
    )
    parsed = parse_measures(measures, relevance_level=1, grades=(0.0, 1.0))
    weight = [np.pad(w := rank_weight(m, n_documents), (0, n_documents - w.size)) for m in parsed]
    labels = [measure.label for measure in parsed]

    def study(seed: int) -> xr.DataTree:
        of_prior, of_lists, of_fit, of_scores = step_seeds(seed)
        prior = prior_draw(model, [*OF_URN, "log_odds", "logit_prevalence", "contrast"], of_prior)
        colour = _lists(prior, n_documents, of_lists)
        with model:
            pm.set_data({"judged_relevance": colour[:, :, :depth]})
        fitted = fits(model, random_seed=of_fit)
        posterior = fitted["posterior"].to_dataset()
        true = np.stack([(colour == 1) @ part for part in weight]).mean(axis=1)
        score = _urn_scores(posterior, colour, depth, weight, of_scores)
        dims = ("mean_score_measure", "mean_score_run")
        coords = dict(zip(dims, (labels, prior["run"].to_numpy()), strict=True))
        truth = _of_urn(prior).assign(mean_score=xr.DataArray(true, dims=dims, coords=coords))
        shape = (posterior.sizes["chain"], posterior.sizes["draw"], *true.shape)
        drawn = np.moveaxis(score, -1, 0).reshape(shape)
        drawn = xr.DataArray(drawn, dims=("chain", "draw", *dims), coords=coords)
        groups = {"truth": truth, "posterior": _of_urn(posterior).assign(mean_score=drawn)}
        return xr.DataTree.from_dict(groups | {"verdict": be.verdict(fitted)})

    return study


def _lists(prior: xr.Dataset, n_documents: int, seed: int) -> NDArray[np.int8]:
    """Relevances (topic, run, rank): M of every topic, and the draws of its runs."""
    from bayeseval.distributions.wallenius_sequence_draws import random_topics

    logit = prior["logit_prevalence"].to_numpy()
    odds = np.tile(prior["log_odds"].to_numpy(), (logit.size, 1))
    judged = np.ones((*odds.shape, n_documents), dtype=bool)
    number = np.full(logit.size, n_documents)
    return random_topics(np.random.default_rng(seed), odds, logit, number, judged)


def _urn_scores(posterior, colour, depth: int, weight, seed: int) -> NDArray:
    """Mean scores (measure, run, draw) with the ranks below ``depth`` drawn."""
    from bayeseval.distributions.wallenius_sequence_draws import filled_topic

    odds, logit = (
        posterior[name].transpose("chain", "draw", ...).to_numpy().reshape(-1, posterior.sizes[dim])
        for name, dim in (("log_odds", "run"), ("logit_prevalence", "topic"))
    )
    shown = colour.copy()
    shown[:, :, depth:] = -1
    n_topics, n_runs, n_documents = colour.shape
    judged = np.full(n_runs, depth)
    total = np.zeros((len(weight), n_runs, len(logit)))
    seeds = np.random.SeedSequence(seed).generate_state(n_topics)
    for topic, of_topic in enumerate(seeds.tolist()):
        filled, _ = filled_topic(
            of_topic, shown[topic], judged, odds, logit[:, topic], n_documents, 1.0
        )
        for index, part in enumerate(weight):
            total[index] += weighted_sums(filled, np.tile(part, (n_runs, 1)))
    return total / n_topics


def _of_urn(values: xr.Dataset) -> xr.Dataset:
    """Parameters whose true values are ranked, each with dims of its own."""
    compared = {name: values[name] for name in OF_URN}
    for name, dim in (("log_odds", "run"), ("contrast", "run"), ("logit_prevalence", "topic")):
        part = values[name].isel({dim: slice(0, N_SHOWN)})
        compared[name] = part.rename({dim: f"{name}_{dim}"})
    return xr.Dataset(compared)


if __name__ == "__main__":
    main()
