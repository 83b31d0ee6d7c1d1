"""Simulation-based calibration of the models: ranks, a table of tests, recovery, prior checks.

``python benchmarks/calibration.py run STUDY`` simulates (and goes on where it was stopped),
``report`` writes what benchmarks/calibration/ holds, ``prior`` the checks of the priors. A new
study is one function without arguments in STUDIES, which returns a function of a seed.
"""

import argparse
import logging
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.experiments.calibration import prior_draw
from bayeseval.experiments.calibration_recovery import covered
from benchmarks.count_study import count_study
from benchmarks.urn_study import urn_study

CHECKS = ("divergences", "r_hat", "ess_bulk", "ess_tail", "bfmi")
KINDS = ("rank", "truth", "mean", "standard_error", "ess")
WORK = Path(tempfile.gettempdir()) / "bayeseval-calibration"
RESULTS = Path(__file__).parent / "calibration"
MEASURES = ["P@10", "RBP(p=0.8)", "AP"]
N_DRAWS = 99
LEVEL = 0.05
SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
PRIORS = {"relevance": be.models.relevance_model, "grade": be.models.grade_model}


def _urn(n_runs: int, **sizes) -> xr.DataTree:
    odds = np.geomspace(0.05, 0.6, n_runs)
    return be.simulate.urn_collection(odds, prevalence=0.15, random_seed=1, **sizes)


def _of_documents(collection, build, *, budget: int, draws: int = 500, fits=None, **compared):
    """Study of a model of relevance or grades, sampled from 5 strata a topic."""
    fits = fits or be.experiments.RepeatedFits(draws=draws, tune=500, chains=2)
    return be.experiments.relevance_study(
        collection, build, fits, budget=budget, n_strata=5, **compared
    )


def relevance():
    """10 topics x 8 runs, 30 of 120 documents judged: effects in units of their spread."""
    collection = _urn(8, n_topics=10, n_documents=120, depth=60)
    model = be.models.relevance_model
    return _of_documents(collection, model, draws=1000, budget=30, measures=MEASURES)


def relevance_centred():
    """5 topics x 8 runs, 80 of 160 documents judged: effects of topics written as they are."""
    collection = _urn(8, n_topics=5, n_documents=160, depth=60)
    model = partial(be.models.relevance_model, topic_effects="centred")
    compared = {"measures": MEASURES, "runs": ["run001", "run003", "run005", "run008"]}
    return _of_documents(collection, model, draws=500, budget=80, **compared)


def relevance_many_runs():
    """12 topics x 20 runs, 110 of 160 documents judged."""
    collection = _urn(20, n_topics=12, n_documents=160, depth=60)
    compared = {"measures": MEASURES, "runs": ["run001", "run007", "run014", "run020"]}
    return _of_documents(collection, be.models.relevance_model, draws=500, budget=110, **compared)


def grade():
    """6 topics x 8 runs, 30 of 120 documents judged on a scale of three grades."""
    compared = {"measures": ["nDCG@10", "P@10"]}
    return _of_documents(_graded(), be.models.grade_model, draws=500, budget=30, **compared)


def grade_laplace():
    """6 topics x 8 runs, 30 of 120 documents judged on three grades: by the approximation."""
    fits = partial(be.fit, approximation="laplace", draws=500, chains=2)
    compared = {"measures": ["nDCG@10", "P@10"]}
    return _of_documents(_graded(), be.models.grade_model, fits=fits, budget=30, **compared)


def _graded() -> xr.DataTree:
    sizes = {"n_topics": 6, "n_documents": 120, "depth": 60}
    return _urn(8, **sizes, grade_proportions=[0.6, 0.4])


def _urn_lists(depth: int, measures: list[str]):
    return urn_study(
        be.experiments.RepeatedFits(draws=1000, tune=500, chains=2),
        n_topics=10,
        n_runs=8,
        n_documents=60,
        depth=depth,
        n_ranks=60,
        measures=measures,
    )


def urn():
    """10 topics x 8 runs, 60 documents, 10 ranks of each run judged and 60 scored."""
    return _urn_lists(10, ["RBP(p=0.95)", "P@20"])


def urn_deep():
    """10 topics x 8 runs, 60 documents, 50 ranks of each run judged and 60 scored."""
    return _urn_lists(50, ["RBP(p=0.95)", "P@55"])


def score():
    """8 runs of two groups, estimates and model's draws with errors that runs share."""
    import pymc as pm

    model = _score_model()
    fits = be.experiments.RepeatedFits(draws=1000, tune=500, chains=2)
    names = ["log_near_ratio", "logit_far_weight", "common", "discrepancy", "score"]

    def study(seed: int) -> xr.DataTree:
        of_prior, of_fit = map(int, np.random.SeedSequence(seed).generate_state(2) >> 1)
        prior = prior_draw(model, None, of_prior)
        with model:
            pm.set_data({"judged_estimate": prior["estimate"].to_numpy()})
        fitted = fits(model, random_seed=of_fit)
        groups = {"truth": prior[names], "posterior": fitted["posterior"].to_dataset()[names]}
        return xr.DataTree.from_dict(groups | {"verdict": be.verdict(fitted)})

    return study


def _score_model():
    """Model of 8 runs whose design errors and whose model's errors are correlated."""
    random = np.random.default_rng(5)
    runs = [f"r{i}" for i in range(8)]
    dims = ("measure", "run")
    centre = np.linspace(0.3, 0.6, 8)
    matrix = 0.02**2 * (0.5 + 0.5 * np.eye(8))
    error = np.sqrt(np.diagonal(matrix))[None]
    coords = {"measure": ["P@10"], "run": runs, "contributed": ("run", np.arange(8) < 4)}
    half = 1.6448536269514722 * error
    mean = xr.Dataset(
        {
            "estimate": (dims, centre[None]),
            "standard_error": (dims, error),
            "degrees_of_freedom": (dims, np.full((1, 8), np.inf)),
            "interval": ((*dims, "ci_bound"), np.stack([centre - half, centre + half], axis=-1)),
        },
        coords=coords,
        attrs={"population": "sample"},
    )
    drawn = random.multivariate_normal(centre, 0.5 * matrix, (1, 1000))[:, :, None]
    post = xr.Dataset({"estimate": (("chain", "draw", *dims), drawn)}, coords=coords)
    labels = {"measure": ["P@10"], "run": runs, "run_other": runs}
    covariance = xr.DataArray(matrix[None], coords=labels, dims=(*dims, "run_other"))
    known = {"near_ratio": 1.2, "design_ratio": 0.0, "common_ratio": 0.4}
    known |= {"far_sd": 0.15, "far_weight": 0.05}
    other = known | {"near_ratio": 2.4, "far_weight": 0.3}
    constants = {"contributed": known, "new": other}
    return be.models.score_model(mean, post, covariance=covariance, constants=constants)


def counts():
    """8 topics x 5 strata, 20 of 100 documents judged: numbers of relevant documents."""
    return count_study(
        _urn(4, n_topics=8, n_documents=100, depth=60),
        be.experiments.RepeatedFits(draws=300, tune=300, chains=2),
        budget=20,
        n_strata=5,
        priors={"intercept": (-1.5, 1.0), "curve": (0.0, 0.5)},
    )


STUDIES = {
    "score": score,
    "relevance": relevance,
    "urn": urn,
    "urn_deep": urn_deep,
    "counts": counts,
    "relevance_centred": relevance_centred,
    "grade": grade,
    "grade_laplace": grade_laplace,
    "relevance_many_runs": relevance_many_runs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "report", "prior"])
    parser.add_argument("study", nargs="*", metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--work", type=Path, default=WORK, help="folder of unfinished runs")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.WARNING)
    for folder in (options.work, options.output):
        folder.mkdir(parents=True, exist_ok=True)
    if options.action == "prior":
        prior(options.simulations, options.output)
    for name in (options.study or STUDIES) if options.action == "run" else ():
        run(name, options.simulations, options.work / f"{name}.csv")
    if options.action == "report":
        for name in options.study or STUDIES:
            if (options.work / f"{name}.csv").exists():
                report(name, options.work / f"{name}.csv", options.output)
        summarise(options.output)


def run(name: str, n_simulations: int, path: Path) -> None:
    """Simulate seeds 1, 2, ... that the file does not have yet; one row each."""
    done = set(pd.read_csv(path)["seed"]) if path.exists() else set()
    study = STUDIES[name]()
    for seed in sorted(set(range(1, n_simulations + 1)) - done):
        began = time.perf_counter()
        found = be.experiments.simulation_based_calibration(study, [seed], n_draws=N_DRAWS)
        row = {"seed": seed, "seconds": round(time.perf_counter() - began, 2)}
        if "verdict" in found:
            values = found["verdict"].isel(simulation=0)
            row |= dict(zip(values["check"].values, values.to_numpy(), strict=True))
        for kind in KINDS:
            values = found[kind].isel(simulation=0).to_numpy()
            row |= {f"{kind}:{q}": v for q, v in zip(found["quantity"].values, values, strict=True)}
        pd.DataFrame([row]).to_csv(path, mode="a", header=not path.exists(), index=False)
        print(name, seed, row["seconds"], flush=True)


def calibration_of(rows: pd.DataFrame) -> xr.Dataset:
    """Rows of a run as what simulation_based_calibration returns."""
    kinds = {kind: rows.filter(regex=f"^{kind}:") for kind in KINDS}
    names = [column.removeprefix("rank:") for column in kinds["rank"]]
    return xr.Dataset(
        {k: (("simulation", "quantity"), v.to_numpy()) for k, v in kinds.items() if v.size},
        coords={"simulation": rows["seed"].to_numpy(), "quantity": names},
        attrs={"n_draws": N_DRAWS},
    )


def report(name: str, path: Path, folder: Path) -> None:
    """Write the ranks, the tests and the recovery of a study, and its picture."""
    rows = pd.read_csv(path).sort_values("seed")
    kept = [c for c in rows if c in ("seed", "seconds", *CHECKS) or c.startswith("rank:")]
    rows[kept].round(5).to_csv(folder / f"{name}_ranks.csv", index=False)
    found = calibration_of(rows)
    table = quantity_table(found)
    least = found["ess"].min("simulation").to_series()
    table.assign(least_ess=least.round(0)).round(4).to_csv(folder / f"{name}_quantities.csv")
    be.experiments.plot_ranks(found, level=LEVEL).savefig(folder / f"{name}.png", dpi=70)


def quantity_table(found: xr.Dataset) -> pd.DataFrame:
    """Test and recovery of every quantity."""
    tested = be.experiments.rank_uniformity(found, level=LEVEL)
    table = tested.to_dataframe()[["p_value", "adjusted_p_value", "passed"]]
    if "truth" in found:
        recovered = be.experiments.recovery(found)
        bounds = recovered["coverage_interval"].to_pandas().add_prefix("coverage_")
        table = table.join(recovered.drop_dims("ci_bound").to_dataframe()).join(bounds)
    return table


def summarise(folder: Path) -> None:
    """Write one line per study: what was run, with which command, and what came of it."""
    lines = []
    for name, study in STUDIES.items():
        path = folder / f"{name}_ranks.csv"
        if path.exists():
            lines.append(summary_line(name, study.__doc__ or "", pd.read_csv(path)))
    table = pd.DataFrame(lines).convert_dtypes()  # whole numbers beside those that are missing
    table.to_csv(folder / "summary.csv", index=False)


def summary_line(name: str, what: str, rows: pd.DataFrame) -> dict:
    """Numbers of one study, all from its ranks and verdicts."""
    found = calibration_of(rows)
    tested = be.experiments.rank_uniformity(found, level=LEVEL)
    worst = int(tested["p_value"].to_numpy().argmin())
    inside = covered(found["rank"], N_DRAWS, 0.9)
    scores = [
        str(q).startswith(("mean_score", "topic_score", "score")) for q in found["quantity"].values
    ]
    return {
        "study": name,
        "setting": what,
        "command": f"python benchmarks/calibration.py run {name} --simulations {len(rows)}",
        "seeds": f"{rows['seed'].min()} to {rows['seed'].max()}",
        "simulations": len(rows),
        "quantities": found.sizes["quantity"],
        "test": f"{tested.attrs['test']}, {N_DRAWS} draws, level {LEVEL}",
        "failed": int((~tested["passed"]).sum()),
        "least_p_value": round(float(tested["p_value"][worst]), 5),
        "its_adjusted_p_value": round(float(tested["adjusted_p_value"][worst]), 4),
        "of": str(found["quantity"].values[worst]),
        "coverage_90_parameters": round(float(inside[:, ~np.array(scores)].mean()), 3),
        "coverage_90_scores": round(float(inside[:, scores].mean()), 3) if any(scores) else np.nan,
        **(of_sampler(rows) if "r_hat" in rows else {}),
        "median_seconds": round(float(rows["seconds"].median()), 1),
    }


def of_sampler(rows: pd.DataFrame) -> dict:
    """How many fits of a study had faults; an approximation has no sampler."""
    return {
        "fits_with_divergences": int((rows["divergences"] > 0).sum()),
        "fits_r_hat_above_1.01": int((rows["r_hat"] > 1.01).sum()),
        "fits_ess_below_400": int((rows[["ess_bulk", "ess_tail"]].min(axis=1) < 400).sum()),
        f"fits_ess_below_{N_DRAWS}": int((rows["ess_bulk"] < N_DRAWS).sum()),
        "fits_bfmi_below_0.3": int((rows["bfmi"] < 0.3).sum()),
        "worst_r_hat": round(float(rows["r_hat"].max()), 3),
        "least_ess": round(float(rows[["ess_bulk", "ess_tail"]].min().min())),
    }


def prior(n_simulations: int, folder: Path) -> None:
    """Write what the models' priors say of prevalence and of mean scores, table and picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    lines = []
    for number, (name, build) in enumerate(PRIORS.items()):
        collection = _urn(8, n_topics=10, n_documents=120, depth=60, grade_proportions=[0.6, 0.4])
        seeds = range(1, n_simulations + 1)
        found = be.experiments.prior_predictive(collection, build, ["P@10"], seeds)
        score = found["mean_score"].sel(measure="P@10")
        spread = score.max("run") - score.min("run")
        values = {
            "prevalence of a topic": found["prevalence"],
            "MP@10 of a run": score,
            "MP@10, best less worst run": spread,
        }
        for what, value in values.items():
            quantiles = np.quantile(value, SHARES)
            cells = {f"q{share:g}": round(float(q), 3) for share, q in zip(SHARES, quantiles)}
            lines.append({"model": name, "quantity": what, "simulations": n_simulations} | cells)
        color = ("#0072B2", "#D55E00")[number]
        step: dict = {"bins": 25, "range": (0, 1), "histtype": "step", "color": color}
        left.hist(found["prevalence"].values.ravel(), **step)
        right.hist(score.values.ravel(), label=name, **step)
    left.set_xlabel("share of a topic's 120 documents that is relevant", fontsize=8)
    right.set_xlabel("MP@10 of a run", fontsize=8)
    right.legend(fontsize=7)
    figure.savefig(folder / "prior.png", dpi=90)
    pd.DataFrame(lines).to_csv(folder / "prior.csv", index=False)


if __name__ == "__main__":
    main()
