"""Intervals for the population of topics where topics come in groups, such as turns.

Worlds of 20 conversations of five turns, each another draw of the same population, and eight runs.
The log odds of a relevant document in a ranking, and the log of the number of relevant documents,
have a part of the conversation and one of the turn; so has what a run is better or worse by. The
truth is the mean over all worlds. Prints what 90 % intervals of scores and of differences hold, and
sets of ranks of all runs at once, with topics taken for independent and with ``topic_groups``, of
complete judgments and by ``dyn``.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.held import held

MEASURES = ["P@10", "nDCG@10", "AP", "R@100"]
N_GROUPS, N_TURNS, BUDGET = 20, 5, 50
LOG_ODDS = np.linspace(-2.6, -1.6, 8)  # of the runs
SPREAD = {"conversation": 0.8, "turn": 0.4}  # deviations of the log odds, and of the log number
OWN = 0.4  # times as much of each run alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--sampled", type=int, default=20, help="of these are sampled too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    worlds = [world(seed) for seed in range(options.worlds)]
    exact = [be.evaluate(one, MEASURES, estimator="assumed").estimate for one in worlds]
    truth = sum(one.mean("topic") for one in exact) / len(exact)
    rows = {}
    for estimator, some in (("assumed", worlds), ("dyn", worlds[: options.sampled])):
        known = [one if estimator == "assumed" else sampled(one, i) for i, one in enumerate(some)]
        for name, groups in (("topics", None), ("groups", GROUPS)):
            found = [intervals(one, estimator, groups) for one in known]
            for what, index in (("scores", 0), ("differences", 1)):
                lower, upper = (xr.concat([f[index][i] for f in found], "world") for i in (0, 1))
                true = truth if what == "scores" else _apart(truth, lower)
                inside = held(true, lower, upper).mean([d for d in lower.dims if d != "measure"])
                rows[estimator, what, name] = inside.to_series()
            lower, upper = (xr.concat([f[2][i] for f in found], "world") for i in (0, 1))
            inside = held(_ranks(truth), lower, upper).all("run")
            rows[estimator, "ranks", name] = inside.mean("world").to_series()
    print(pd.DataFrame(rows).T.to_string(float_format="{:.3f}".format))


GROUPS = {str(topic + 1): topic // N_TURNS for topic in range(N_GROUPS * N_TURNS)}


def world(seed: int) -> xr.DataTree:
    """Complete judgments of what the runs found."""
    random = np.random.default_rng(seed)
    log_odds = LOG_ODDS[:, None] + _parts(random, 1) + OWN * _parts(random, LOG_ODDS.size)
    number = np.clip(np.rint(np.exp(2.7 + _parts(random, 1)[0])), 2, 150).astype(int)
    return be.simulate.urn_collection(
        np.exp(log_odds), n_documents=600, n_relevant=number, keep="retrieved", random_seed=seed
    )


def _parts(random: np.random.Generator, n_runs: int) -> np.ndarray:
    """Normal effects (run, topic) of conversations and of turns."""
    of_group = random.normal(0.0, SPREAD["conversation"], (n_runs, N_GROUPS))
    return of_group.repeat(N_TURNS, axis=1) + random.normal(
        0.0, SPREAD["turn"], (n_runs, N_GROUPS * N_TURNS)
    )


def sampled(complete: xr.DataTree, seed: int) -> xr.DataTree:
    """The same with a sample of the judgments."""
    design = be.designs.pps_strata(complete, budget=BUDGET)
    return be.reveal(complete, design, be.draw(design, random_seed=seed))


def intervals(collection: xr.DataTree, estimator: str, groups) -> tuple:
    """Bounds of mean scores, of differences of all pairs of runs, and of all ranks at once."""
    over = {"population": "topics", "topic_groups": groups}
    scores = be.evaluate(collection, MEASURES, estimator=estimator)
    mean = be.mean_over_topics(scores, **over)
    pairs = be.compare(collection, MEASURES, estimator=estimator, n_permutations=1, **over)
    sets = be.rankings.rank_sets(scores, topic_groups=groups, simultaneous=True)
    return _bounds(mean), _bounds(pairs), _bounds(sets)


def _bounds(scores: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    return tuple(scores["interval"].sel(ci_bound=side, drop=True) for side in ("lower", "upper"))


def _ranks(truth: xr.DataArray) -> xr.DataArray:
    """True ranks of the runs."""
    return 1 + (truth.rename(run="run_other") > truth).sum("run_other")


def _apart(truth: xr.DataArray, pairs: xr.DataArray) -> xr.DataArray:
    """True differences of the pairs of runs."""
    first, second = (truth.sel(run=pairs[name]).drop_vars("run") for name in ("run_a", "run_b"))
    return first - second


if __name__ == "__main__":
    main()
