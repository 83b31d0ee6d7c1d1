"""The block solver of ridge logistic regressions, against scikit-learn and by its gradient."""

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from bayeseval.designs.dynamic import predicted_logit, ranked_frame
from bayeseval.regression.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic


def test_block_solver_agrees_with_scikit_learn_on_the_same_dense_regression():
    rng = np.random.default_rng(1)
    features = np.column_stack([np.ones(300), rng.normal(size=(300, 3))])
    topic = rng.integers(0, 7, 300)
    penalty = Penalty(np.array([0.25, 1.0, 2.0, 3.0]), np.array([1.0, 5.0]))
    relevance = (rng.random(300) < expit(features @ [0.2, 1, -1, 0.5] + topic / 3 - 1)) * 1.0
    rows = TopicRows(features, features[:, :2], topic, 7)
    ours = logits(rows, ridge_logistic(rows, relevance, penalty))
    own = (np.eye(7)[topic][:, :, None] * features[:, None, :2]).reshape(300, -1)
    dense = np.column_stack([features, own])
    scale = np.sqrt(np.concatenate([penalty.common, np.tile(penalty.topic, 7)]))
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=5000)
    theirs = model.fit(dense / scale, relevance).decision_function(dense / scale)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_rows_in_blocks_give_the_same_coefficients(monkeypatch):
    rng = np.random.default_rng(2)
    features = np.column_stack([np.ones(90), rng.normal(size=(90, 2))])
    rows = TopicRows(features, features[:, :2], rng.integers(0, 5, 90), 5)
    position = np.sort(rng.permutation(90)[:70])
    relevance, penalty = (rng.random(70) < 0.4) * 1.0, Penalty(np.ones(3), np.ones(2))
    whole = ridge_logistic(rows.at(position), relevance, penalty)
    few = ridge_logistic(rows, relevance, penalty, position)
    monkeypatch.setattr("bayeseval.regression.ridge_logistic.ROWS", 20)
    in_blocks = ridge_logistic(rows, relevance, penalty, position)
    for part in range(2):
        np.testing.assert_array_equal(few[part], whole[part])
        np.testing.assert_allclose(in_blocks[part], whole[part], rtol=1e-9)


def test_block_solver_stops_at_a_zero_gradient_also_where_the_data_separate():
    x = np.linspace(-1, 1, 40)
    features, relevance = np.column_stack([np.ones(40), x]), (x > 0) * 1.0
    penalty = Penalty(np.array([1e-3, 1e-3]), np.array([1.0]))
    rows = TopicRows(features, np.ones((40, 1)), np.zeros(40, int), 1)
    fit = ridge_logistic(rows, relevance, penalty)
    gradient = features.T @ (relevance - expit(logits(rows, fit))) - penalty.common * fit.common
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)


def test_a_stage_predicts_by_the_regression_that_its_docstring_writes_out():
    random = np.random.default_rng(3)
    n_topics, n_documents, n_runs = 3, 40, 2
    pair_topic = np.repeat(np.arange(n_topics), n_documents)
    ranking = np.stack(
        [[random.permutation(n_documents)[:30] + t * n_documents for t in range(n_topics)]
         for _ in range(n_runs)]
    )  # fmt: skip
    order = [random.permutation(n_documents) + t * n_documents for t in range(n_topics)]
    frame = ranked_frame(order, ranking, pair_topic)
    judged = np.sort(random.choice(frame.pair.size, 60, replace=False))
    relevant = random.random(60) < 0.4
    x = np.empty(frame.pair.size)
    for pairs in order:
        x[pairs] = np.log(np.arange(1, n_documents + 1))
    x -= x.mean()
    g = np.zeros((frame.pair.size, n_runs))
    for run in range(n_runs):
        for t in range(n_topics):
            g[ranking[run, t], run] = 1 - np.log(np.arange(1, 31)) / np.log(31)
    own = np.eye(n_topics)[pair_topic]
    columns = np.column_stack([x, x**2, g, own, own * x[:, None]])
    deviation = np.sqrt([1 / 0.1, 1.0, *np.ones(n_runs), *np.ones(n_topics), *np.full(3, 1 / 3)])
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=5000)
    model.fit((columns * deviation)[judged], relevant)
    expected = model.decision_function(columns * deviation)
    np.testing.assert_allclose(predicted_logit(frame, judged, relevant), expected, atol=2e-5)
