"""Columns of /predictors that judges gave, marked so that an estimator finds them by itself."""

import warnings
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.schema import with_node

ROLE, LABEL = "role", "label"
JUDGED, JUDGED_ALIKE = 50, 10  # judgments, and of each kind, that no judge has all alike


def with_labels(collection: xr.DataTree, columns: dict[str, NDArray[np.float64]]) -> xr.DataTree:
    """Collection that has these labels (pair,) among its predictors, marked as labels."""
    added = {name: ("pair", values, {ROLE: LABEL}) for name, values in columns.items()}
    return with_predictors(collection, added)


def with_predictors(collection: xr.DataTree, columns: dict[str, tuple]) -> xr.DataTree:
    """Collection that has these variables too among its predictors."""
    known = xr.Dataset()
    if "predictors" in collection.children:
        known = collection.children["predictors"].to_dataset(inherit=False)
    return with_node(collection, "predictors", known.assign(columns))


def label_values(collection: xr.DataTree, names: str | Sequence[str]) -> NDArray[np.float64]:
    """Labels (pair, judge) of some judges, NaN where there is none."""
    known = label_names(collection)
    asked = [names] if isinstance(names, str) else list(names)
    for name in asked:
        if name not in known:
            raise ValueError(
                f"there are no labels named '{name}'; added by be.add_predictions: "
                f"{', '.join(known) or 'none'}"
            )
    columns = predictor_columns(collection)
    return np.column_stack(
        [np.zeros((collection.sizes["pair"], 0)), *(columns[name] for name in asked)]
    )


def predictor_columns(collection: xr.DataTree) -> dict[str, NDArray[np.float64]]:
    """External predictions (pair,) by name, those of a dim predictor by their labels."""
    columns = {}
    if "predictors" in collection.children:
        known = collection.children["predictors"].to_dataset(inherit=False)
        for name, values in known.data_vars.items():
            if values.dims == ("pair",):
                columns[str(name)] = values.to_numpy().astype(float)
            elif set(values.dims) == {"pair", "predictor"}:
                for label in values["predictor"].to_numpy():
                    columns[str(label)] = values.sel(predictor=label).to_numpy().astype(float)
    return columns


def label_names(collection: xr.DataTree) -> list[str]:
    """Names of the columns of /predictors that are labels, in the order they were added."""
    node = collection.children.get("predictors")
    if node is None:
        return []
    return [str(name) for name, values in node.data_vars.items() if values.attrs.get(ROLE) == LABEL]


def warn_of_copies(name: str, values: NDArray[np.float64], grade: NDArray[np.float64]) -> None:
    """Say of labels that agree with every judgment that they may have been overwritten by them.

    No judge is right about 50 documents of which 10 are relevant and 10 are not.
    Labels and grades (pair,) are NaN where there is none.
    """
    both = ~np.isnan(values) & ~np.isnan(grade)
    relevant = grade[both] > 0
    if both.sum() < JUDGED or min(relevant.sum(), (~relevant).sum()) < JUDGED_ALIKE:
        return
    if ((values[both] > 0) == relevant).all():
        warnings.warn(
            f"the labels '{name}' agree with all {both.sum()} judgments: if judgments were written "
            "over the labels of a judge, these tell nothing of how often the judge is wrong "
            "elsewhere, and scores will be wrong and too sure; give the labels as they came",
            stacklevel=3,
        )
