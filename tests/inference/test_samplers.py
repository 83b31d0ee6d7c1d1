"""Samplers whose packages may be missing: no test needs them installed."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pymc as pm
import pytest

import bayeseval as be


@pytest.fixture
def model():
    with pm.Model() as model:
        pm.Data("judged_score", [0.3, 0.2])
        pm.Normal("score", pm.Normal("mean", 0.0, 1.0), np.float64(0.1), shape=2)
    return model


@pytest.mark.parametrize("sampler", ["numpyro", "blackjax"])
def test_a_missing_package_is_named_with_what_to_install(monkeypatch, model, sampler):
    for name in ("jax", sampler):
        monkeypatch.setitem(sys.modules, name, None)
    message = f"sampler '{sampler}' needs jax and {sampler}, .* pip install jax {sampler}, or"
    with pytest.raises(ImportError, match=message):
        be.fit(model, random_seed=1, sampler=sampler)


def test_only_what_is_missing_is_named(monkeypatch, model):
    jax = ModuleType("jax")
    jax.__spec__ = ModuleSpec("jax", None)
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "blackjax", None)
    with pytest.raises(ImportError, match="needs blackjax, .* pip install blackjax, or leave"):
        be.fit(model, random_seed=1, sampler="blackjax")
