"""Do the intervals of ``bias_variance`` cover? A meta-experiment on simulated tables.

Scores of 20 runs on 30 topics: a run's quality, a topic's difficulty and noise; the method in
question adds a bias of its own to every run, normal with the standard deviation ``--spread``, and
its own noise. ``--replicates`` gives the method that many samples of judgments a topic,
``--skewed`` noise that is not normal; ``--drawn together`` X and G on the same draws of topics,
``--by per_run`` each run a replicate of its own. Truth: the functional from 4,000 fresh results.
Kept in rankings_intervals/results.csv: a run replaces the rows of its settings.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.rankings.geometry import Request, distances_between, signed_root
from bayeseval.rankings.similarity import similarity_rows

NAMES = ["bias", "sigma", "sigma_gold", "mse", "rmse"]
RESULTS = Path(__file__).parent / "rankings_intervals" / "results.csv"
SETTING = [
    "spread", "topics", "n_topics", "runs", "replicates", "skewed", "similarity", "distance",
    "drawn", "by", "quantity",
]  # fmt: skip


def tables(random, quality, bias, n_topics, options) -> list[np.ndarray]:
    """Scores (replicate, topic, run) of the method and of the gold standard, on the same topics."""
    shape = (1, n_topics, quality.size)
    noise = random.exponential(size=shape) - 1.0 if options.skewed else random.normal(size=shape)
    gold = quality + random.normal(size=(1, n_topics, 1)) + 1.5 * noise
    own = random.normal(size=(options.replicates, *shape[1:]))
    return [gold + bias + 0.7 * own, gold]


def truth(quality, bias, options) -> np.ndarray:
    """The functional from 4,000 fresh results of each, on topics of their own."""
    random = np.random.default_rng(99)
    n_topics = options.n_topics or options.topics
    if options.drawn == "together":
        squares = _squares_together(random, quality, bias, n_topics, options)
    else:
        results = [
            np.array([_result(random, quality, bias, n_topics, options)[i] for _ in range(4000)])
            for i in (0, 1)
        ]
        squares = distances_between(*results, _request(options)).squares()
    roots = signed_root(squares)
    return np.array([*roots[:3], squares[3], roots[3]])


def _request(options) -> Request:
    return Request(2, None, options.similarity, options.distance, options.drawn, options.by)


def _result(random, quality, bias, n_topics, options) -> list[np.ndarray]:
    """Mean scores (run,) by the method and by the gold standard on fresh topics."""
    return [table[0].mean(axis=0) for table in tables(random, quality, bias, n_topics, options)]


def _squares_together(random, quality, bias, n_topics, options) -> np.ndarray:
    """The same of X, X', G and G' on the same topics: only the samples of judgments differ."""
    options = argparse.Namespace(**vars(options) | {"replicates": 2})
    both = [tables(random, quality, bias, n_topics, options) for _ in range(4000)]
    one, other = (np.array([table[i].mean(axis=0) for table, _ in both]) for i in (0, 1))
    gold = np.array([gold[0].mean(axis=0) for _, gold in both])
    square = _request(options).squared
    across = 0.5 * sum(
        square(similarity_rows(drawn, gold, options.similarity)) for drawn in (one, other)
    )
    own = 0.5 * square(similarity_rows(one, other, options.similarity))
    distance, variance = across.mean(), own.mean()
    return np.array([distance - variance, variance, 0.0, distance])


def measured(spread: float, options) -> pd.DataFrame:
    """One row a quantity: truth, mean estimates, and how often the intervals hold."""
    first = np.random.default_rng(3)
    quality = np.sort(first.normal(size=options.runs))
    bias = spread * first.normal(size=options.runs)
    known = truth(quality, bias, options)
    found = []
    for seed in range(options.tables):
        random = np.random.default_rng([seed, 7])
        drawn = [
            xr.DataArray(values, dims=("replicate", "topic", "run"))
            for values in tables(random, quality, bias, options.topics, options)
        ]
        one = be.rankings.bias_variance(
            *drawn, n_boot=options.boot, n_outer=options.outer, n_topics=options.n_topics,
            similarity=options.similarity, distance=options.distance, topics=options.drawn,
            replicates=options.by, random_seed=seed,
        )  # fmt: skip
        plain = [one[name].item() for name in NAMES]
        found.append(np.column_stack([plain, one.corrected, one.interval]))
    plain, corrected, lower, upper = np.moveaxis(np.array(found), -1, 0)
    held = ((lower <= known) & (known <= upper)).mean(axis=0)
    rows = pd.DataFrame(
        {
            "spread": spread, "topics": options.topics,
            "n_topics": options.n_topics or options.topics, "runs": options.runs,
            "replicates": options.replicates, "skewed": options.skewed,
            "similarity": options.similarity, "distance": options.distance,
            "drawn": options.drawn, "by": options.by, "quantity": NAMES, "truth": known,
            "estimate": plain.mean(axis=0), "corrected": corrected.mean(axis=0),
            "held": held, "held_error": np.sqrt(held * (1 - held) / options.tables),
            "above": (known > upper).mean(axis=0), "below": (known < lower).mean(axis=0),
            "length": (upper - lower).mean(axis=0), "lower_above_0": (lower > 0).mean(axis=0),
            "tables": options.tables, "boot": options.boot, "outer": options.outer,
        }
    )  # fmt: skip
    return rows


def keep(rows: pd.DataFrame) -> None:
    rows = rows.set_index(SETTING)
    if RESULTS.exists():
        before = pd.read_csv(RESULTS, index_col=SETTING)
        rows = pd.concat([before[~before.index.isin(rows.index)], rows])
    RESULTS.parent.mkdir(exist_ok=True)
    rows.sort_index(level=SETTING[:-1], sort_remaining=False, kind="stable").to_csv(
        RESULTS, float_format="%.4g"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--boot", type=int, default=200)
    parser.add_argument("--outer", type=int, default=60)
    parser.add_argument("--spread", type=float, nargs="+", default=[0.0, 0.3, 0.8])
    parser.add_argument("--topics", type=int, default=30)
    parser.add_argument("--n-topics", type=int)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--replicates", type=int, default=1)
    parser.add_argument("--skewed", action="store_true")
    parser.add_argument("--similarity", choices=["tau", "tau_ap", "spearman"], default="tau")
    parser.add_argument("--distance", choices=["paper", "root"], default="paper")
    parser.add_argument("--drawn", choices=["independent", "together"], default="independent")
    parser.add_argument("--by", choices=["shared", "per_run"], default="shared")
    options = parser.parse_args()
    for spread in options.spread:
        began = time.monotonic()
        rows = measured(spread, options)
        print(rows.to_string(index=False, float_format="%.4f"))
        print(f"{time.monotonic() - began:.0f} s", flush=True)
        keep(rows)


if __name__ == "__main__":
    main()
