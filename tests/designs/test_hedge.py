"""Hedge against a plain account of its formulas, and by its behaviour."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.designs.adaptive import loss_sizes
from tests.designs.test_move_to_front import DOCUMENTS, judged, made


def plain_hedge(orders: dict, relevant: str, budget: int, beta: float, length: int | None) -> str:
    """The formulas, document by document, in plain Python; ties by document id descending."""
    retrieved = sorted(set("".join(orders.values())))
    whole = len(retrieved) if length is None else length
    worth = {}
    for run, order in orders.items():
        rest = [np.log(whole / r) for r in range(len(order) + 1, whole + 1)]
        missed = np.mean(rest) if rest and length is None else 0.0
        for document in retrieved:
            rank = order.find(document) + 1
            worth[run, document] = max(np.log(whole / rank), 0.0) if rank else missed
    weight = dict.fromkeys(orders, 1.0)
    found = ""
    while len(found) < min(budget, len(retrieved)):
        score = {
            document: sum(weight[run] * worth[run, document] for run in orders)
            for document in retrieved
            if document not in found
        }
        highest = max(score.values())
        chosen = max(d for d in score if score[d] >= highest - 1e-9 * max(highest, 1e-12))
        found += chosen
        sign = -1 if chosen in relevant else 1
        for run in orders:
            weight[run] *= beta ** (sign * worth[run, chosen] / 2)
    return found


def test_the_first_three_choices_of_a_small_case_by_hand():
    collection = made({"r": "abc", "s": "bda", "t": "def"}, relevant="d")
    # Z = 6 (a..f); worth at ranks 1, 2, 3: ln 6, ln 3, ln 2 and the mean of ln 6/4, ln 6/5, ln 1,
    # .196, for the rest. Sums: a ln 6 + ln 2 + .196 = 2.68, b ln 3 + ln 6 + .196 = 3.09,
    # d .196 + ln 3 + ln 6 = 3.09: a tie that goes to d. d is relevant: weights 10^(worth / 2) are
    # r 1.25, s 3.54, t 7.87. Then b 1.25 x 1.10 + 3.54 x 1.79 + 7.87 x .196 = 9.26 and
    # e 1.25 x .196 + 3.54 x .196 + 7.87 x 1.10 = 9.59: e before b, and f 6.39. After e, not
    # relevant, r 1.00, s 2.82, t 2.22: b 6.59, a 4.18, f 2.29.
    assert judged(be.designs.hedge(collection, 3)) == "deb"
    value, missed = loss_sizes(np.array([[0, 1, 2], [1, 3, 0], [3, 4, 5]]), None)
    np.testing.assert_allclose(value, np.log([6, 3, 2]))
    np.testing.assert_allclose(missed, np.log([6 / 4, 6 / 5, 1]).mean())


@settings(max_examples=60)
@given(
    orders=st.lists(
        st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True), min_size=1, max_size=4
    ),
    relevant=st.sets(st.sampled_from(DOCUMENTS)),
    budget=st.integers(1, 8),
    beta=st.sampled_from([0.1, 0.5, 0.9]),
    length=st.sampled_from([None, 2, 8, 30]),
)
def test_the_choices_are_those_of_the_formulas(orders, relevant, budget, beta, length):
    by_run = {f"run{number}": "".join(order) for number, order in enumerate(orders)}
    collection = made(by_run, "".join(relevant))
    design = be.designs.hedge(collection, budget, learning_rate=beta, list_length=length)
    assert judged(design) == plain_hedge(by_run, "".join(relevant), budget, beta, length)


def simulated(odds) -> xr.DataTree:
    return be.simulate.urn_collection(
        odds, n_topics=2, n_documents=200, n_relevant=40, depth=100, random_seed=4
    )


def test_without_learning_hedge_judges_in_the_order_of_the_mean_log_rank():
    collection = simulated([0.05, 0.1, 0.3])
    ranking = collection["rankings/ranking"].to_numpy()[:, 0]
    value, missed = loss_sizes(ranking, None)
    score = np.zeros(200) + missed.sum()
    for run, row in enumerate(ranking):
        score[row] += value - missed[run]
    order = be.designs.hedge(collection, 20, learning_rate=1 - 1e-9).judging_order.to_numpy()
    np.testing.assert_array_equal(np.argsort(-score)[:20], np.argsort(order[:200])[-20:])


def test_a_fast_rate_ends_up_with_the_best_run_alone():
    collection = simulated([0.01, 1.0, 1.0, 1.0])
    design = be.designs.hedge(collection, 60, learning_rate=1e-6)
    best = collection["rankings/ranking"].to_numpy()[0, 0, :60]
    late = np.flatnonzero(design.judging_order.to_numpy()[:200] > 40)
    assert np.isin(late, best).mean() > 0.9


def test_hedge_finds_more_relevant_documents_the_better_it_learns():
    collection = simulated([0.02, 0.5, 1.0, 1.0])
    found = [
        be.reveal(collection, be.designs.hedge(collection, 40, learning_rate=rate))[
            "judgments/grade"
        ].sum()
        for rate in (1 - 1e-9, 0.1)
    ]
    assert found[1] > 1.2 * found[0]


@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0, 2.0, float("nan")])
def test_a_rate_outside_the_unit_interval_is_refused(rate):
    with pytest.raises(ValueError, match="learning_rate must lie between 0 and 1"):
        be.designs.hedge(simulated([0.1]), 3, learning_rate=rate)


def test_a_list_without_length_is_refused():
    with pytest.raises(ValueError, match="list_length is 0; allowed: a whole number, 1 or more"):
        be.designs.hedge(simulated([0.1]), 3, list_length=0)


def test_the_order_of_the_runs_changes_nothing():
    orders = {"r": "abc", "s": "bda", "t": "def", "u": "cab"}
    backwards = {f"run{number}": order for number, order in enumerate(reversed(orders.values()))}
    for budget in range(1, 7):
        one, two = (
            judged(be.designs.hedge(made(runs, relevant="bd"), budget))
            for runs in (orders, backwards)
        )
        assert one == two
