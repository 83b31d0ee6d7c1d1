"""How time and memory of scores grow: slopes on log scales, for docs/million_queries.md.

    python benchmarks/growth.py docs/growth.png

Every collection is scored in a process of its own, forked when all is imported and compiled. Time
is that of the processors; memory is the peak above what the process began with.
"""

import multiprocessing
import resource
import sys
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import bayeseval as be
from bayeseval.collection import assemble

BASE = {"topics": 100, "runs": 10, "ranks": 200, "judgments": 20, "draws": 250}
FACTORS = (1, 2, 4, 8)
MEASURES = ["AP", "P@10"]


def sampled(topics: int, runs: int, ranks: int, judgments: int) -> Any:
    """Collection whose runs rank the documents of a topic alike, judged by an order."""
    random = np.random.default_rng(0)
    documents, ranking, start = [], np.zeros((runs, topics, ranks), dtype=np.int32), 0
    for topic in range(topics):
        score = -np.log1p(np.arange(4 * ranks)) + random.gumbel(size=(runs, 4 * ranks))
        best = np.argsort(-score, axis=1)[:, :ranks]
        own = np.unique(best)
        ranking[:, topic] = start + np.searchsorted(own, best)
        documents.append(own)
        start += own.size
    document = np.concatenate(documents)
    collection = assemble(
        topics=[str(topic) for topic in range(topics)],
        runs=[f"run{run}" for run in range(runs)],
        document=[f"d{number:06d}" for number in document],
        pair_topic=np.repeat(np.arange(topics), [own.size for own in documents]),
        ranking=ranking,
        grade=(random.random(document.size) < 1.0 / (1.0 + 0.2 * document)).astype(float),
    )
    order = be.designs.order(collection, frame="retrieved", budget=judgments, random_seed=1)
    return be.reveal(collection, order, be.draw(order))


def estimate(collection: Any) -> None:
    """AP and P@10 by dyn."""
    be.evaluate(collection, MEASURES, estimator="dyn")


def model_scores(collection: Any, draws: int) -> None:
    """The same by a model, of which the posterior is approximated."""
    model = be.models.relevance_model(collection)
    fit = be.fit(model, draws=draws, chains=1, approximation="laplace", random_seed=1)
    be.posterior_scores(fit, collection, MEASURES, random_seed=1)


def _usage() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def _measured(answer: Any, function: Any, arguments: tuple) -> None:
    before = _usage()
    function(*arguments)
    answer.send([now - then for now, then in zip(_usage(), before, strict=True)])


def measured(function: Any, *arguments: Any) -> list[float]:
    """Seconds and megabytes of a function in a process of its own."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=_measured, args=(there, function, arguments)
    )
    child.start()
    found = here.recv()
    child.join()
    return found


def growth() -> dict[str, np.ndarray]:
    """Seconds and megabytes (factor, 2) along every dimension."""
    found = {}
    sizes = {name: BASE[name] for name in ("topics", "runs", "ranks", "judgments")}
    base = sampled(**sizes)
    estimate(sampled(5, 3, 20, 8))
    for name in sizes:
        rows = []
        for factor in FACTORS:
            collection = sampled(**sizes | {name: factor * sizes[name]})
            rows.append(measured(estimate, collection))
            print(name, factor, *(f"{value:.2f}" for value in rows[-1]), flush=True)
        found[name] = np.array(rows)
    model_scores(base, 10)
    rows = [measured(model_scores, base, factor * BASE["draws"]) for factor in FACTORS]
    found["draws"] = np.array(rows)
    print("draws", found["draws"].round(2).tolist())
    return found


def drawn(found: dict[str, np.ndarray], path: str) -> None:
    """One figure of time and memory, with the slope of each line."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    titles = ("seconds of a processor", "megabytes above the start")
    for place, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        for marker, (name, values) in zip("osv^D", found.items(), strict=True):
            column = values[:, place]
            slope = np.polyfit(np.log(FACTORS), np.log(column), 1)[0]
            label = f"{name} (from {BASE[name]}): slope {slope:.2f}"
            axis.loglog(FACTORS, column, marker=marker, label=label)
        axis.set(xlabel="times as many", ylabel=title)
        axis.minorticks_off()
        axis.set_xticks(FACTORS, [str(factor) for factor in FACTORS])
        ticks = (1, 2, 5, 10) if place == 0 else (30, 50, 70, 100)
        axis.set_yticks(ticks, [str(tick) for tick in ticks])
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    warnings.simplefilter("ignore")
    drawn(growth(), sys.argv[1])


if __name__ == "__main__":
    main()
