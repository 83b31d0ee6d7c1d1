"""Types of what the commands pass on, none of which loads its package: `--help` needs none."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    import pandas
    import rich.table
    import xarray

    import bayeseval.measures.measure

type Array = numpy.ndarray
type DataFrame = pandas.DataFrame
type DataArray = xarray.DataArray
type DataTree = xarray.DataTree
type Dataset = xarray.Dataset
type Measure = bayeseval.measures.measure.Measure
type Table = rich.table.Table
