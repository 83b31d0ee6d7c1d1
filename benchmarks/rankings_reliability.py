"""Is P(a beats b) right, and do sets of ranks cover? On samples of real collections.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Truth: the complete
judgments of TREC-COVID round 5 (126 runs) and CLEF TAR 2017 (the 19 runs with a tag of their own),
20 pps strata, default dyn. Four tables:

- among pairs given the probability p, how many are right, with a flat prior and with the learned
  one, and by ``be.compare``, which has Student's t; a true tie counts half; errors are of samples
  as clusters;
- how often the intervals of ``be.compare`` hold the differences of all pairs, and how long they are
  beside those of the error as it is;
- the share of samples in which the simultaneous sets of ranks hold for all runs, and of run-samples
  in which each run's own does, beside the ranks of a plain bootstrap (draws around the estimates);
- the same for simulated scores with ties and near ties.

They are printed, and kept beside the notebook that shows them (notebooks/results): a run replaces
the rows of its collections and budget.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import clef
from benchmarks.held import held
from benchmarks.real_data import round5

RESULTS = Path(__file__).parents[1] / "notebooks" / "results"
PRIORS = {"flat": "dyn, flat prior", "normal": "dyn, learned prior"}
COMPARED = {"compare": "be.compare"}
Z = 1.6448536  # of 90 % intervals
EDGES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0 + 1e-9])
MEASURES = ["P@10", "RBP(p=0.8)", "AP"]
SIMULATED = {
    "20 runs tie": np.zeros(20),
    "4 blocks of 5 ties": np.repeat([0.0, 2.0, 4.0, 6.0], 5),
    "near ties": np.arange(20) * 0.05,
    "evenly apart": np.arange(20) * 1.0,
}


def sampled_means(collection, budget: int, n_samples: int):
    """Every sample, with its means and their covariance, raised as errors of ``compare`` are."""
    design = be.designs.pps_strata(collection, budget=budget)
    for seed in range(n_samples):
        sampled = be.reveal(collection, design, be.draw(design, random_seed=1000 + seed))
        scores = be.evaluate(sampled, MEASURES, estimator="dyn")
        matrix = be.covariance(sampled, MEASURES, estimator="dyn", anticipated=True)
        yield sampled, be.mean_over_topics(scores), matrix


def true_ranks(truth: np.ndarray) -> np.ndarray:
    higher = truth[..., None, :] > truth[..., :, None] + 1e-12
    return 1 + higher.sum(axis=-1)


class Reliability:
    """Counts of pairs by stated probability, one row a sample."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []

    def add(self, better: np.ndarray, truth: np.ndarray) -> None:
        """Probabilities (run, run) of being better, and true scores (run,)."""
        first, second = np.triu_indices(truth.size, k=1)
        self.add_pairs(better[first, second], truth[first] - truth[second])

    def add_pairs(self, stated: np.ndarray, apart: np.ndarray) -> None:
        """Probability that a difference is above 0, and the true difference, of every pair."""
        right = np.where(np.abs(apart) < 1e-12, 0.5, (apart > 0) == (stated >= 0.5))
        sure = np.maximum(stated, 1.0 - stated)
        known = ~np.isclose(stated, 0.5, atol=1e-9)  # runs that are one and the same
        at = np.digitize(sure[known], EDGES) - 1
        n_bins = EDGES.size - 1
        counts = [np.bincount(at, weights, n_bins) for weights in (None, sure[known], right[known])]
        self.rows.append(np.stack(counts))

    def table(self) -> pd.DataFrame:
        number, stated, right = np.stack(self.rows, axis=1)
        total = number.sum(axis=0)
        share = right.sum(axis=0) / total
        error = np.sqrt(np.square(right - share * number).sum(axis=0)) / total
        return pd.DataFrame(
            {"probability": stated.sum(axis=0) / total, "right": share, "error": error,
             "pairs": total.astype(int)}
        )  # fmt: skip


class Differences:
    """Whether intervals of differences hold them, one row a sample."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, float]] = []

    def add(self, compared: xr.Dataset, apart: np.ndarray) -> None:
        low, high = compared.interval.transpose("ci_bound", "comparison").to_numpy()
        plain = 2.0 * Z * compared.standard_error.to_numpy()
        known = high - low > 1e-12  # not of runs that are one and the same
        longer = (high - low)[known].mean() / plain[known].mean()
        self.rows.append((held(apart, low, high)[known].mean(), longer))

    def table(self) -> dict[str, float]:
        inside, longer = np.array(self.rows).T
        error = inside.std(ddof=1) / np.sqrt(inside.size)
        return {"covered": inside.mean(), "error": error, "length_over_plain": longer.mean()}


def plain_bootstrap(mean: xr.Dataset, matrix: xr.DataArray, seed: int) -> np.ndarray:
    """Bounds (measure, run, bound) of ranks of scores drawn around the estimates."""
    return be.rankings.rank_probabilities(
        mean, covariance=matrix, prior="flat", n_draws=1000, random_seed=seed
    ).interval.transpose("measure", "run", "ci_bound").to_numpy()  # fmt: skip


def sets_held(
    mean: xr.Dataset, matrix: xr.DataArray, rank: np.ndarray, n_draws: int, seed: int
) -> dict[str, np.ndarray]:
    """Whether sets of ranks of three kinds hold the true ones (measure, run)."""
    given = {"covariance": matrix, "n_draws": n_draws, "random_seed": seed}
    bounds = {
        kind: be.rankings.rank_sets(mean, simultaneous=at_once, **given).interval.to_numpy()
        for kind, at_once in (("simultaneous", True), ("each run", False))
    }
    bounds["plain bootstrap"] = plain_bootstrap(mean, matrix, seed)
    return {kind: (x[..., 0] <= rank) & (rank <= x[..., 1]) for kind, x in bounds.items()}


def on_real_data(options) -> None:
    for name, collection in (("CLEF TAR 2017", clef()), ("round 5", round5())):
        if options.only and options.only not in name:
            continue
        truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
        truth = truth.transpose("measure", "run").to_numpy()
        reliability = {(m, p): Reliability() for m in MEASURES for p in PRIORS | COMPARED}
        of_pairs = {measure: Differences() for measure in MEASURES}
        first, second = np.triu_indices(truth.shape[1], k=1)
        apart = truth[:, first] - truth[:, second]
        inside = []
        rank = true_ranks(truth)
        for seed, (sampled, mean, matrix) in enumerate(
            sampled_means(collection, options.budget, options.samples)
        ):
            compared = be.compare(sampled, MEASURES, estimator="dyn", random_seed=seed)
            for index, measure in enumerate(MEASURES):
                some = compared.sel(measure=measure)
                stated = some.probability_better.to_numpy()
                reliability[measure, "compare"].add_pairs(stated, apart[index])
                of_pairs[measure].add(some, apart[index])
            for prior in PRIORS:
                found = be.rankings.rank_probabilities(
                    mean, covariance=matrix, prior=prior, n_draws=10, random_seed=seed
                )
                for index, measure in enumerate(MEASURES):
                    better = found.better.sel(measure=measure).to_numpy()
                    reliability[measure, prior].add(better, truth[index])
            if seed < options.sets:
                inside.append(sets_held(mean, matrix, rank, 1500, seed))
        parts = [
            reliability[key].table().assign(measure=key[0], source=(PRIORS | COMPARED)[key[1]])
            for key in reliability
        ]
        facts = {"collection": name, "budget": options.budget, "samples": options.samples}
        keep("reliability", pd.concat(parts).assign(**facts))
        rows = [{"measure": m, "source": "be.compare"} | one.table() for m, one in of_pairs.items()]
        keep("differences", pd.DataFrame(rows).assign(**facts))
        facts["samples"] = options.sets
        keep("rank_sets", coverage(inside, MEASURES).assign(**facts))


def keep(name: str, rows: pd.DataFrame) -> None:
    """Print rows, and put them in the place of those of the same collections and budget."""
    print(rows.to_string(index=False, float_format="%.3f"), flush=True)
    path = RESULTS / f"cormack_grossman_rankings_2019_{name}.csv"
    rows = rows.set_index(["collection", "budget", "measure", "source"])
    if path.exists():
        before = pd.read_csv(path, index_col=list(rows.index.names))
        again = before.index.droplevel([2, 3]).isin(rows.index.droplevel([2, 3]))
        rows = pd.concat([before[~again], rows])
    rows.sort_index(kind="stable").to_csv(path, float_format="%.5g")


def coverage(samples: list[dict[str, np.ndarray]], measures: list[str]) -> pd.DataFrame:
    """Share of samples in which all runs are held, and of runs; errors are of samples."""
    rows = []
    for kind in samples[0]:
        every = np.stack([inside[kind] for inside in samples])  # sample, measure, run
        for index, measure in enumerate(measures):
            by_run = every[:, index].mean(axis=1)
            rows.append({
                "measure": measure, "source": kind, "all_runs": (by_run == 1.0).mean(),
                "a_run": by_run.mean(), "error": by_run.std(ddof=1) / np.sqrt(len(by_run)),
                "worst_run": every[:, index].mean(axis=0).min(),
            })  # fmt: skip
    return pd.DataFrame(rows)


def on_simulated_scores(options) -> None:
    random = np.random.default_rng(1)
    runs = [f"r{i}" for i in range(20)]
    for name, truth in SIMULATED.items():
        root = random.normal(size=(20, 30)) / np.sqrt(30) + 0.7 * random.normal(size=30) / 5
        covariance = root @ root.T
        matrix = xr.DataArray(
            covariance[None], dims=("measure", "run", "run_other"),
            coords={"measure": ["score"], "run": runs, "run_other": runs},
        )  # fmt: skip
        rank = true_ranks(truth)[None]
        inside = []
        for seed in range(options.simulations):
            estimate = random.multivariate_normal(truth, covariance)
            mean = xr.Dataset(
                {"estimate": (("measure", "run"), estimate[None])},
                coords={"measure": ["score"], "run": runs},
            )
            inside.append(sets_held(mean, matrix, rank, 1000, seed))
        facts = {"collection": name, "budget": 0, "samples": options.simulations}
        keep("rank_sets", coverage(inside, ["score"]).assign(**facts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--only", help="part of a collection's name, or 'simulated'")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    began = time.monotonic()
    if options.only in (None, "simulated"):
        on_simulated_scores(options)
    if options.only != "simulated":
        on_real_data(options)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
