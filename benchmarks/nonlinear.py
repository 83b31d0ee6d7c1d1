"""Whether trees on the ranks predict relevance better than the regression of ``relevance_model``.

Of one sample (20 pps strata, 100 judgments a topic, seed 100001) ``relevance_model`` gives every
document of the frame a posterior probability, the mean over draws. Boosted and randomised trees of
scikit-learn learn from the same judgments: logarithms of the ranks in every contributing run, of
the fused rank, the number of runs, the logit of a regression on these and how far the topic is from
it. Mean log loss of documents that were not judged, all of them and those in the ten best of a
contributing run; of the mean of both logits too, and, a bound, of the regression on the three that
predicts these very documents best.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import bayeseval as be
from bayeseval.frame.frame import Frame
from bayeseval.models.relevance.draws import RelevanceDraws
from benchmarks.coverage_collections import EVERY, at_hand, roles, whole

SEED = 100_001
TOP = 10
WEIGHT = 0.3  # of the trees in the mean of both


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.chunks.mkdir(exist_ok=True)
    for name in at_hand(options.collection or EVERY):
        collection = whole(name, options.chunks)
        kept = collection["run"].to_numpy()[roles(collection)["contributed"]].tolist()
        table = losses(be.select(collection, runs=kept))
        print(f"{name}\n{table.to_string(float_format='%.4f')}\n", flush=True)


def losses(collection) -> pd.DataFrame:
    """Log loss by predictor (rows) and kind of document (columns)."""
    design = be.designs.pps_strata(collection, budget=100)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=SEED))
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=1)
    draws = RelevanceDraws(fitted, sampled, 1)
    frame, judged = draws.frame, ~np.isnan(draws.grade[:-1])
    size = np.diff(frame.rankings.start)
    linear = np.concatenate([predictive(draws, t, n) for t, n in enumerate(size)])
    complete = Frame.of_one_sample(collection)
    relevant, known = np.zeros(judged.size, bool), np.zeros(judged.size, bool)
    relevant[complete.pair], known[complete.pair] = complete.grade[0] > 0, True
    ranks = [frame.ranks(topic) for topic in range(size.size)]
    run_rank = np.concatenate([of_topic.run_rank for of_topic in ranks])
    fused = np.concatenate([of_topic.fused_rank for of_topic in ranks])
    topic = np.repeat(np.arange(size.size), size)
    odds = {"relevance_model": linear}
    odds |= trees(features(run_rank, fused, topic, relevant, judged), relevant, judged)
    for name in ("boosted", "randomised"):
        odds[f"mean with {name}"] = (1.0 - WEIGHT) * linear + WEIGHT * odds[name]
    kinds = {"all": known & ~judged}
    kinds[f"in the best {TOP}"] = kinds["all"] & ((run_rank > 0) & (run_rank <= TOP)).any(axis=1)
    both = np.column_stack([odds["relevance_model"], odds["boosted"], odds["randomised"]])
    best = LogisticRegression(C=1e3).fit(both[kinds["all"]], relevant[kinds["all"]])
    odds["best weights in hindsight"] = best.decision_function(both)
    rows = {
        name: {kind: log_loss(value[some], relevant[some]) for kind, some in kinds.items()}
        for name, value in odds.items()
    }
    return pd.DataFrame(rows).T


def predictive(draws: RelevanceDraws, topic: int, size: int) -> np.ndarray:
    """Log odds (document,) of the mean probability over the draws."""
    frame = draws.frame
    linear = draws.logit(topic, frame.ranks(topic), np.arange(size))[0]
    return logit(expit(linear).mean(axis=1))


def features(run_rank, fused, topic, relevant, judged) -> np.ndarray:
    """What the trees see of each document (document, feature)."""
    absent = run_rank == 0
    depth = np.where(absent, 3.0 * run_rank.max(), run_rank + 2.0)
    each = np.log(depth)
    best = np.sort(each, axis=1)[:, : min(4, each.shape[1])]
    shared = np.column_stack([np.log(fused), (~absent).sum(axis=1), best, each.mean(axis=1)])
    regression = LogisticRegression().fit(shared[judged], relevant[judged])
    odds = regression.decision_function(shared)
    chance = expit(odds)
    off = np.bincount(topic[judged], (relevant - chance)[judged], topic[-1] + 1)
    information = np.bincount(topic[judged], (chance * (1.0 - chance))[judged], topic[-1] + 1)
    return np.column_stack([shared, odds, (off / (information + 2.0))[topic], each])


def trees(seen, relevant, judged) -> dict[str, np.ndarray]:
    """Log odds of relevance of all documents by trees that learn from the judged ones."""
    boosted = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.05, max_leaf_nodes=12, l2_regularization=5.0,
        min_samples_leaf=10, random_state=1,
    ).fit(seen[judged], relevant[judged])  # fmt: skip
    randomised = ExtraTreesClassifier(
        500, min_samples_leaf=4, max_features=0.4, random_state=1
    ).fit(seen[judged], relevant[judged])  # fmt: skip
    share = randomised.predict_proba(seen)[:, 1]
    return {
        "boosted": np.clip(boosted.decision_function(seen), -9.0, 9.0),
        "randomised": logit(np.clip(share, 5e-4, 1.0 - 5e-4)),
    }


def log_loss(odds, relevant) -> float:
    """Mean log loss of log odds."""
    return float((np.logaddexp(0.0, odds) - relevant * odds).mean())


if __name__ == "__main__":
    main()
