"""Collections out to DataFrames and back."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from tests.small import small_collection


def test_a_collection_survives_its_data_frames():
    collection = small_collection()
    again = be.read_collection(be.trec.qrels_frame(collection), be.trec.runs_frame(collection))
    for node in ("judgments", "rankings"):
        xr.testing.assert_identical(
            again.children[node].to_dataset(), collection.children[node].to_dataset()
        )


def test_judged_documents_with_negative_grades_are_told_from_those_that_nobody_judged():
    qrels = pd.DataFrame({"topic": "1", "document": list("abc"), "grade": [-2, -1, np.nan]})
    with pytest.warns(UserWarning, match="missing .NaN. in 1 of 3 rows"):
        collection = be.read_collection(qrels, negative_grades="judged")
    frame = be.trec.qrels_frame(collection)
    np.testing.assert_array_equal(frame["grade"], [-2, -1, np.nan])
    with pytest.warns(UserWarning, match="missing .NaN. in 1 of 3 rows"):
        again = be.read_collection(frame, negative_grades="judged")
    assert again.identical(collection)


def test_what_is_not_there_has_no_data_frame():
    collection = small_collection()
    with pytest.raises(ValueError, match="no judgments"):
        be.trec.qrels_frame(be.read_collection(None, be.trec.runs_frame(collection)))
    with pytest.raises(ValueError, match="no runs"):
        be.trec.runs_frame(be.read_collection(be.trec.qrels_frame(collection)))
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    many = be.reveal(collection, design, be.draw(design, n_replicates=2, random_seed=1))
    with pytest.raises(ValueError, match="holds replicates"):
        be.trec.qrels_frame(many)
