import numpy as np

from bayeseval.frame.scale import Agreement, best_ranks

DEPTH = 30


def ranks_of(random, n_documents=400, n_runs=6):
    """Ranks of documents in runs, of which many are found by none and by one."""
    found = random.random((n_documents, n_runs)) < random.choice([0.0, 0.2, 0.8], (n_documents, 1))
    return np.where(found, random.integers(1, DEPTH + 1, found.shape), 0)


def shape_of(n_documents):
    """Log rank and its curve, uncorrelated, with mean 0 and standard deviation 1."""
    rank = np.log(np.arange(1, n_documents + 1))
    line = (rank - rank.mean()) / rank.std()
    curve = line**2 - 1.0 - (line**3).mean() * line
    return np.column_stack([line, curve / curve.std()])


def test_columns_tell_documents_of_no_run_and_of_one_run_from_all_others():
    run_rank = ranks_of(np.random.default_rng(1))
    shape = shape_of(len(run_rank))
    weight = np.full(len(run_rank), 1.0 / len(run_rank))
    made = Agreement.of(best_ranks(run_rank, DEPTH + 1), DEPTH + 1, shape, weight)
    columns, _ = made.predictors(run_rank, shape)
    whole = np.column_stack([np.ones(len(run_rank)), shape, columns])
    number = (run_rank > 0).sum(axis=1)
    best = np.log(np.where(run_rank > 0, run_rank, DEPTH + 1).min(axis=1))
    for told in (number == 0, number == 1, (number == 1) * best):
        fitted = whole @ np.linalg.lstsq(whole, told.astype(float), rcond=None)[0]
        np.testing.assert_allclose(fitted, told, atol=1e-6)
    np.testing.assert_allclose(columns.T @ shape, 0.0, atol=1e-6)
    np.testing.assert_allclose(columns.mean(axis=0), 0.0, atol=1e-8)


def test_where_every_document_is_found_by_several_the_columns_of_few_runs_say_nothing():
    random = np.random.default_rng(2)
    run_rank = random.integers(1, DEPTH + 1, (300, 4))
    weight = np.full(300, 1.0 / 300)
    made = Agreement.of(best_ranks(run_rank, DEPTH + 1), DEPTH + 1, shape_of(300), weight)
    assert np.isinf(made.square_sd[-3:]).all()
    columns, _ = made.predictors(run_rank, shape_of(300))
    assert np.isfinite(columns).all()


def test_a_rare_kind_is_not_stretched_beyond_bounds():
    random = np.random.default_rng(3)
    run_rank = random.integers(1, DEPTH + 1, (2000, 4))
    run_rank[7, 1:] = 0
    weight = np.full(2000, 1.0 / 2000)
    made = Agreement.of(best_ranks(run_rank, DEPTH + 1), DEPTH + 1, shape_of(2000), weight)
    assert made.square_sd[-2] == 0.1
