"""Numbers of relevant documents that the priors of the relevance model allow, beside TREC-8's.

Draws of all parameters from their priors, on the frame of the shipped simulated collection (50
topics, the pool of TREC-8's size); for each draw the number of relevant documents per topic. Beside
them the published numbers of TREC-8 (``data/trec8_published_topics.csv``). A prior that put them
outside what it calls likely would contradict what is known of test collections. Run it with
``python benchmarks/prior_relevant.py``.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm

import bayeseval as be
from bayeseval.models.relevance.draws import RelevanceDraws

PUBLISHED = Path(__file__).parents[1] / "data" / "trec8_published_topics.csv"
SUMMARIES = {
    "least of 50 topics": lambda relevant: relevant.min(axis=-1),
    "median topic": lambda relevant: np.median(relevant, axis=-1),
    "largest": lambda relevant: relevant.max(axis=-1),
    "in all": lambda relevant: relevant.sum(axis=-1),
    "upper by lower quartile of topics": lambda relevant: (
        np.quantile(relevant, 0.75, axis=-1) / np.maximum(np.quantile(relevant, 0.25, axis=-1), 1)
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    collection = be.simulate.demo_collection()
    design = be.designs.pps_strata(collection, budget=100)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=options.seed))
    with be.models.relevance_model(sampled), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        prior = pm.sample_prior_predictive(options.draws, random_seed=options.seed)
    prior["posterior"] = prior["prior"]
    allowed = relevant_documents(RelevanceDraws(prior, sampled, options.seed), options.seed)
    published = pd.read_csv(PUBLISHED).relevant.to_numpy()
    print("| relevant documents | TREC-8 | prior: 5 %, median, 95 % | draws below TREC-8 |")
    print("| --- | --- | --- | --- |")
    for name, summary in SUMMARIES.items():
        found, known = summary(allowed), summary(published)
        low, middle, high = np.quantile(found, [0.05, 0.5, 0.95])
        below = (found < known).mean()
        print(f"| {name} | {known:.1f} | {low:.1f}, {middle:.1f}, {high:.1f} | {below:.2f} |")


def relevant_documents(draws: RelevanceDraws, seed: int) -> np.ndarray:
    """Relevant documents of the frame (draw, topic), judged or not, all drawn."""
    random = np.random.default_rng(seed)
    columns = []
    for topic, ranks in draws.frame.topics():
        share = draws.shares(topic, np.flatnonzero(ranks.in_frame))
        columns.append((random.random(share.shape) < share).sum(axis=0))
    return np.column_stack(columns)


if __name__ == "__main__":
    main()
