"""Table that the notebook of this name reads: TREC-COVID round 5, RBP from a shallow pool.

Run it with ``PYTHONPATH=. python notebooks/results/park_2016.py`` where the environment variable
BAYESEVAL_REAL_DATA names the folder of the real data: half a minute. The pool is the top ten of
every second run; the others are scored with its judgments alone. It writes a line a run: the score
by all judgments, the bounds, and the exact 90 % intervals of equation 8 for three values of q.
"""

from pathlib import Path

import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.real_data import round5


def main() -> None:
    collection = round5()
    runs = collection.run.values
    pool = be.designs.depth_pool(collection, 10, runs=runs[::2].tolist())
    shallow = be.reveal(collection, pool, be.draw(pool, random_seed=1), unjudged="nonrelevant")
    table = intervals(collection, be.select(shallow, runs=runs[1::2].tolist()))
    table.to_csv(Path(__file__).with_suffix(".csv"), index=False, float_format="%.6g")


def intervals(collection: xr.DataTree, shallow: xr.DataTree) -> pd.DataFrame:
    """Truth, bounds, and the interval of equation 8 with the q of the judged, .5 and the true q."""
    truth = be.residual.rbp_bounds(collection, 0.8, over="topic").base.sel(run=shallow.run.values)
    bounds = be.residual.rbp_bounds(shallow, 0.8, over="topic", tail="nonrelevant")
    grade = shallow["judgments/grade"]
    guesses = {
        "judged share": float((grade > 0).sum() / grade.notnull().sum()),
        "one half": 0.5,
        "true share": float((truth - bounds.base).sum() / bounds.residual.sum()),
    }
    columns = {"true": truth, "judged": bounds.base, "residual": bounds.residual}
    for name, q in guesses.items():
        park = be.residual.rbp_uncertainty(shallow, 0.8, q, over="topic", distribution="exact")
        lower, upper = (park.interval.sel(ci_bound=side) for side in ("lower", "upper"))
        kinds = {"q": park.estimate * 0 + q, "mean": park.estimate, "lower": lower, "upper": upper}
        columns |= {f"{kind}, {name}": values for kind, values in kinds.items()}
    return pd.DataFrame({name: values.to_numpy() for name, values in columns.items()})


if __name__ == "__main__":
    main()
