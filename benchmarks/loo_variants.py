"""What the parts of the relevance model are worth on TREC-COVID round 5, by leave-one-out.

Six variants, each with what the one above has: the fused rank alone; topic intercepts and slopes;
run reliabilities; topic effects of components; agreement of the runs (the default model); an
external label. For each the
expected log predictive density of a judgment left out (elpd, PSIS-LOO, one sample, by nutpie), and
the error and coverage of mean P@10 over several samples (Laplace approximation).

**The labels are simulated.** Round 5 has none. One real judge of LLMJudge (33 LLM judges, 4,423
passages of another collection with human grades 0 to 3) gives the rates: a document of round 5 of
grade 0, 1 or 2 gets a label drawn as that judge labels passages of human grade 0, 1, or 2 and 3.
So its errors depend on the grade alone, which a real judge's would not.

With labels the fit has more observations; only the prediction of the judgment is compared, given
the document's own label: P(rel | ranks, label), by Bayes from P(rel | ranks) and P(label | rel)
(``be.inference.log_likelihood`` has the formula). Judged pairs have both, so the labels say nothing of the
coefficients, and one fit serves the last two variants.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Run it with
``python benchmarks/loo_variants.py``.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.inference import verdict_text
from benchmarks.held import held
from benchmarks.real_data import REAL_DATA, round5

NO_CURVES = {"n_curve_components": 0}
VARIANTS = {
    "fused rank": {"topic_effects": False, "n_components": 0, "agreement": False},
    "+ topics": {"n_components": 0, "agreement": False},
    "+ run reliabilities": {"n_topic_components": 0, "agreement": False} | NO_CURVES,
    "+ topic components": {"agreement": False} | NO_CURVES,
    "+ agreement of runs": NO_CURVES,
    "+ curves of runs": {},
    "+ external label": {},
}
FULL, LABELLED = list(VARIANTS)[-2:]
COLUMN = "label"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=500, help="per chain, of four")
    parser.add_argument("--replicates", type=int, default=10, help="samples for mean P@10")
    parser.add_argument("--score-draws", type=int, default=500)
    parser.add_argument("--judge", default="NISTRetrieval-reason1", help="of LLMJudge")
    parser.add_argument("--saved", help="a collection saved with the complete judgments")
    parser.add_argument("--only", choices=["elpd", "scores"], help="one of the two tables")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # verdicts and Pareto k are printed
    rates = judge_rates(options.judge)
    print(f"P(label | grade) of {options.judge}:\n{rates.round(3).to_string()}\n", flush=True)
    collection = with_labels(round5(options.saved), rates.to_numpy(), options.seed)
    design = be.designs.pps_strata(collection, budget=options.budget)
    selected = be.draw(design, n_replicates=options.replicates, random_seed=options.seed)
    samples = [
        be.reveal(collection, design, selected.isel(replicate=number))
        for number in range(options.replicates)
    ]
    if options.only != "scores":
        print(leave_one_out(samples[0], options).round(4).to_string(), flush=True)
    if options.only != "elpd":
        print("\nmean P@10, Laplace approximation:", flush=True)
        print(score_errors(collection, samples, options).round(4).to_string())


def judge_rates(judge: str) -> pd.DataFrame:
    """P(label | grade) of a judge of LLMJudge; human grades 2 and 3 are one."""
    folder = Path(os.environ.get(REAL_DATA, "")) / "llmjudge"
    human, labels = (
        be.trec.qrels_frame(be.read_collection(folder / f"{name}.txt"))
        .set_index(["topic", "document"])
        .grade.astype(int)
        for name in ("human-qrels", judge)
    )
    rates = pd.crosstab(human.clip(upper=2), labels.reindex(human.index).rename("label"))
    return rates.div(rates.sum(axis=1), axis=0)


def with_labels(collection: xr.DataTree, rates: np.ndarray, seed: int) -> xr.DataTree:
    """The collection with a simulated label for every pair whose grade is known."""
    grade = collection["judgments/grade"].to_numpy()
    known = np.flatnonzero(~np.isnan(grade))
    uniform = np.random.default_rng(seed).random((known.size, 1))
    bounds = np.cumsum(rates, axis=1)[:, :-1]
    labels = np.full(grade.size, np.nan)
    labels[known] = (uniform > bounds[grade[known].astype(int)]).sum(axis=1)
    labelled = collection.copy()
    labelled["predictors"] = xr.DataTree(xr.Dataset({COLUMN: ("pair", labels)}))
    return labelled


def leave_one_out(sampled: xr.DataTree, options) -> pd.DataFrame:
    """``az.compare`` of the variants on one sample, with the worst Pareto k of each."""
    elpds = {}
    for name in list(VARIANTS)[:-1]:
        began = time.perf_counter()
        external = COLUMN if name == FULL else ()
        model = be.models.relevance_model(sampled, external=external, **VARIANTS[name])
        fitted = be.fit(model, draws=options.draws, random_seed=options.seed)
        seconds = time.perf_counter() - began
        print(f"{name}: {seconds:.0f} s; {verdict_text(be.verdict(fitted))}", flush=True)
        fitted = be.inference.log_likelihood(fitted, model)
        elpds[name] = az.loo(fitted, var_name="relevance", pointwise=True)
        if name == FULL:
            elpds[LABELLED] = az.loo(fitted, var_name="relevance_given_labels", pointwise=True)
    table = az.compare(elpds, round_to="none")
    table["elpd_each"] = table["elpd"] / elpds[FULL].n_data_points
    table["k_max"] = {name: float(elpd.pareto_k.max()) for name, elpd in elpds.items()}
    table["k_above_0.7"] = {name: int((elpd.pareto_k > 0.7).sum()) for name, elpd in elpds.items()}
    return table[["elpd", "se", "elpd_diff", "dse", "p", "elpd_each", "k_max", "k_above_0.7"]]


def score_errors(collection: xr.DataTree, samples: list, options) -> pd.DataFrame:
    """Error and coverage of mean P@10 of the real runs over the samples."""
    truth = be.evaluate(collection, "P@10", estimator="assumed").estimate.mean("topic")
    rows = {}
    for name, parts in VARIANTS.items():
        summaries = [
            _summary(name, parts, sampled, options, options.seed + number)
            for number, sampled in enumerate(samples)
        ]
        summary = xr.concat(summaries, dim="replicate").sel(measure="P@10")
        error = summary.estimate - truth.sel(measure="P@10")
        lower, upper = (summary.interval.sel(ci_bound=bound) for bound in ("lower", "upper"))
        inside = held(truth.sel(measure="P@10"), lower, upper)
        share = inside.mean("run")
        rows[name] = {
            "bias": float(error.mean()),
            "rms_error": float(np.sqrt((error**2).mean())),
            "posterior_sd": float(np.sqrt((summary.standard_error**2).mean())),
            "coverage": float(share.mean()),
            "coverage_error": float(share.std(ddof=1) / np.sqrt(share.size)),
        }
    return pd.DataFrame(rows).T


def _summary(name: str, parts: dict, sampled: xr.DataTree, options, seed: int) -> xr.Dataset:
    model = be.models.relevance_model(sampled, **parts)
    fitted = be.fit(
        model,
        draws=options.score_draws,
        chains=1,
        random_seed=seed,
        approximation="laplace",
    )
    if name == LABELLED:
        fitted = with_rates(fitted, sampled, seed)
    return be.summarize(be.posterior_scores(fitted, sampled, "P@10", random_seed=seed))


def with_rates(fitted: xr.DataTree, sampled: xr.DataTree, seed: int) -> xr.DataTree:
    """The fit with error rates of the labels, as the model with ``external`` would have them.

    Judged pairs have both a label and a relevance, so the posterior of the rates is exact,
    Dirichlet(1 + counts), and independent of the coefficients.
    """
    labels = sampled[f"predictors/{COLUMN}"].to_numpy()
    grade = sampled["judgments/grade"].to_numpy()
    edges = np.unique(labels[~np.isnan(labels)])
    judged = ~np.isnan(grade)
    counts = [
        [np.count_nonzero(judged & ((grade >= 1) == state) & (labels == edge)) for edge in edges]
        for state in (False, True)
    ]
    random = np.random.default_rng([seed, 1])  # not the noise of the approximation
    n_draws = fitted["posterior"].sizes["draw"]
    rates = np.stack([random.dirichlet(np.array(row) + 1.0, n_draws) for row in counts], axis=1)
    value = f"{COLUMN}_value"
    posterior = fitted["posterior"].to_dataset()
    constant = fitted["constant_data"].to_dataset()
    return xr.DataTree.from_dict(
        {
            "posterior": posterior.assign(
                {f"{COLUMN}_rate": (("chain", "draw", "state", value), rates[None])}
            ),
            "constant_data": constant.assign({f"{COLUMN}_edges": (value, edges)}),
        }
    )


if __name__ == "__main__":
    main()
