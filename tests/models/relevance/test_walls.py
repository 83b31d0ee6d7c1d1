"""Paths that have short steps at a few documents alone."""

import numpy as np
import pandas as pd
from scipy.special import log_expit

import bayeseval as be
from bayeseval.models.relevance.chain import Chains
from bayeseval.models.relevance.mode import normal_start
from bayeseval.models.relevance.regression import Regression
from bayeseval.models.relevance.walls import Bounces, Walls
from tests.models.relevance.posterior_slopes import check_moments


def chains_of(data: dict, columns: dict, relevance) -> Chains:
    """Chains at the mode of a model of three topics with these columns."""
    random = np.random.default_rng(2)
    data = data | {
        "judged_topic": np.repeat(np.arange(3), len(relevance) // 3),
        "fixed_prior": np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]),
        "topic_prior": np.array([[0.0, -0.7, 0.0], [0.75, 0.5, 0.6]]),
        "scale_prior": np.array([2.0, 1.5, 1.0, 0.5, 1.0]),
    }
    regression = Regression.of(data, columns, relevance, 3)
    common, own, arrow, spreads = normal_start(regression, data)
    start = common[:, None] + np.zeros(16), own[:, :, None] + np.zeros(16)
    return Chains(regression, spreads, arrow, *start, random)


def test_effects_behind_a_wall_are_drawn_from_their_posterior():
    """Of one relevant document with a column of 200: half a normal distribution, by a grid."""
    columns = {"population": 2, "curve": 1, "tail": 1}
    data = {f"{name}_value": np.zeros((3, size)) for name, size in columns.items()}
    data["curve_value"][0] = 200.0
    chains = chains_of(data, columns, np.array([1, 0, 1]))
    chains._walls = Walls.of(chains.regression, chains.arrow)
    assert chains._walls.topic.tolist() == [0]
    for _ in range(40):
        chains.step(adapting=True)
    drawn = []
    for _ in range(400):
        chains.step(adapting=False)
        drawn.append(chains.common.T)
    grid = np.linspace(-6, 6, 20001)
    curve = np.concatenate(drawn)[:, [2]]
    check_moments(curve, grid[:, None], log_expit(200.0 * grid) - 0.5 * grid**2)
    assert abs(np.concatenate(drawn)[:, 0].std() - 1.0) < 0.1  # that of the prior


def test_a_path_that_bounces_can_be_walked_backwards():
    random = np.random.default_rng(1)
    columns = {"topic": 2, "curve": 1, "tail": 1, "component": 4, "topic_component": 2}
    data = {f"{name}_value": random.normal(size=(24, size)) for name, size in columns.items()}
    for values in data.values():
        values[::8] *= 50.0
    chains = chains_of(data, columns, random.random(24) < 0.5)
    scale = tuple(
        np.exp(random.normal(size=part.shape[-2:])) for part in (chains.common, chains.own)
    )
    walls = Walls.of(chains.regression, chains.arrow)
    assert walls.relevance.size >= 3
    bounces = Bounces(walls, chains.arrow, scale)

    def moved(here, speed):
        speed, way = bounces.passed(here, speed, 0.3)
        turned = chains.arrow.effects(*way)
        return [at + 0.3 * k * go for at, k, go in zip(here, scale, turned, strict=True)], speed

    here = chains.common, chains.own
    speed = [random.normal(size=part.shape) for part in here]
    there, changed = moved(here, speed)
    assert np.abs(changed[0] - speed[0]).max() > 0.5
    back, turned = moved(there, [-part for part in changed])
    for found, expected in zip((*back, *turned), (*here, *(-part for part in speed)), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_document_unlike_all_others_makes_paths_little_more_expensive(monkeypatch):
    """Where runs err independently, one that all of them rank high is 200 deviations off."""
    random = np.random.default_rng(0)
    relevant = random.random((40, 500)) < 0.1
    score = relevant + random.normal(size=(20, 40, 500))
    run, topic, document = np.nonzero(np.argsort(np.argsort(-score)) < 100)
    runs = pd.DataFrame({"run": run, "topic": topic, "document": document}).astype(str)
    topic_of, document_of = np.indices(relevant.shape).reshape(2, -1)
    qrels = pd.DataFrame({"topic": topic_of, "document": document_of}).astype(str)
    collection = be.read_collection(
        qrels.assign(grade=relevant.ravel().astype(int)),
        runs.assign(score=score[run, topic, document]),
    )
    design = be.designs.pps_strata(collection, budget=50)
    model = be.models.relevance_model(be.reveal(collection, design, be.draw(design, random_seed=1)))
    energies, energy = [], Chains._energy

    def counted(*given):
        energies.append(1)
        return energy(*given)

    monkeypatch.setattr(Chains, "_energy", counted)
    be.fit(model, approximation="laplace", draws=80, random_seed=1)
    assert len(energies) < 1200
