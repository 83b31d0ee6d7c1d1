"""The table of models: every model has a row, and old fits are told from new ones."""

import pytest
import xarray as xr

import bayeseval as be
from bayeseval.models.identity import VERSION, model_name
from bayeseval.models.table import MODELS


def test_every_model_has_a_row():
    assert set(MODELS) == {name for name in be.models.__all__ if name.endswith("_model")}


def test_a_model_of_single_documents_draws_them_and_has_judgments_to_compare_with():
    for row in MODELS.values():
        assert row.draws_of != "documents" or (row.draws is not None and row.judgment is not None)


def test_a_model_without_single_judgments_says_what_its_likelihood_is():
    for row in MODELS.values():
        assert (row.judgment is None) == bool(row.likelihood)


def test_a_fit_of_an_earlier_version_is_refused():
    version = {"model_version": ("model_name", [VERSION - 1])}
    constant = xr.Dataset(version, {"model_name": ["relevance_model"]})
    with pytest.raises(ValueError, match=f"of version {VERSION - 1} .* fit the model again"):
        model_name(xr.DataTree.from_dict({"constant_data": constant}))
