"""The regressions of a predictor and of a dynamic design, beside scikit-learn on the same rows.

Scikit-learn gets its matrix ready made, columns scaled so that their penalties are 1; it is timed
by `newton-cholesky`, for which it is made dense, and by `newton-cg` on the sparse one, its fastest
solver here. Its tolerance is that at which both agree.
"""

import importlib
import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, hstack
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import bayeseval as be
from bayeseval.regression.ridge_logistic import logits, ridge_logistic
from benchmarks.pooling_round5 import dynamic_sample

PLACES = {
    "pooled": "bayeseval.predictors.pooled",
    "dynamic": "bayeseval.designs.dynamic",
}
CASES = [("pooled", 100), ("pooled", 20), ("dynamic", 100), ("dynamic", 20)]  # judgments a topic
TOLERANCE = {"newton-cholesky": 1e-6, "newton-cg": 1e-8}
AGREE = 1e-4  # in logits
ROUNDS = 5
FASTER = 1.2  # than the faster of the solvers


def regressions(monkeypatch, case: str, budget: int) -> list[tuple]:
    """Rows, relevance and penalty of each regression that a sample of the demo data takes."""
    asked = []

    def noted(rows, relevance, penalty, position=slice(None)):
        asked.append((rows.at(position), relevance, penalty))
        return ridge_logistic(*asked[-1])

    module = importlib.import_module(PLACES[case])  # a function hides one of them
    monkeypatch.setattr(module, "ridge_logistic", noted)
    collection = be.simulate.demo_collection()
    if case == "dynamic":
        dynamic_sample(collection, budget=budget, random_seed=1)
        return asked
    design = be.designs.pps_strata(collection, budget=budget)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        be.evaluate(sampled, "P@10", estimator="dyn")
    return asked


def scaled_matrix(rows, penalty) -> csr_array:
    """Columns over the roots of their penalties, without an intercept that has none."""
    n_rows, n_own = rows.topic_features.shape
    column = rows.topic[:, None] * n_own + np.arange(n_own)
    shape = (n_rows, rows.n_topics * n_own)
    start = np.arange(n_rows + 1) * n_own
    own = csr_array((rows.topic_features.ravel(), column.ravel(), start), shape)
    root = np.sqrt(np.concatenate([penalty.common, np.tile(penalty.topic, rows.n_topics)]))
    columns = hstack([csr_array(rows.features), own], format="csc")[:, root > 0]
    matrix = csr_array(columns @ diags_array(1.0 / root[root > 0]))
    matrix.indices, matrix.indptr = matrix.indices.astype("i4"), matrix.indptr.astype("i4")
    return matrix


def fitted(matrices: list, fits: list[tuple], solver: str) -> list:
    """Regressions of scikit-learn."""
    return [
        LogisticRegression(
            fit_intercept=not penalty.common.all(), solver=solver, tol=TOLERANCE[solver]
        ).fit(matrix, relevance)
        for matrix, (_, relevance, penalty) in zip(matrices, fits, strict=True)
    ]


def theirs(fits: list[tuple], solver: str) -> float:
    """Processor time of scikit-learn's fits, whose logits are ours."""
    matrices = [scaled_matrix(rows, penalty) for rows, _, penalty in fits]
    if solver == "newton-cholesky":
        matrices = [matrix.toarray() for matrix in matrices]
    for model, matrix, fit in zip(fitted(matrices, fits, solver), matrices, fits, strict=True):
        expected = model.decision_function(matrix)
        np.testing.assert_allclose(logits(fit[0], ridge_logistic(*fit)), expected, atol=AGREE)
    seconds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        fitted(matrices, fits, solver)
        seconds.append(time.process_time() - began)
    return min(seconds)


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize(("case", "budget"), CASES)
def test_regressions_are_faster_than_those_of_scikit_learn(benchmark, monkeypatch, case, budget):
    fits = regressions(monkeypatch, case, budget)
    with threadpool_limits(limits=1, user_api="blas"):  # as they are called
        seconds = {solver: theirs(fits, solver) for solver in TOLERANCE}
        benchmark.pedantic(
            lambda: [ridge_logistic(*fit) for fit in fits], rounds=ROUNDS, warmup_rounds=1
        )
    if benchmark.stats is None:  # run with --benchmark-disable
        return
    least = benchmark.stats.stats.min
    ratios = ", ".join(f"{taken / least:.1f} ({solver})" for solver, taken in seconds.items())
    each = 1e3 * least / len(fits)
    print(f"{case}, {budget} judgments a topic: {ratios} times as fast, {each:.1f} ms a fit")
    assert min(seconds.values()) >= FASTER * least, seconds
