"""Warnings of measures that suffer from what a sample was drawn for."""

import re
import warnings

import numpy as np
import pytest

import bayeseval as be
from bayeseval.evaluation.drawn_for import DrawnForOthers, error_ratios
from bayeseval.frame.frame import Frame
from bayeseval.frame.rankings import Rankings
from bayeseval.measures.names import parse_measures


@pytest.fixture(scope="module")
def truth():
    return be.simulate.urn_collection(
        [0.02, 0.05, 0.2, 0.4], n_topics=12, n_documents=400, n_relevant=30, depth=200,
        keep="retrieved", random_seed=3,
    )  # fmt: skip


def drawn(truth, measures, certain=None):
    order = be.designs.order(truth, measures=measures, budget=40, certain=certain, random_seed=1)
    return be.reveal(truth, order, be.draw(order))


def warned(sampled, measures, **options) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        be.evaluate(sampled, measures, **({"estimator": "stat"} | options))
    return [str(one.message) for one in caught if one.category is DrawnForOthers]


@pytest.mark.parametrize("certain", [False, True])
def test_the_ratio_is_that_of_the_variances_expected_of_two_samples(truth, certain):
    old = None
    if certain:  # judged already, and so no part of either sample
        old = np.zeros(truth.sizes["pair"], dtype=bool)
        old[truth["rankings/ranking"].to_numpy()[0, :, :3]] = True
    sampled, asked = drawn(truth, "P@10", old), ["RBP(p=0.9)", "P@50", "NumRel"]
    found = error_ratios(Frame.drawn_from(sampled), parse_measures(asked))
    probability = sampled["design/inclusion_probability"].to_numpy()
    rankings = Rankings.of(truth)
    for number, name in enumerate(asked):
        variance = np.zeros(2)
        for topic, first, _ in rankings.topics():
            order = first + rankings.fused(topic)
            order = order if old is None else order[~old[order]]
            p = 1 / (1 + np.exp(-0.3 + 0.8 * np.log(np.arange(1, order.size + 1) / 10)))
            square = np.full(order.size, float(name == "NumRel"))
            for ranks in rankings.pair[:, topic]:
                for rank, pair in enumerate(ranks):
                    weight = {"RBP(p=0.9)": 0.1 * 0.9**rank, "P@50": 0.02 * (rank < 50)}
                    square[order == pair] += weight.get(name, 0.0) ** 2 / 4
            spread, pi = square * p * (1 - p), probability[order]
            variance += (spread * (1 / pi - 1)).sum(), np.sqrt(spread).sum() ** 2 / pi.sum()
        assert found[number] == pytest.approx(np.sqrt(variance[0] / variance[1]), rel=1e-9)


def test_measures_that_suffer_are_named_and_no_others(truth):
    sampled = drawn(truth, ["AP", "R@100"])
    (text,) = warned(sampled, ["AP", "P@10", "NumRel"])
    assert text == (
        "the sample was drawn for AP, R@100; P@10 errs about 1.8 times as much as by a sample "
        "drawn for it"
    )
    (text,) = warned(sampled, ["P@1", "AP", "RBP(p=0.8)"], estimator="dyn")
    pattern = r".* P@1 errs about 4.\d times, RBP\(p=0.8\) about 1.\d times as much .*"
    assert re.fullmatch(pattern, text)


def test_what_the_sample_was_drawn_for_and_all_by_default_have_no_warning(truth):
    asked = ["P@10", "RBP(p=0.8)", "nDCG@10", "AP", "R@100", "NumRel", "P@1"]
    assert not warned(drawn(truth, None), asked)
    for name in asked[:3]:
        assert not warned(drawn(truth, name), name)
        assert (
            error_ratios(Frame.drawn_from(drawn(truth, name)), parse_measures(name)) < 1.3
        ).all()
    other = be.reveal(truth, design := be.designs.pps_strata(truth, budget=40), be.draw(design))
    assert not warned(other, asked)
    assert not warned(drawn(truth, "AP"), "P@1", estimator="assumed")


@pytest.mark.filterwarnings("ignore:1 of the 4 runs that the design was made from")
def test_without_the_runs_of_the_order_nothing_is_known(truth):
    sampled = be.select(drawn(truth, "AP"), runs=truth["run"].to_numpy()[:3].tolist())
    assert not warned(sampled, "P@1")
