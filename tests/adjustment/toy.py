"""Random small collections with a pool, and Webber and Park's algorithms written out with sets."""

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be

TOPICS = ("1", "2", "3", "4")
POOLED = ("a", "b", "c", "d")
UNPOOLED = ("x", "y")
TEAMS = {"a": "one", "b": "one", "c": "two", "d": "three", "x": "four", "y": "one"}
POOL_DEPTH = 3


def random_lists(random_seed: int) -> dict:
    """Ranked documents by run and topic: 6 of 12 documents, in any order."""
    random = np.random.default_rng(random_seed)
    return {
        (run, topic): [f"d{number:02d}" for number in random.permutation(12)[:6]]
        for run in (*POOLED, *UNPOOLED)
        for topic in TOPICS
    }


def random_grades(random_seed: int) -> dict:
    """Grade of every document for every topic."""
    random = np.random.default_rng(random_seed + 1000)
    return {(t, f"d{n:02d}"): int(random.integers(3)) for t in TOPICS for n in range(12)}


def top(lists: dict, run: str, topic: str) -> set:
    return set(lists[run, topic][:POOL_DEPTH])


def judged(lists: dict, common=()) -> dict:
    """Judged documents by topic: the pool, and the unpooled runs' documents on common topics."""
    return {
        topic: set().union(
            *(top(lists, run, topic) for run in POOLED + UNPOOLED * (topic in common))
        )
        for topic in TOPICS
    }


def toy_collection(lists: dict, grades: dict, common=()) -> xr.DataTree:
    runs = pd.DataFrame(
        [(run, t, d, -i) for (run, t), docs in lists.items() for i, d in enumerate(docs)],
        columns=["run", "topic", "document", "score"],
    )
    qrels = pd.DataFrame(
        [(t, d, grades[t, d]) for t, docs in judged(lists, common).items() for d in sorted(docs)],
        columns=["topic", "document", "grade"],
    )
    table = pd.DataFrame(
        {
            "run": [*POOLED, *UNPOOLED],
            "contributed": [run in POOLED for run in (*POOLED, *UNPOOLED)],
            "team": [TEAMS[run] for run in (*POOLED, *UNPOOLED)],
        }
    )
    return be.read_collection(qrels, runs, run_table=table)


def plain_score(ranked: list, relevant: set, weight) -> float:
    return sum(w for d, w in zip(ranked, weight, strict=False) if d in relevant)


def base_score(ranked, known: set, grades: dict, topic: str, weight, base: str) -> float:
    """Score by the judgments of the documents `known`, the others non-relevant or removed."""
    if base == "condensed":
        ranked = [document for document in ranked if document in known]
    relevant = {document for document in known if grades[topic, document] >= 1}
    return plain_score(ranked, relevant, weight)


def algorithm_1(lists: dict, grades: dict, r: str, weight, base: str, leave_out: str) -> dict:
    """Bias against every pooled run, mean over topics."""
    qrels = judged(lists)
    biases = {}
    for s in POOLED:
        leaving = [p for p in POOLED if p == s or (leave_out == "team" and TEAMS[p] == TEAMS[s])]
        errors = []
        for t in TOPICS:
            others = set().union(*(top(lists, p, t) for p in POOLED if p not in leaving))
            unique = set().union(*(top(lists, p, t) for p in leaving)) - others
            left = (qrels[t] - unique) | (top(lists, r, t) & qrels[t])
            pooled = base_score(lists[s, t], qrels[t], grades, t, weight, "nonrelevant")
            errors.append(pooled - base_score(lists[s, t], left, grades, t, weight, base))
        biases[s] = float(np.mean(errors))
    return biases


def algorithm_2(lists: dict, grades: dict, r: str, weight, base: str, common) -> dict:
    """Bias against r on the common topics, and its mean unpooled score on all topics."""
    known = {t: set().union(*(top(lists, p, t) for p in POOLED)) for t in TOPICS}
    qrels = judged(lists, common)
    unpooled = [base_score(lists[r, t], known[t], grades, t, weight, base) for t in TOPICS]
    true = [base_score(lists[r, t], qrels[t], grades, t, weight, "nonrelevant") for t in TOPICS]
    delta = [p - u for t, p, u in zip(TOPICS, true, unpooled, strict=True) if t in common]
    return {"unadjusted": float(np.mean(unpooled)), "adjustment": float(np.mean(delta))}
