"""The list that an assessor gets of a sample."""

import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from tests.small import small_collection


@pytest.fixture(scope="module")
def collection():
    return small_collection()


@pytest.fixture(scope="module")
def sample(collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2)
    return design.assign(selected=be.draw(design, random_seed=1))


def pairs(frame: pd.DataFrame) -> set[tuple[str, str]]:
    return set(frame.itertuples(index=False, name=None))


def selected(sample) -> set[tuple[str, str]]:
    chosen = np.flatnonzero(sample["selected"].to_numpy())
    topic = sample["topic"].to_numpy()[sample["pair_topic"].to_numpy()[chosen]]
    return set(zip(topic, sample["document"].to_numpy()[chosen], strict=True))


def test_it_is_the_sample_once_and_the_order_is_the_seeds(sample):
    first = be.designs.to_judge(sample, random_seed=1)
    assert len(first) == len(pairs(first)) and pairs(first) == selected(sample)
    assert list(dict.fromkeys(first["topic"])) == sample["topic"].to_numpy().tolist()
    pd.testing.assert_frame_equal(first, be.designs.to_judge(sample, random_seed=1))
    orders = {tuple(be.designs.to_judge(sample, random_seed=k)["document"]) for k in range(9)}
    assert len(orders) > 5


def test_what_has_a_grade_is_left_out_by_its_labels(collection, sample):
    topic, document = min(selected(sample))
    runs = be.trec.runs_frame(collection)
    known = pd.DataFrame({"topic": [topic], "document": [document], "grade": [0]})
    begun = be.read_collection(known, runs[runs["topic"] == topic])  # other pairs, another order
    left = be.designs.to_judge(sample, begun, random_seed=1)
    assert pairs(left) == selected(sample) - {(topic, document)}


def test_a_pool_keeps_its_order_and_draws_come_once(collection):
    pool = be.designs.hedge(collection, budget=4)
    listed = be.designs.to_judge(pool, random_seed=1)
    order = pool["judging_order"].to_numpy()
    assert (order[order > 0].size, len(listed)) == (len(listed), 8)
    first = pool["document"].to_numpy()[order == 1]
    assert listed.groupby("topic", sort=False)["document"].first().tolist() == first.tolist()
    drawn = be.designs.with_replacement(collection, budget=4)
    drawn = drawn.assign(draw_count=be.draw(drawn, random_seed=1))
    assert len(be.designs.to_judge(drawn, random_seed=1)) == 8


def test_without_one_sample_there_is_nothing_to_judge(collection):
    design = be.designs.pps_strata(collection, budget=5, n_strata=2)
    with pytest.raises(ValueError, match=r"the design has no sample; draw one, design.assign"):
        be.designs.to_judge(design, random_seed=1)
    many = design.assign(selected=be.draw(design, n_replicates=2, random_seed=1))
    with pytest.raises(ValueError, match="the design has replicates of a sample"):
        be.designs.to_judge(many, random_seed=1)
