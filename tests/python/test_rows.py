"""Rows in the programs that read tables, with the settings that bert-tsv(5) gives."""

import csv
import importlib.util
import tempfile
import unittest
from pathlib import Path

import bertutils

MODEL = str(Path(__file__).resolve().parent.parent / "golden" / "tiny-bert")
TEXTS = ['a "cat" sat # on null and NA', "007 nan\rN/A", '"the dog', "None \N{CAT FACE}"]
NAMES = ["record", "index", "word", "logprob"]


def missing(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is missing")


class Rows(unittest.TestCase):
    def setUp(self):
        rows = list(bertutils.run("mlm-score", TEXTS, "--per-word", "-o", "-q", "-m", MODEL))
        self.words = [row.split("\t")[2] for row in rows]
        self.assertTrue({'"', "null", "NA", "nan", "007", "#"} <= set(self.words), self.words)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "rows.tsv"
        self.file.write_bytes("".join(row + "\n" for row in rows).encode())

    @missing("pandas")
    def test_pandas(self):
        import pandas

        table = pandas.read_csv(
            self.file, sep="\t", header=None, names=NAMES, dtype={"word": str}, quoting=csv.QUOTE_NONE,
            keep_default_na=False, encoding="utf-8", encoding_errors="surrogateescape", lineterminator="\n")
        self.assertEqual(list(table["word"]), self.words)
        self.assertTrue((table["logprob"] < 0).all())

    @missing("polars")
    def test_polars(self):
        import polars

        table = polars.read_csv(
            self.file, separator="\t", has_header=False, new_columns=NAMES,
            schema_overrides={"word": polars.String}, quote_char=None)
        self.assertEqual(table["word"].to_list(), self.words)

    @missing("duckdb")
    def test_duckdb(self):
        import duckdb

        found = duckdb.sql(
            f"select word from read_csv('{self.file}', delim='\t', quote='', escape='', header=false, "
            f"all_varchar=true, names={NAMES})")
        self.assertEqual([word for word, in found.fetchall()], self.words)


if __name__ == "__main__":
    unittest.main()
