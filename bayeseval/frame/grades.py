"""Grades of a collection as plain arrays."""

import json

import numpy as np
import xarray as xr


def grade_scale(collection: xr.DataTree) -> tuple[float, ...]:
    """Grades an assessor may give: those the judgments declare, else those that occur."""
    grade = grade_columns(collection)
    declared = collection.children["judgments"].attrs.get("grade_scale")
    if declared is not None:
        return tuple(float(value) for value in json.loads(declared))
    return tuple(np.unique(grade[~np.isnan(grade)]).tolist())


def grade_columns(collection: xr.DataTree) -> np.ndarray:
    """Grades as (replicate, pair), one replicate where there is no such dim."""
    if "judgments" not in collection.children:
        raise ValueError("the collection has no judgments to evaluate with")
    grade = collection["judgments/grade"].transpose(..., "pair").to_numpy()
    return grade.reshape(-1, grade.shape[-1])
