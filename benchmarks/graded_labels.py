"""Labels of a judge who finds the best documents most easily, and few human labels on many queries.

A shop: 300 queries, 5 systems, lists of 20, eight human labels a query in eight strata. The numbers
of relevant documents are lognormal, grades go down from the best document, three systems share
their noise, and queries differ in how noisy they are. The judge labels all that is listed: the
grade, one more (25 % of the labels), one less (10 %) or any (5 %), so that barely relevant
documents are missed most, which stand low and are judged less often. Prints, of the model without
and with the labels, with them but error rates that are the same everywhere (``one rate``), and of
the combination: bias, RMS error, coverage and length of 90 % intervals of mean scores.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be

MEASURES = ["P@5", "P@10", "RBP(p=0.8)"]
QUALITY = np.array([1.0, 1.12, 0.9, 0.7, 1.05])  # of the systems
SHARED = np.array([0, 0, 0, 1, 1])  # which noise they share
N_QUERIES, N_DOCUMENTS, DEPTH, BUDGET = 300, 150, 20, 8
LEARNED = "labels"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the world")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    collection, labels = world(np.random.default_rng(options.seed))
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=BUDGET, n_strata=8)
    rows = []
    for number in range(options.samples):
        sampled = be.reveal(collection, design, be.draw(design, random_seed=100 + number))
        labelled = be.add_predictions(sampled, "judge", labels)
        rows += answers(sampled, labelled, truth, number)
    means = pd.DataFrame(rows).groupby(["way", "measure"], sort=False).mean()
    means["RMS error"] **= 0.5
    print(means.round(4).to_string())


def world(random: np.random.Generator) -> tuple[xr.DataTree, pd.DataFrame]:
    """Runs with the grades of all that they retrieved, and the judge's labels of the same."""
    runs, grades = [], []
    for query in range(N_QUERIES):
        value = random.normal(size=N_DOCUMENTS)
        n_relevant = int(min(random.lognormal(np.log(8), 0.9), N_DOCUMENTS - 5))
        place = np.argsort(np.argsort(-value))
        steps = [n_relevant, n_relevant // 2, n_relevant // 5]
        grade = sum((place < step).astype(int) for step in steps)
        noise = random.normal(size=(2, N_DOCUMENTS))[SHARED]
        own = random.normal(size=(QUALITY.size, N_DOCUMENTS))
        hard = random.lognormal(0.0, 0.5)
        score = QUALITY[:, None] * value + hard * (0.8 * noise + 0.6 * own)
        top = np.argsort(-score, axis=1)[:, :DEPTH]
        for run, documents in enumerate(top):
            runs += [(f"run{run}", f"q{query}", f"d{d}", score[run, d]) for d in documents]
        grades += [(f"q{query}", f"d{d}", grade[d]) for d in np.unique(top)]
    judged = pd.DataFrame(grades, columns=["topic", "document", "grade"])
    lists = pd.DataFrame(runs, columns=["run", "topic", "document", "score"])
    known = judged.grade.to_numpy()
    chance = random.random(known.size)
    label = np.select(
        [chance < 0.25, chance < 0.35, chance < 0.40],
        [known + 1, known - 1, random.integers(0, 4, known.size)],
        known,
    )
    labels = judged.drop(columns="grade").assign(label=label.clip(0, 3))
    return be.read_collection(judged, lists), labels


def answers(sampled, labelled, truth: xr.DataArray, seed: int):
    """Rows of one sample."""
    mean = be.mean_over_topics(be.evaluate(labelled, MEASURES, estimator="dyn"))
    yield from compared("dyn, labels", mean, truth)
    covariance = be.covariance(labelled, MEASURES, estimator="dyn")
    fits = {}
    for way, collection, judge in (("no labels", sampled, []), (LEARNED, labelled, "judge")):
        model = be.models.relevance_model(collection, external=judge)
        fits[way] = be.fit(model, approximation="laplace", draws=400, random_seed=seed)
    fits["one rate"] = with_one_rate(fits[LEARNED], model, np.random.default_rng(seed))
    for way, fitted in fits.items():
        collection = sampled if way == "no labels" else labelled
        post = be.posterior_scores(fitted, collection, MEASURES, random_seed=seed)
        yield from compared(way, be.summarize(be.with_model_errors(post)), truth)
        if way != "no labels":
            both = be.combine(mean, post, covariance=covariance)
            yield from compared(f"{way}, combined", both, truth)


def with_one_rate(fitted: xr.DataTree, model, random: np.random.Generator) -> xr.DataTree:
    """The fit with the error rates of all judged pairs, wherever they stand."""
    posterior = fitted["posterior"].to_dataset()
    share = posterior["judge_share"].transpose(..., "state", "judge_step")
    relevance, code = (model[f"judged_{name}"].get_value() for name in ("relevance", "judge_label"))
    count = np.zeros((2, share.sizes["judge_step"] + 1))
    np.add.at(count, (relevance, code), 1.0)
    later = count[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    left = np.arange(count.shape[1] - 1.0, 0.0, -1.0)
    drawn = share.copy(data=random.beta(1.0 + count[:, :-1], left + later, size=share.shape))
    whole = fitted.copy()
    slope = xr.zeros_like(posterior["judge_slope"])
    whole["posterior"] = xr.DataTree(posterior.assign(judge_share=drawn, judge_slope=slope))
    return whole


def compared(way: str, scores: xr.Dataset, truth: xr.DataArray):
    """A row for each measure: means over runs, the RMS error squared."""
    for measure in MEASURES:
        one, true = scores.sel(measure=measure), truth.sel(measure=measure)
        off = one.estimate - true
        low, high = one.interval.sel(ci_bound="lower"), one.interval.sel(ci_bound="upper")
        yield {
            "way": way,
            "measure": measure,
            "bias": float(off.mean()),
            "RMS error": float((off**2).mean()),
            "coverage": float(((low <= true) & (true <= high)).mean()),
            "length": float((high - low).mean()),
        }


if __name__ == "__main__":
    main()
