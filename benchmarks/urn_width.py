"""Coverage of the urn model's intervals on simulated runs that share documents.

Collections from the urn with correlated noises, so that each run is an urn by itself and runs agree
on documents (with ``shared`` 0 by their relevance only); a depth-10 pool; 90 % intervals for
RBP(p=0.95) of every run. Variants: the likelihood weight by judgments, and weight 1. Truth: the
complete judgments. Run it with ``python benchmarks/urn_width.py``.
"""

import argparse
import warnings

import numpy as np
from scipy.special import expit

import bayeseval as be
from benchmarks.held import held

MEASURE = "RBP(p=0.95)"
VARIANTS = {
    "weight by judgments": {},
    "weight 1": {"likelihood_weight": 1.0},
}
N_TOPICS, N_DOCUMENTS = 20, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collections", type=int, default=8)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shared", type=float, nargs="+", default=[0.0, 0.5, 0.8])
    options = parser.parse_args()
    print("| shared | variant | bias | RMS error | posterior sd | coverage | its error |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for shared in options.shared:
        found = {name: [] for name in VARIANTS}
        for number in range(options.collections):
            of_collection = simulated(options.runs, shared, options.seed + number)
            for name, variant in VARIANTS.items():
                found[name].append(one(*of_collection, variant, options.seed + number))
        for name, results in found.items():
            print_row(shared, name, np.array(results))


def simulated(n_runs: int, shared: float, seed: int):
    """A pooled collection, and the true mean score of every run."""
    random = np.random.default_rng([seed, 1])
    prevalence = expit(random.normal(-1.4, 0.7, N_TOPICS))
    collection = be.simulate.urn_collection(
        np.geomspace(0.05, 0.4, n_runs),
        n_documents=N_DOCUMENTS,
        n_relevant=random.binomial(N_DOCUMENTS, prevalence),
        shared=shared,
        random_seed=seed,
    )
    truth = be.evaluate(collection, MEASURE, estimator="assumed").estimate.mean("topic")
    pool = be.designs.depth_pool(collection, 10)
    sampled = be.reveal(collection, pool, be.draw(pool, random_seed=seed))
    return sampled, truth.isel(measure=0).to_numpy()


def one(sampled, truth, variant: dict, seed: int) -> list[np.ndarray]:
    """Error, posterior standard deviation and coverage of every run."""
    model = be.models.urn_model(sampled, depth=10, frame="retrieved", **variant)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # 600 draws are few for the verdict
        fitted = be.fit(model, draws=300, tune=300, chains=2, random_seed=seed)
    summary = be.summarize(be.posterior_scores(fitted, sampled, MEASURE, random_seed=seed))
    summary = summary.isel(measure=0)
    lower, upper = (summary.interval.sel(ci_bound=b).to_numpy() for b in ("lower", "upper"))
    error = summary.estimate.to_numpy() - truth
    return [error, summary.standard_error.to_numpy(), held(truth, lower, upper)]


def print_row(shared: float, name: str, results: np.ndarray) -> None:
    error, spread, covered = np.moveaxis(results, 1, 0)
    share = covered.mean(axis=1)
    noise = share.std(ddof=1) / np.sqrt(share.size) if share.size > 1 else np.nan
    numbers = [error.mean(), np.sqrt((error**2).mean()), spread.mean(), share.mean(), noise]
    cells = " | ".join(f"{number:.4f}" for number in numbers)
    print(f"| {shared} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
