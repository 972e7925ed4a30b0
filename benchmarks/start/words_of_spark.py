"""Counts words of text files with Spark's own operators, as in Spark's guide."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import explode, split

from benchmarks.start.lines import LINES


def main(home: Path) -> None:
    (home / "text").mkdir()
    (home / "text" / "lines.txt").write_text("\n".join(LINES))
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    lines = spark.readStream.text(str(home / "text"))
    words = lines.select(explode(split(lines.value, " ")).alias("word"))

    def show(rows: DataFrame, _: int) -> None:
        print("first", len(rows.collect()), flush=True)

    counts = words.groupBy("word").count().writeStream.outputMode("update").foreachBatch(show)
    counts.option("checkpointLocation", str(home / "app")).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
