"""The table of models: every model has a row, and old fits are told from new ones."""

import re

import pymc as pm
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.models.identity import VERSION, model_name
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.models.table import MODELS


def test_every_model_has_a_row():
    assert set(MODELS) == {name for name in be.models.__all__ if name.endswith("_model")}


def test_a_model_of_single_documents_draws_them_and_has_judgments_to_compare_with():
    for row in MODELS.values():
        if row.draws_of == "documents":
            assert isinstance(row.draws, type) and issubclass(row.draws, RelevanceDraws)
            assert row.judgment is not None


def test_the_graph_of_what_judgments_depend_on_has_no_bookkeeping():
    lists = be.simulate.urn_collection([0.1, 0.2], n_topics=2, prevalence=0.1, random_seed=1)
    model = be.models.relevance_model(lists)
    graph = pm.model_to_mermaid(model, var_names=["relevance"])
    shown = set(re.findall(r"^(\w+)@", graph, re.MULTILINE))
    assert {variable.name for variable in model.free_RVs} <= shown
    data = shown & {variable.name for variable in model.data_vars}
    assert data and all(name.endswith("_value") or name == "judged_topic" for name in data)


def fit_of(name: str, version: int) -> xr.DataTree:
    constant = xr.Dataset({"model_version": ("model_name", [version])}, {"model_name": [name]})
    return xr.DataTree.from_dict({"constant_data": constant})


@pytest.mark.parametrize("name", list(MODELS))
def test_a_fit_of_an_earlier_version_is_refused(name):
    assert model_name(fit_of(name, VERSION)) == name
    with pytest.raises(ValueError, match=f"of version {VERSION - 1} .* fit the model again"):
        model_name(fit_of(name, VERSION - 1))
