"""Precision between ranks 10 and 100, where no constant of the combination was learned.

Samples of 100 judgments a topic from the design of the contributing runs: coverage of 90 %
intervals, bias and RMS error by ``dyn``, by the model with errors of its own and by the
combination, constants of the package. Seed of a sample: 100,000 + its number.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

import bayeseval as be
from benchmarks.coverage_collections import COLLECTIONS, at_hand, halved, roles
from benchmarks.held import held

MEASURES = ["P@10", "P@20", "P@30", "P@50", "P@100"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS))
    parser.add_argument("--samples", type=int, default=6)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in at_hand(options.collection or COLLECTIONS):
        print(table(name, options.samples).to_string(float_format="{:.4f}".format), flush=True)


def table(name: str, n_samples: int) -> pd.DataFrame:
    """Rows by kind of run and measure, columns by what estimates."""
    collection = halved(COLLECTIONS[name][0]())
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=100)
    rows = []
    for number in range(1, n_samples + 1):
        sampled = be.reveal(collection, design, be.draw(design, random_seed=100_000 + number))
        mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn"))
        model = be.models.relevance_model(sampled)
        fitted = be.fit(model, approximation="laplace", draws=100, random_seed=number)
        post = be.posterior_scores(fitted, sampled, MEASURES, random_seed=number)
        wider = be.summarize(be.with_model_errors(post, random_seed=number))
        for source, found in (("dyn", mean), ("model", wider), ("both", be.combine(mean, post))):
            off = (found.estimate - truth).transpose("measure", "run").to_numpy()
            bounds = found.interval.transpose("measure", "run", "ci_bound").to_numpy()
            inside = held(truth.transpose("measure", "run").to_numpy(), *np.moveaxis(bounds, -1, 0))
            for role, chosen in roles(collection).items():
                for at, measure in enumerate(MEASURES):
                    some = off[at, chosen]
                    row = {"collection": name, "runs": role, "measure": measure, "by": source}
                    values = inside[at, chosen].mean(), some.mean(), np.square(some).mean()
                    rows.append(row | dict(zip(("held", "bias", "error"), values, strict=True)))
    whole = pd.DataFrame(rows).groupby(["collection", "runs", "measure", "by"], sort=False).mean()
    return whole.assign(error=np.sqrt(whole["error"])).unstack("by")


if __name__ == "__main__":
    main()
