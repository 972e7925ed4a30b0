"""The app of the kill tests on a cluster that soon gives a slow task a second attempt."""

from __future__ import annotations

import os

from devtools.spark_home import LOCAL_CLUSTER, QUICK_JVMS
from tests.kill.counting_app import main

QUICK_JVMS.update(
    {
        "spark.master": os.environ.get("SPECULATING_MASTER", LOCAL_CLUSTER),
        "spark.executor.memory": "512m",
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
    }
)

if __name__ == "__main__":
    main()
