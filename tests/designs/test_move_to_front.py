"""Move-to-front against a plain account of its rule, and by its behaviour."""

import numpy as np
import pandas as pd
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeseval as be

DOCUMENTS = list("abcdefgh")


def made(orders: dict, relevant: str) -> xr.DataTree:
    """One topic, runs given as strings of documents, every document judged."""
    rows = [
        (run, "1", document, -rank)
        for run, order in orders.items()
        for rank, document in enumerate(order)
    ]
    runs = pd.DataFrame(rows, columns=["run", "topic", "document", "score"])
    qrels = pd.DataFrame({"topic": "1", "document": DOCUMENTS})
    return be.read_collection(qrels.assign(grade=qrels.document.isin(list(relevant)) * 1), runs)


def judged(design: xr.Dataset) -> str:
    """Documents in the order in which they were judged."""
    order = design.judging_order.to_numpy()
    return "".join(design.document.to_numpy()[np.argsort(order)][(order == 0).sum() :])


def plain_walk(orders: dict, relevant: str, budget: int) -> str:
    """The rule, told in plain Python."""
    priority, rank = dict.fromkeys(orders, 0), dict.fromkeys(orders, 0)
    found = ""
    current = None
    while len(found) < budget:
        waiting = [run for run in orders if rank[run] < len(orders[run])]
        if not waiting:
            break
        if current not in waiting:
            current = min(waiting, key=lambda run: (-priority[run], rank[run]))
        document = orders[current][rank[current]]
        rank[current] += 1
        if document not in found:
            found += document
        if document in relevant:
            priority[current] = 0
        else:
            priority[current] -= 1
            current = None
    return found


def test_a_run_goes_on_while_it_finds_relevant_documents_and_waits_when_it_does_not():
    collection = made({"r": "abcd", "s": "efgh"}, relevant="ef")
    # a misses (r: -1); e, f hit; g misses (s: -1, 3 seen); r has the turn, seen 1: b misses (-2);
    # s: h misses (-2, at its end); c, d
    assert judged(be.designs.move_to_front(collection, 8)) == "aefgbhcd"
    assert judged(be.designs.move_to_front(collection, 4)) == "aefg"


def test_a_relevant_document_seen_before_brings_a_run_to_the_front_at_no_cost():
    collection = made({"r": "abc", "s": "dae", "t": "fgh"}, relevant="a")
    # a hits, b misses (r -1); d misses (s -1); f misses (t -1); r, seen 2, waits behind s and t,
    # seen 1: s meets a, known and relevant, gets the maximum and goes on with e
    assert judged(be.designs.move_to_front(collection, 5)) == "abdfe"


@settings(max_examples=60)
@given(
    orders=st.lists(
        st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True), min_size=1, max_size=4
    ),
    relevant=st.sets(st.sampled_from(DOCUMENTS)),
    budget=st.integers(1, 9),
)
def test_the_walk_is_the_one_the_rule_tells(orders, relevant, budget):
    by_run = {f"run{number}": "".join(order) for number, order in enumerate(orders)}
    collection = made(by_run, "".join(relevant))
    expected = plain_walk(by_run, "".join(relevant), budget)
    assert judged(be.designs.move_to_front(collection, budget)) == expected


def two_topics(n_relevant) -> xr.DataTree:
    return be.simulate.urn_collection(
        [0.05, 0.1, 0.3], n_topics=2, n_documents=200, n_relevant=n_relevant, random_seed=4
    )


def test_global_move_to_front_spends_more_on_topics_with_more_relevant_documents():
    collection = two_topics([5, 100])
    design = be.designs.move_to_front(collection, 30, variant="global")
    spent = design.inclusion_probability.groupby(design.pair_topic).sum().to_numpy()
    assert spent.sum() == 60 and spent[1] > 40


def test_with_one_topic_global_and_local_are_one():
    collection = be.select(two_topics([20, 20]), topics=["2"])
    local, everywhere = (
        be.designs.move_to_front(collection, 25, variant=v) for v in ("local", "global")
    )
    np.testing.assert_array_equal(local.judging_order, everywhere.judging_order)


def test_move_to_front_finds_more_relevant_documents_than_a_depth_pool_of_its_size():
    collection = two_topics([40, 40])
    pool = be.designs.depth_pool(collection, 8)
    size = pool.inclusion_probability.groupby(pool.pair_topic).sum().to_numpy().astype(int)
    budget = dict(zip(["1", "2"], size, strict=True))
    found = [
        be.reveal(collection, design)["judgments/grade"].sum().item()
        for design in (be.designs.move_to_front(collection, budget), pool)
    ]
    assert found[0] > found[1]
