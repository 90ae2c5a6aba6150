#!/usr/bin/env python3
"""Adds what a tool says about a text column to a table, on a Spark cluster. All other columns stay, row for row.

    spark-submit [SPARK OPTIONS] spark-table.py [--column NAMES] [--schema COLUMNS] [--tasks N] INPUT OUTPUT \\
        -- TOOL [TOOL OPTIONS]

INPUT and OUTPUT are Parquet, or CSV with a header if their names end in .csv. OUTPUT is a directory; it appears when
all rows are in it. A row without a text (NULL) gets NULL.

    --column text          the column with the text; of a tool that reads pairs, two columns: query,answer
    --schema 'label string, p double'
                           names and types of the new columns; the default is the tool's own names, as strings.
                           Numbers of a vector go into one column: 'vector array<float>', also the default for them
    --tasks N              cut the table into N tasks; the rows then leave in another order

    spark-submit spark-table.py --schema 'label string, p double' reviews.parquet labels.parquet -- classify -m MODEL

Texts may have tabs and line ends, since records end with NUL. With --json the new column is the object.
"""

import argparse
import re
import subprocess
import sys
import threading
from itertools import islice

import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, BinaryType, StringType, StructField, StructType

BOM = b"\xef\xbb\xbf"
NUMBER = re.compile(rb'\{"record":\d+,?')  # of the row in its task, which says nothing
CSV = {"header": True, "multiLine": True, "escape": '"', "ignoreLeadingWhiteSpace": False,
       "ignoreTrailingWhiteSpace": False}


def ask(command, fields):
    """How the tool writes rows, as it tells memo(1), see lib/memo/protocol.h; and the names of its columns."""
    def answer(options, text=b""):
        run = subprocess.run(command + options, input=text, capture_output=True)
        if run.returncode != 0:
            raise ValueError(run.stderr.decode(errors="replace").strip())
        return run.stdout

    try:
        greeting = answer(["--memo"])
        if not greeting.startswith(b"memo 1 "):
            raise ValueError(f"{command[0]}: is no tool that writes rows of each record")
        _, number, header, _, begin, _ = map(int, greeting.split(b"\n")[0].split()[2:])
        if header or begin or number == 1:
            raise ValueError(f"{command[0]}: found options that give numbers, headers or several rows, wants a row a text")
        names = answer(["--header", "-f", ",".join(fields)], "\t".join(fields).encode() + b"\0")
        return {"json": number == 2, "names": names.rstrip(b"\0").decode().split("\t")}
    except (OSError, ValueError) as error:
        return {"refusal": str(error)}


def new_columns(tool, schema):
    if schema:
        return StructType.fromDDL(schema)
    if tool["json"]:
        return StructType([StructField("json", StringType())])
    if tool["names"][0] == "v1":
        return StructType.fromDDL("vector array<float>")
    return StructType([StructField(name, StringType()) for name in tool["names"]])


def records_of(batch, places):
    """The texts of a batch, None where there is none. A pair is separated by a tab, so its texts cannot have one."""
    columns = [batch.column(place).cast(pyarrow.binary()).to_pylist() for place in places]
    for texts in zip(*columns):
        if None in texts:
            yield None
            continue
        if any(b"\0" in text for text in texts):
            raise ValueError("found NUL in a text, wants texts without it: it ends a record")
        yield texts[0] if len(texts) == 1 else b"\t".join(text.replace(b"\t", b" ") for text in texts)


def rows_of(stream):
    rest = b""
    while piece := stream.read1(1 << 20):
        *rows, rest = (rest + piece).split(b"\0")
        yield from rows


def column(cells, kind):
    """Cells as a column of one type. An empty cell is NULL, but in strings."""
    if isinstance(kind, ArrayType):
        numbers = [cell.split(b"\t") if cell else cell for cell in cells]
        flat = column([number for row in numbers for number in row or ()], kind.elementType)
        ends, lengths = [0], [len(row or ()) for row in numbers]
        for length in lengths:
            ends.append(ends[-1] + length)
        ends = [None if row is None else end for row, end in zip(numbers, ends)] + ends[-1:]
        return pyarrow.ListArray.from_arrays(pyarrow.array(ends, pyarrow.int32()), flat)
    texts = pyarrow.array([cell if cell or isinstance(kind, StringType) else None for cell in cells], pyarrow.binary())
    return texts.cast(pyarrow.string(), safe=False).cast(to_arrow_type(kind), safe=False)


def columns_of(rows, json, types):
    """Rows of the tool, None where there was no text, as columns."""
    if json:
        rows = [row and NUMBER.sub(b"{", row, 1) for row in rows]
    if len(types) == 1:
        return [column(rows, types[0])]
    cells = [row.split(b"\t") if row is not None else [None] * len(types) for row in rows]
    for row in cells:
        if len(row) != len(types):
            raise RuntimeError(f"found a row of {len(row)} fields, wants {len(types)}: {row}")
    return [column(list(column_cells), kind) for column_cells, kind in zip(zip(*cells), types)]


def feed(stream, records):
    try:
        for record in records:
            stream.write(record + b"\0")
        stream.flush()
    except OSError:
        pass  # the tool has died: its status says why


def run_task(command, json, places, types, batches):
    """Yields the batches of one partition with the new columns. Fails unless the tool gave a row for each text."""
    tool = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    rows, begun = rows_of(tool.stdout), False
    try:
        for batch in batches:
            records = list(records_of(batch, places))
            texts = [record for record in records if record is not None]
            if texts and not begun and texts[0].startswith(BOM):
                texts[0] = BOM + texts[0]  # a tool drops one where its input begins
            begun = begun or bool(texts)
            feeder = threading.Thread(target=feed, args=(tool.stdin, texts), daemon=True)
            feeder.start()
            answers = list(islice(rows, len(texts)))
            feeder.join()
            if len(answers) < len(texts):
                raise RuntimeError(f"{command[0]}: found {len(answers)} rows of {len(texts)} texts; status {tool.wait()}")
            answers = iter(answers)
            added = [record if record is None else next(answers) for record in records]
            arrays = batch.columns + columns_of(added, json, types)
            yield pyarrow.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])
        tool.stdin.close()
        if next(rows, None) is not None or tool.wait() != 0:
            raise RuntimeError(f"{command[0]}: found more rows than texts, or status {tool.poll()}, wants 0")
    finally:
        tool.kill()


def read(spark, path):
    return spark.read.options(**CSV).csv(path) if path.endswith(".csv") else spark.read.parquet(path)


def write(table, path, like):
    writer = table.write.mode("overwrite")
    writer.options(**CSV).csv(path) if like.endswith(".csv") else writer.parquet(path)


def plan(table, fields, tool, schema):
    """The places of the text columns, and the new columns. Throws ValueError."""
    if "refusal" in tool:
        raise ValueError(tool["refusal"])
    for field in fields:
        if field not in table.columns or not isinstance(table.schema[field].dataType, (StringType, BinaryType)):
            raise ValueError(f"--column: found no column of strings '{field}', wants one of {', '.join(table.columns)}")
    added = new_columns(tool, schema)
    for name in added.names:
        if name.lower() in [old.lower() for old in table.columns]:
            raise ValueError(f"the table has a column '{name}' already: name the new columns with --schema")
    return [table.columns.index(field) for field in fields], added


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--column", default="text")
    parser.add_argument("--schema")
    parser.add_argument("--tasks", type=int)
    parser.add_argument("paths", nargs=2)
    here = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, command = parser.parse_args(sys.argv[1:here]), sys.argv[here + 1:]
    if not command:
        parser.error("wants a tool behind '--'")
    source, output = options.paths
    spark = SparkSession.builder.appName(f"spark-table.py {command[0]}").getOrCreate()
    context = spark.sparkContext
    path, unfinished = (context._jvm.org.apache.hadoop.fs.Path(output + end) for end in ("", ".tmp"))
    files = path.getFileSystem(context._jsc.hadoopConfiguration())
    if files.exists(path):
        sys.exit(f"spark-table.py: {output}: exists, wants a new directory")
    fields = options.column.split(",")
    command += ["-0", "-o", "-j", context.getConf().get("spark.task.cpus", "1")]
    tool = context.parallelize([command], 1).map(lambda words: ask(words, fields)).first()  # as an executor has it
    table = read(spark, source)
    try:
        places, added = plan(table, fields, tool, options.schema)
    except ValueError as error:
        sys.exit(f"spark-table.py: {error}")
    if options.tasks:
        table = table.repartition(options.tasks)
    json, types = tool["json"], [field.dataType for field in added]
    wider = table.mapInArrow(lambda batches: run_task(command, json, places, types, batches),
                             StructType(table.schema.fields + added.fields))
    write(wider, unfinished.toString(), output)
    if not files.rename(unfinished, path):
        sys.exit(f"spark-table.py: {output}: cannot be renamed from {output}.tmp")


if __name__ == "__main__":
    main()
