"""NumPy values passed to the JVM are converted by PySpark."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

from kstreams.spark.startup.numpy_arguments import spare_imports

pytestmark = pytest.mark.spark


def test_numpy_values_are_converted_by_pyspark(spark: SparkSession) -> None:
    spare_imports()
    spare_imports()
    row = spark.range(1).select(lit(np.int64(5)), lit(np.array([1.5, 2.5]))).first()
    assert row is not None
    assert (row[0], list(row[1])) == (5, [1.5, 2.5])
    for converter in (NumpyScalarConverter(), NumpyArrayConverter()):
        assert not converter.can_convert([1, 2])
