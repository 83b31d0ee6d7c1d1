"""Make trec8_like.nc: a simulated collection of the size and shape of TREC-8 ad hoc.

Run as `python data/make_trec8_like.py` (about a minute). Everything random comes from SEED.
The urn's parameters are fitted by repeated simulation with the same seed (common random numbers):
the odds of a run until its mean average precision is the published one, the number of documents of
a topic until the pool has the published size, its number of relevant documents until those in the
pool are the published number.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import logit

from bayeseval.collection import topic_starts
from bayeseval.simulate import urn_collection
from bayeseval.simulate.urn import NOTHING, UNJUDGED

SEED = 1999
DEPTH = 100  # ranks kept, and depth of the pool
N_CONTRIBUTED = 71
SHARED, TEAM_SHARED = 0.55, 0.6
TOPIC_SD, INTERACTION_SD = 0.6, 0.5  # of log odds, over topics and over runs within topics
SIZE_EFFECT = 1.0  # topics with more relevant documents are harder, as in TREC-8
N_ROUNDS = 10

FOLDER = Path(__file__).parent


def contributing(team: pd.Series) -> np.ndarray:
    """The first run of each team, then second ones, until there are enough."""
    order = team.groupby(team).cumcount().to_numpy()
    first = np.argsort(order, kind="stable")[:N_CONTRIBUTED]
    return np.isin(np.arange(team.size), first)


def neutral_teams(participant: pd.Series) -> np.ndarray:
    """Team names that say only which runs belong together."""
    return np.array([f"team{t + 1:02d}" for t in pd.factorize(participant)[0]])


def log_odds_offsets(relevant: np.ndarray, n_runs: int) -> np.ndarray:
    """Difficulty of each topic for each run (run, topic), of mean 0 over topics."""
    rng = np.random.default_rng(SEED)
    size = SIZE_EFFECT * np.log(relevant / np.exp(np.log(relevant).mean()))
    topic = size + rng.normal(0.0, TOPIC_SD, relevant.size)
    return topic - topic.mean() + rng.normal(0.0, INTERACTION_SD, (n_runs, relevant.size))


def judged_pool(collection: xr.DataTree, contributed: np.ndarray) -> np.ndarray:
    """Whether each pair is among the documents of a contributing run."""
    ranking = collection["rankings/ranking"].values[contributed]
    pool = np.zeros(collection["document"].size, dtype=bool)
    pool[ranking[ranking >= 0]] = True
    return pool


def average_precision(ranking: np.ndarray, relevant: np.ndarray, n_relevant: np.ndarray):
    """Average precision (run, topic) at the shipped depth."""
    hit = relevant[ranking]
    precision = hit.cumsum(-1) / np.arange(1, ranking.shape[-1] + 1)
    return (hit * precision).sum(-1) / n_relevant


def simulated(odds, documents, relevant, team) -> xr.DataTree:
    return urn_collection(
        odds,
        n_documents=documents,
        n_relevant=relevant,
        shared=SHARED,
        team=team,
        team_shared=TEAM_SHARED,
        depth=DEPTH,
        keep="retrieved",
        random_seed=SEED,
    )


def fitted(topics: pd.DataFrame, runs: pd.DataFrame, team, contributed):
    """Collection, pool and average precision after the last round."""
    target = {name: topics[name].to_numpy() for name in ("relevant", "judged")}
    offset = log_odds_offsets(target["relevant"], len(runs))
    level = np.full(len(runs), np.log(0.05))
    documents = 3.0 * target["judged"]
    relevant = target["relevant"].copy()
    for rounds in range(N_ROUNDS):
        odds = np.exp(level[:, None] + offset)
        collection = simulated(odds, documents.round(), relevant, team)
        pool = judged_pool(collection, contributed)
        known = pool & (collection["judgments/grade"].values > 0)
        starts = topic_starts(collection)[:-1]
        n_pool, n_known = np.add.reduceat(pool, starts), np.add.reduceat(known, starts)
        ranking = collection["rankings/ranking"].values
        score = average_precision(ranking, known, np.maximum(n_known, 1))
        reached = score.mean(axis=1)
        print(
            f"round {rounds + 1}: RMS difference of MAP {rms(reached - runs['map']):.4f}, "
            f"pool {n_pool.mean():.0f}, relevant in the pool {n_known.mean():.1f}",
            flush=True,
        )
        if rounds + 1 < N_ROUNDS:
            level += 1.3 * (logit(np.clip(reached, 1e-4, 1)) - logit(runs["map"].to_numpy()))
            documents = documents * (target["judged"] / n_pool) ** 1.5
            relevant = np.maximum(relevant + target["relevant"] - n_known, 1)
    return collection, pool, score


def rms(difference) -> float:
    return float(np.sqrt(np.mean(np.square(difference))))


def report(topics, runs, collection, pool, score) -> None:
    """What data/README.md quotes."""
    known = pool & (collection["judgments/grade"].values > 0)
    starts = topic_starts(collection)[:-1]
    n_pool, n_known = np.add.reduceat(pool, starts), np.add.reduceat(known, starts)
    ranking = collection["rankings/ranking"].values
    precision = known[ranking[:, :, :10]].mean(axis=(1, 2))
    reached = score.mean(axis=1)
    print(f"MAP: RMS difference {rms(reached - runs['map']):.4f}, largest "
          f"{np.abs(reached - runs['map']).max():.4f}")  # fmt: skip
    print(f"P@10: mean {precision.mean():.3f}, published {runs['P_10'].mean():.3f}, correlation "
          f"{np.corrcoef(precision, runs['P_10'])[0, 1]:.3f}")  # fmt: skip
    for name, found in (("judged", n_pool), ("relevant", n_known)):
        print(f"{name}: mean {found.mean():.1f}, published {topics[name].mean():.1f}, largest "
              f"difference {np.abs(found - topics[name]).max()}, correlation "
              f"{np.corrcoef(found, topics[name])[0, 1]:.3f}")  # fmt: skip
    times = np.bincount(ranking[collection["contributed"].values].ravel())
    print(f"pool documents of one contributing run only: {(times == 1).sum() / pool.sum():.3f}")
    print(f"standard deviation over topics of mean AP {score.mean(axis=0).std(ddof=1):.3f}, of one "
          f"run's AP {score.std(axis=1, ddof=1).mean():.3f}")  # fmt: skip
    every = collection["judgments/grade"].values > 0
    print(f"relevant outside the pool {every.sum() - known.sum()}, pairs {pool.size}, "
          f"documents a topic {collection['n_documents'].values.mean():.0f}")  # fmt: skip


def packed(collection: xr.DataTree) -> xr.Dataset:
    """Small integers for a collection made by `urn_collection`, for a small file.

    Document labels must be ``topic-number``; the numbers are kept, not the text. At most 65534
    pairs a topic, whole grades, no design.
    """
    starts = topic_starts(collection)
    n_pairs = np.diff(starts)
    if n_pairs.max() >= NOTHING:
        raise ValueError(f"a topic may have {NOTHING - 1} pairs, not {n_pairs.max()}.")
    root, judgments, rankings = (
        collection[path].to_dataset() for path in ("/", "judgments", "rankings")
    )
    ranking = rankings["ranking"].values
    grade = np.nan_to_num(judgments["grade"].values, nan=UNJUDGED)
    labels = root["document"].values
    number = np.array([int(str(label).rpartition("-")[2]) for label in labels])
    local = np.where(ranking >= 0, ranking - starts[:-1, None], NOTHING).astype(np.uint16)
    return xr.Dataset(
        {
            "number": ("pair", number.astype(np.uint16)),
            "grade": ("pair", grade.astype(np.int8)),
            "ranking": (("run", "topic", "rank"), local),
            "n_pairs": ("topic", n_pairs.astype(np.int32)),
            "contributed": ("run", root["contributed"].values.astype(np.int8)),
            "team": ("run", root["team"].values),
        },
        coords={name: root[name].values for name in ("topic", "run")},
        attrs={"label_width": len(str(labels[0]).rpartition("-")[2])},
    )


def main() -> None:
    topics = pd.read_csv(FOLDER / "trec8_published_topics.csv")
    runs = pd.read_csv(FOLDER / "trec8_published_runs.csv")
    team = neutral_teams(runs["participant"])
    contributed = contributing(runs["participant"])
    collection, pool, score = fitted(topics, runs, team, contributed)
    collection = collection.assign(contributed=xr.DataArray(contributed, dims="run"))
    report(topics, runs, collection, pool, score)
    dataset = packed(collection)
    dataset["grade"] = dataset["grade"].where(pool, -1)
    dataset.attrs |= {"made_by": "data/make_trec8_like.py", "seed": SEED}
    smallest = {"zlib": True, "complevel": 9, "shuffle": True}
    encoding = {name: smallest for name in ("number", "grade", "ranking")}
    path = FOLDER / "trec8_like.nc"
    dataset.to_netcdf(path, engine="h5netcdf", encoding=encoding)
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
