"""A model for nutpie that nothing compiles, and of which a fit takes as long as it is let."""

import numpy as np
from nutpie.compiled_pyfunc import from_pyfunc


def normal(model, **options):
    """A standard normal `mean`, whatever the model; stands for nutpie.compile_pymc_model."""

    def density(**shared):
        return lambda point: (-0.5 * float(point @ point), -point)

    def expanding(*seeds, **shared):
        return lambda point: {"mean": point[:1].copy()}

    return from_pyfunc(1, density, expanding, [np.dtype("float64")], [(1,)], ["mean"])
