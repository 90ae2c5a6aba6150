#!/usr/bin/env python3
"""Adds what a tool says about a text column to a table, on a Spark cluster. All other columns stay, row for row.

    spark-submit [SPARK OPTIONS] spark-table.py [--column NAMES] [--tasks N] --schema COLUMNS INPUT OUTPUT \\
        -- TOOL [TOOL OPTIONS]

INPUT is a table in Parquet. OUTPUT is a new directory. It has a file _SUCCESS when all rows are in it.

    --schema COLUMNS  names and types of the new columns, one for each field of the tool's row, as in the example below;
                      of a vector, one column: 'vector array<float>'
    --column NAMES    the column with the text (default: text); of a tool that reads pairs two columns, query,answer
    --tasks N         cut the table into N tasks; the rows then leave in another order

    spark-submit spark-table.py --schema 'label string, p double' reviews.parquet labels.parquet \\
        -- classify -m MODEL

Records end with NUL, so a text may have tabs and line ends. A row without a text (NULL) gets NULL. The hosts have pyarrow
and pandas, which mapInArrow wants.
"""

import argparse
import re
import subprocess
import sys

import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, StringType, StructType

BOM = b"\xef\xbb\xbf"


def refusal(command):
    """Why the tool does not give one row for each text, or None. The tool says how it writes, as it does to memo(1)."""
    try:
        run = subprocess.run(command + ["--memo"], stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if run.returncode != 0:
        return run.stderr.decode(errors="replace").strip()
    if not re.match(rb"memo 3 0 0 0 0 0 [0-9] 0 ", run.stdout):
        return f"{command[0]}: found options that give numbers, headers or several rows, wants a row for each text"
    return None


def records_of(batch, places):
    """The texts of a batch as bytes, None for NULL. The texts of a pair are fields, separated by a tab."""
    for texts in zip(*(batch.column(place).cast(pyarrow.binary()).to_pylist() for place in places)):
        if None in texts:
            yield None
            continue
        if any(b"\0" in text or (len(texts) > 1 and b"\t" in text) for text in texts):
            raise ValueError("found NUL, or a tab in a text of a pair: it would end the text")
        yield b"\t".join(texts)


def run_tool(command, texts):
    if not texts:
        return []
    mark = BOM if texts[0].startswith(BOM) else b""  # a tool drops one where its input begins
    run = subprocess.run(command, input=mark + b"\0".join(texts) + b"\0", stdout=subprocess.PIPE, check=True)
    rows = run.stdout.split(b"\0")[:-1]
    if len(rows) != len(texts):
        raise RuntimeError(f"{command[0]}: found {len(rows)} rows of {len(texts)} texts")
    return rows


def column(cells, kind):
    """A column of a type that Spark names. An empty cell is NULL, but for strings."""
    if isinstance(kind, ArrayType):
        lists = [column(cell.split(b"\t"), kind.elementType).to_pylist() if cell else None for cell in cells]
        return pyarrow.array(lists, to_arrow_type(kind))
    if not isinstance(kind, StringType):
        cells = [cell or None for cell in cells]
    texts = pyarrow.array(cells, pyarrow.binary()).cast(pyarrow.string(), safe=False)  # may be bad UTF-8
    return texts.cast(to_arrow_type(kind))


def columns_of(rows, types):
    """The fields of rows as columns; None is the row of a NULL."""
    if len(types) == 1:
        return [column(rows, types[0])]
    fields = [[None] * len(types) if row is None else row.split(b"\t") for row in rows]
    for row in fields:
        if len(row) != len(types):
            raise RuntimeError(f"found a row of {len(row)} fields, wants {len(types)}: {row}")
    return [column([row[i] for row in fields], kind) for i, kind in enumerate(types)]


def add_columns(command, places, types, batches):
    for batch in batches:
        records = list(records_of(batch, places))
        rows = iter(run_tool(command, [record for record in records if record is not None]))
        arrays = batch.columns + columns_of([None if record is None else next(rows) for record in records], types)
        yield pyarrow.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--column", default="text")
    parser.add_argument("--schema", required=True)
    parser.add_argument("--tasks", type=int)
    parser.add_argument("paths", nargs=2)
    here = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, command = parser.parse_args(sys.argv[1:here]), sys.argv[here + 1:]
    if not command:
        parser.error("wants a tool behind '--'")
    source, output = options.paths
    spark = SparkSession.builder.appName(command[0]).getOrCreate()
    context = spark.sparkContext
    command += ["-0", "-o", "-j", context.getConf().get("spark.task.cpus", "1")]
    reason = context.parallelize([command], 1).map(refusal).first()  # an executor has what --archives brings
    if reason:
        sys.exit(f"spark-table.py: {reason}")
    table = spark.read.parquet(source)
    if options.tasks:
        table = table.repartition(options.tasks)
    added = StructType.fromDDL(options.schema)
    types = [field.dataType for field in added]
    places = [table.columns.index(name) for name in options.column.split(",")]
    wider = StructType(table.schema.fields + added.fields)
    table.mapInArrow(lambda batches: add_columns(command, places, types, batches), wider).write.parquet(output)


if __name__ == "__main__":
    main()
