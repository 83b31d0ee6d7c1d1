"""Do the intervals of ``bias_variance`` cover? A meta-experiment on simulated tables.

Scores of 20 runs on 30 topics: a run's quality, a topic's difficulty and noise; the method in
question adds a bias of its own to every run. Truth: the functional from 4,000 fresh results.
"""

import argparse

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.rankings.geometry import Request, distances_between
from bayeseval.rankings.geometry_interval import signed_root

N_TOPICS = 30
NAMES = ["bias", "sigma", "sigma_gold", "mse", "rmse"]


def tables(random, quality, bias) -> list[np.ndarray]:
    """Scores (topic, run) of the method and of the gold standard, on the same topics."""
    shape = (N_TOPICS, quality.size)
    gold = quality + random.normal(size=(N_TOPICS, 1)) + 1.5 * random.normal(size=shape)
    return [gold + bias + 0.7 * random.normal(size=shape), gold]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--boot", type=int, default=60)
    parser.add_argument("--outer", type=int, default=40)
    parser.add_argument("--spread", type=float, nargs="+", default=[0.0, 0.3, 0.8])
    parser.add_argument("--distance", default="paper")
    options = parser.parse_args()
    for spread in options.spread:
        first = np.random.default_rng(3)
        quality = np.sort(first.normal(size=20))
        bias = spread * first.normal(size=20)
        fresh = np.random.default_rng(99)
        results = [
            np.array([tables(fresh, quality, bias)[which].mean(axis=0) for _ in range(4000)])
            for which in (0, 1)
        ]
        request = Request(options.boot, None, "tau", options.distance, "independent", "shared")
        squares = distances_between(*results, request).squares()
        roots = signed_root(squares)
        truth = np.array([*roots[:3], squares[3], roots[3]])
        held = []
        for seed in range(options.tables):
            drawn = [
                xr.DataArray(values, dims=("topic", "run"))
                for values in tables(np.random.default_rng([seed, 7]), quality, bias)
            ]
            bounds = be.rankings.bias_variance(
                *drawn, n_boot=options.boot, n_outer=options.outer, distance=options.distance,
                random_seed=seed,
            ).interval.to_numpy()  # fmt: skip
            held.append((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))
        share = np.mean(held, axis=0)
        for name, value, covered in zip(NAMES, truth, share, strict=True):
            error = np.sqrt(covered * (1 - covered) / options.tables)
            print(f"spread of bias {spread}, {name}: truth {value:.4f}, 90 % intervals hold it in "
                  f"{covered:.3f} (+-{error:.3f})", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
