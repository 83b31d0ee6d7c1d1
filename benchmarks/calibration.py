"""Simulation-based calibration of the models: ranks, a table of tests, recovery, prior checks.

``python benchmarks/calibration.py run STUDY`` simulates (and goes on where it was stopped),
``python benchmarks/calibration.py report`` writes what benchmarks/calibration/ holds. A new study
is one function without arguments in STUDIES, which returns a function of a seed.
"""

import argparse
import logging
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be

KINDS = ("rank", "truth", "mean", "standard_error", "ess")
WORK = Path(tempfile.gettempdir()) / "bayeseval-calibration"
RESULTS = Path(__file__).parent / "calibration"
N_DRAWS = 99


def _urn(n_runs: int, **sizes) -> xr.DataTree:
    odds = np.geomspace(0.05, 0.6, n_runs)
    return be.simulate.urn_collection(odds, prevalence=0.15, random_seed=1, **sizes)


def relevance():
    """10 topics x 8 runs, 30 of 120 documents judged: effects in units of their spread."""
    return be.experiments.relevance_study(
        _urn(8, n_topics=10, n_documents=120, depth=60),
        be.models.relevance_model,
        be.experiments.RepeatedFits(draws=1000, tune=500, chains=2),
        budget=30,
        n_strata=5,
        measures=["P@10", "RBP(p=0.8)", "AP"],
    )


def relevance_centred():
    """5 topics x 8 runs, 80 of 160 documents judged: effects of topics written as they are."""
    return be.experiments.relevance_study(
        _urn(8, n_topics=5, n_documents=160, depth=60),
        be.models.relevance_model,
        be.experiments.RepeatedFits(draws=500, tune=500, chains=2),
        budget=80,
        n_strata=5,
        measures=["P@10", "RBP(p=0.8)", "AP"],
        runs=["run001", "run003", "run005", "run008"],
    )


def relevance_many_runs():
    """5 topics x 24 runs, 80 of 160 documents judged: effects of components as they are too."""
    return be.experiments.relevance_study(
        _urn(24, n_topics=5, n_documents=160, depth=60),
        be.models.relevance_model,
        be.experiments.RepeatedFits(draws=500, tune=500, chains=2),
        budget=80,
        n_strata=5,
        measures=["P@10", "RBP(p=0.8)", "AP"],
        runs=["run001", "run009", "run017", "run024"],
    )


def grade():
    """6 topics x 8 runs, 30 of 120 documents judged on a scale of three grades."""
    return be.experiments.relevance_study(
        _urn(8, n_topics=6, n_documents=120, depth=60, grade_proportions=[0.6, 0.4]),
        be.models.grade_model,
        be.experiments.RepeatedFits(draws=500, tune=500, chains=2),
        budget=30,
        n_strata=5,
        measures=["nDCG@10", "P@10"],
    )


STUDIES = {
    "relevance": relevance,
    "relevance_centred": relevance_centred,
    "grade": grade,
    "relevance_many_runs": relevance_many_runs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "report"])
    parser.add_argument("study", nargs="*", metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--work", type=Path, default=WORK, help="folder of unfinished runs")
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.WARNING)
    options.work.mkdir(parents=True, exist_ok=True)
    if options.action == "run":
        for name in options.study or STUDIES:
            run(name, options.simulations, options.work / f"{name}.csv")


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


if __name__ == "__main__":
    main()
