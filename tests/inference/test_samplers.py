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


def test_missing_packages_are_named_with_what_to_install(monkeypatch, model):
    for name in ("jax", "numpyro"):
        monkeypatch.setitem(sys.modules, name, None)
    message = "sampler 'numpyro' needs jax and numpyro, .* pip install jax numpyro, or"
    with pytest.raises(ImportError, match=message):
        be.fit(model, random_seed=1, sample_kwargs={"nuts_sampler": "numpyro"})


def test_only_what_is_missing_is_named(monkeypatch, model):
    jax = ModuleType("jax")
    jax.__spec__ = ModuleSpec("jax", None)
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(ImportError, match="needs numpyro, .* pip install numpyro, or leave"):
        be.fit(model, random_seed=1, sample_kwargs={"nuts_sampler": "numpyro"})


def test_a_model_that_a_sampler_cannot_compute_is_told_by_its_name(monkeypatch, model):
    def refuse(**_):
        raise NotImplementedError("No JAX conversion for the given `Op`: TopicLogp")

    monkeypatch.setattr(pm, "sample", refuse)
    with pytest.raises(NotImplementedError, match="'pymc' cannot compute .*TopicLogp.* nutpie"):
        be.fit(model, random_seed=1, sample_kwargs={"nuts_sampler": "pymc"})
