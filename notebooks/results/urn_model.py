"""Tables that the notebook of this name reads: recovery from simulated runs, and real runs.

``PYTHONPATH=. python notebooks/results/urn_model.py simulated`` fits the model to judged tops of 10
and of 60 ranks: ``population`` (what is learned of the means and spreads), ``recovery`` (single
runs and topics) and ``verdicts``. ``... round5`` compares the urn with the bounds of Moffat and
Zobel and with Park's interval on the real data in the folder that the environment variable
BAYESEVAL_REAL_DATA names: ``round5`` (one line a run) and ``bands`` (relevance of what a run has to
itself, by rank).
Some minutes each.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.inference import predictive_draws, prior_overlap, verdict_text
from benchmarks.real_data import round5

BANDS = ((1, 3), (4, 6), (7, 10), (11, 15), (16, 20), (21, 30), (31, 50))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["simulated", "round5"])
    {"simulated": of_simulated, "round5": of_round5}[parser.parse_args().part]()


def save(name: str, table: pd.DataFrame, digits: str = "%.6g") -> None:
    path = Path(__file__).with_suffix("")
    table.to_csv(f"{path}_{name}.csv", index=False, float_format=digits)


def of_simulated() -> None:
    logit_q, odds = np.random.default_rng(1).normal(-1.4, 0.7, 20), np.geomspace(0.05, 0.5, 20)
    collection = simulated(odds, logit_q)
    found = {depth: fitted(collection, depth) for depth in (10, 60)}
    verdicts = {depth: verdict_text(be.verdict(fit)) for depth, (_, fit) in found.items()}
    save("verdicts", pd.DataFrame(verdicts.items(), columns=["depth", "verdict"]))
    population = pd.concat([overlaps(depth, *both) for depth, both in found.items()])
    known = pd.Series(
        {
            "population_logit_prevalence": -1.4,
            "population_log_odds": np.log(odds).mean(),
            "population_contrast": -1.4 - np.log(odds).mean(),
            "topic_sd": 0.7,
            "run_sd": np.log(odds).std(ddof=1),
        }
    )
    population = population.assign(true=population["variable"].map(known)).dropna()
    columns = ["depth", "variable", "overlap", "posterior_mean", "posterior_sd", "true"]
    save("population", population[columns], "%.2f")
    truth = {
        "log_odds": np.log(odds),
        "contrast": -1.4 - np.log(odds),
        "logit_prevalence": logit_q,
    }
    rows = [recovered(depth, fit, truth) for depth, (_, fit) in found.items()]
    save("recovery", pd.concat(rows), "%.2f")


def simulated(odds: np.ndarray, logit_q: np.ndarray) -> xr.DataTree:
    """The collection of the notebook: twenty topics of 100 documents, twenty independent runs."""
    random = np.random.default_rng(1)
    random.normal(-1.4, 0.7, 20)  # the draws of logit_q come first
    n_relevant = random.binomial(100, 1 / (1 + np.exp(-logit_q)))
    shape = {"n_documents": 100, "shared": 0.0, "depth": 60, "random_seed": 1}
    return be.simulate.urn_collection(odds, n_relevant=n_relevant, **shape)


def fitted(collection: xr.DataTree, depth: int):
    """Model and fit of the judged tops of so many ranks."""
    given = {"frame": "judged", "documents": "all", "likelihood_weight": 1.0}
    model = be.models.urn_model(collection, depth=depth, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the verdict is written
        return model, be.fit(model, draws=500, tune=500, chains=2, random_seed=1)


def overlaps(depth: int, model, fit) -> pd.DataFrame:
    found = prior_overlap(predictive_draws(model, fit, n_draws=500, random_seed=1))
    return found.to_dataframe().reset_index().assign(depth=depth)


def recovered(depth: int, fit: xr.DataTree, truth: dict[str, np.ndarray]) -> pd.DataFrame:
    """Error of the posterior means, spread, and share of the intervals that hold the truth."""
    draws = fit["posterior"].to_dataset()
    rows = []
    for name, known in truth.items():
        mean, spread = (draws[name].mean(("chain", "draw")), draws[name].std(("chain", "draw")))
        lower, upper = draws[name].quantile([0.05, 0.95], dim=("chain", "draw")).values
        error = float(((mean - known) ** 2).mean() ** 0.5)
        covered = (lower <= known) & (known <= upper)
        rows.append([depth, name, error, float(spread.mean()), covered.mean()])
    columns = ["depth", "parameter", "RMS error", "posterior sd", "covered"]
    return pd.DataFrame(rows, columns=columns)


def of_round5() -> None:
    collection = round5()
    frame = collection["judgments/grade"].notnull()
    save("bands", bands(collection, frame))
    pool = be.designs.depth_pool(collection, 10)
    sampled = be.reveal(collection, pool, be.draw(pool, random_seed=1), unjudged="nonrelevant")
    measure = "RBP(p=0.95)"
    truth = be.evaluate(collection, measure, estimator="assumed").estimate.mean("topic")
    judgments = sampled["judgments"].to_dataset()
    inside = sampled.copy()  # grade 0 outside the frame, so that no interval counts it
    inside["judgments"] = xr.DataTree(judgments.assign(grade=judgments.grade.where(frame, 0.0)))
    grade = sampled["judgments/grade"].where(frame)
    share = float((grade >= 1).sum() / grade.notnull().sum())
    bounds = be.residual.rbp_bounds(inside, 0.95, over="topic", tail="nonrelevant")
    model = be.models.urn_model(sampled, depth=10, frame=frame)
    fit = be.fit(model, draws=500, tune=500, random_seed=1)
    post = be.posterior_scores(fit, sampled, measure, random_seed=1)
    results = {
        "bounds": bounds.assign(estimate=bounds.interval.mean("ci_bound")),
        "Park, judged share": be.residual.rbp_uncertainty(inside, 0.95, share, over="topic"),
        "Park, one half": be.residual.rbp_uncertainty(inside, 0.95, 0.5, over="topic"),
        "urn": be.summarize(post).isel(measure=0, drop=True),
    }
    columns = {"true": truth.isel(measure=0)}
    for name, result in results.items():
        columns[name] = result.estimate
        for side in ("lower", "upper"):
            columns[f"{name}, {side}"] = result.interval.sel(ci_bound=side)
    save("round5", pd.DataFrame({name: column.to_numpy() for name, column in columns.items()}))


def bands(collection: xr.DataTree, frame: xr.DataArray) -> pd.DataFrame:
    """Share relevant, by rank, of the documents that no other run shows at its first ten ranks."""
    ranking = collection["rankings/ranking"].values
    top = ranking[..., :10]
    shown_by = np.bincount(top[top >= 0], minlength=collection.sizes["pair"])
    relevant = (collection["judgments/grade"] >= 1).values
    rows = []
    for first, last in BANDS:
        pairs = ranking[..., first - 1 : last]
        pairs = pairs[pairs >= 0]
        own = frame.values[pairs] & (shown_by[pairs] == (1 if last <= 10 else 0))
        rows.append([f"{first} to {last}", own.sum(), relevant[pairs[own]].mean()])
    return pd.DataFrame(rows, columns=["ranks", "documents", "share relevant"])


if __name__ == "__main__":
    main()
