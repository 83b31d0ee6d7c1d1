"""The models that `fit` offers, and those that the package has."""

import pytest
from bayeseval.cli.models import MODELS, takes

from bayeseval.models.table import kind_of
from tests.small import small_collection


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_fit_offers_has_scores_and_the_approximation_that_its_row_says(name):
    made = MODELS[name].make(small_collection(), [], 1, 9, None)
    kind = kind_of(made)
    assert kind is not None and kind.draws is not None
    assert takes(name, "--approximation") == kind.laplace
