"""How often a relevant document has a higher grade, by forms that say how this goes with relevance.

Of one sample (20 pps strata, 100 judgments a topic, seed 100001) ``relevance_model`` gives every
document a linear predictor eta, the posterior mean. Each form is fitted to the judged documents
with a grade above the lowest, and predicts which of those that were not judged reach the next
grade: mean log loss, for the first and the second step. ``one scale`` has cutpoints on eta; the
others have log odds that are linear in what they are named by. ``topics``: with an effect of every
topic, whose standard deviation is 0.7. ``log rank``: scaled, of the fused rank; it levels off 1
above its mean.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit

import bayeseval as be
from bayeseval.frame.frame import Frame
from bayeseval.models.relevance.draws import TOP, RelevanceDraws
from bayeseval.models.relevance.steps import step_rank
from benchmarks.coverage_collections import EVERY, at_hand, whole

GRADED = ["graded", "factors-38", "trec-covid-5", "trec-covid-1"]
SEED = 100_001
TOPIC_SD, NO_SD = 0.7, 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.chunks.mkdir(exist_ok=True)
    rows: dict[tuple[str, int], dict[str, float]] = {}
    for name in at_hand(options.collection or GRADED):
        eta, log_rank, topic, grade, judged = documents(whole(name, options.chunks))
        scale = np.unique(grade[grade >= 0])
        for step, (here, there) in enumerate(zip(scale[1:-1], scale[2:], strict=True), 1):
            at, up = grade >= here, grade >= there
            rows[name, step] = losses(eta[at], log_rank[at], topic[at], up[at], judged[at])
    print(pd.DataFrame(rows).to_string(float_format="%.3f"))


def documents(collection) -> tuple[np.ndarray, ...]:
    """Linear predictor, log rank, topic, true grade (NaN: none), whether drawn, of every pair."""
    design = be.designs.pps_strata(collection, budget=100)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=SEED))
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=1)
    draws = RelevanceDraws(fitted, sampled, 1).at_mean()
    start = draws.frame.rankings.start
    eta, log_rank = [], []
    for topic, size in enumerate(np.diff(start)):
        logit, seen = draws.logit(topic, draws.frame.ranks(topic), np.arange(size))
        eta.append(logit[:, 0])
        log_rank.append(seen[:, 0] + TOP)
    complete = Frame.of_one_sample(collection)
    grade = np.full(start[-1], np.nan)
    grade[complete.pair] = complete.grade[0]
    topic = np.repeat(np.arange(start.size - 1), np.diff(start))
    parts = np.concatenate(eta), np.concatenate(log_rank)
    return *parts, topic, grade, ~np.isnan(draws.grade[:-1])


def losses(eta, log_rank, topic, up, judged) -> dict[str, float]:
    """Mean log loss of what was not judged, by form."""
    above = np.logaddexp(0.0, eta)
    columns = {
        "one scale": (np.zeros((eta.size, 0)), above),
        "nothing": (np.zeros((eta.size, 0)), 0.0 * eta),
        "eta": (eta[:, None], 0.0 * eta),
        "log(1 + exp eta)": (above[:, None], 0.0 * eta),
        "both": (np.column_stack([eta, above]), 0.0 * eta),
        "log(1 + exp eta), log rank": (np.column_stack([above, log_rank]), 0.0 * eta),
        "the same, levelling off": (np.column_stack([above, step_rank(log_rank)]), 0.0 * eta),
    }
    found = {}
    for name, (values, offset) in columns.items():
        for label, sd in ((name, NO_SD), (f"{name}, topics", TOPIC_SD)):
            odds = fitted_odds(values, offset, topic, up, judged, sd)
            loss = np.logaddexp(0.0, odds) - up * odds
            found[label] = float(loss[~judged].mean())
    return found


def fitted_odds(values, offset, topic, up, judged, sd: float) -> np.ndarray:
    """Log odds of all documents at the mode of a logistic regression of the judged ones.

    Slopes have a standard normal prior, effects of topics a normal one.
    """
    n_topics = int(topic.max()) + 1
    x, of_topic, y = values[judged], topic[judged], up[judged]

    def parts(effects):
        return effects[0], effects[1 : 1 + values.shape[1]], effects[1 + values.shape[1] :]

    def energy(effects):
        level, slope, own = parts(effects)
        odds = level + x @ slope + own[of_topic] + offset[judged]
        left = expit(odds) - y
        value = (np.logaddexp(0.0, odds) - y * odds).sum()
        value += 0.5 * (slope**2).sum() + 0.5 * (own**2).sum() / sd**2
        own_rise = np.bincount(of_topic, left, n_topics) + own / sd**2
        return value, np.concatenate([[left.sum()], x.T @ left + slope, own_rise])

    start = np.zeros(1 + values.shape[1] + n_topics)
    level, slope, own = parts(minimize(energy, start, jac=True, method="L-BFGS-B").x)
    return level + values @ slope + own[topic] + offset


if __name__ == "__main__":
    main()
