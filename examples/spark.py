#!/usr/bin/env python3
"""Runs a tool over the lines of large files on a Spark cluster. The part files together are what one run writes.

    spark-submit [SPARK OPTIONS] spark.py INPUT OUTPUT -- TOOL [TOOL OPTIONS]

INPUT is a file, a directory or a pattern, on any file system that Spark reads; the files are taken in the order of
their names. OUTPUT is a new directory. It has a file _SUCCESS when all rows are in it.

    spark-submit --archives model.tgz#model spark.py hdfs:///reviews.txt hdfs:///labels -- classify -m ./model -o
    hdfs dfs -cat '/labels/part-*' >labels.tsv

TOOL is installed on all hosts, or comes in an archive too. A task has 2 MB of text and spark.task.cpus threads;
--conf spark.sql.files.maxPartitionBytes=8m changes it. Without a cluster, use --master 'local[CPUS,TRIES]', since
local[CPUS] does not try again.

RDD.pipe is not used: it decodes the bytes, and without checkCode it loses rows when the tool dies.
"""

import re
import subprocess
import sys
import tempfile
from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

BOM = b"\xef\xbb\xbf"


def refusal(command):
    """Why the rows of a task would not be those of one run, or None. The tool says how it writes, as it does to
    memo(1): one row for each line, without the number of the line in the task, and nothing before all rows."""
    try:
        run = subprocess.run(command + ["--memo"], stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if run.returncode != 0:
        return run.stderr.decode(errors="replace").strip()
    if not re.match(rb"memo 3 10 0 0 0 0 [0-9] 0 ", run.stdout):
        return f"{command[0]}: found options that give numbers, headers, NUL or several rows, wants a row for each line"
    return None


def rows_of(command, records):
    """Runs the tool over the records of a partition; yields pieces of its rows, each without the last line feed."""
    with tempfile.TemporaryFile() as lines, tempfile.TemporaryFile() as rows:
        read = written = 0
        for (record,) in records:
            # A tool drops a byte order mark where its input begins. Spark has dropped that of the file.
            lines.write((BOM if read == 0 and record.startswith(BOM) else b"") + record + b"\n")
            read += 1
        lines.seek(0)
        subprocess.run(command, stdin=lines, stdout=rows, check=True)  # raises for a status, or a signal
        rows.seek(0)
        while piece := rows.readlines(1 << 20):
            written += len(piece)
            yield (b"".join(piece)[:-1],)
        if read != written:
            raise RuntimeError(f"{command[0]}: found {written} rows of {read} lines")


def read(spark, name):
    """The lines of a file as bytes, in order. Only a line feed ends a line."""
    pattern = "".join("\\" + letter if letter in "\\*?[]{}" else letter for letter in unquote(name))
    return spark.read.option("lineSep", "\n").text(pattern).select(col("value").cast("binary")).rdd


def main(arguments):
    if len(arguments) < 4 or arguments[2] != "--":
        sys.exit("usage: spark.py INPUT OUTPUT -- TOOL [TOOL OPTIONS]")
    source, output, command = arguments[0], arguments[1], arguments[3:]
    spark = SparkSession.builder.appName(command[0]).getOrCreate()
    context = spark.sparkContext
    command += ["-j", context.getConf().get("spark.task.cpus", "1")]
    reason = context.parallelize([command], 1).map(refusal).first()  # an executor has what --archives brings
    if reason:
        sys.exit(f"spark.py: {reason}")
    size = context.getConf().get("spark.sql.files.maxPartitionBytes", "2m")
    for name in ("maxPartitionBytes", "openCostInBytes"):  # equal: a partition has one piece of one file
        spark.conf.set("spark.sql.files." + name, size)
    files = sorted(spark.read.text(source).inputFiles())
    if not files:
        sys.exit(f"spark.py: {source}: found no file; Spark hides names that begin with _ or .")
    records = context.union([read(spark, name) for name in files])  # one reader would sort the files by size
    rows = records.mapPartitions(lambda part: rows_of(command, part))
    table = spark.createDataFrame(rows, "value binary", verifySchema=False)
    table.select(col("value").cast("string")).write.option("lineSep", "\n").text(output)


if __name__ == "__main__":
    main(sys.argv[1:])
