"""spark.py BIN_DIR: spark.py and spark-table.py of examples/ write what one run writes while tools and an executor are
killed, and fail if a tool dies each time. It is skipped (77) where pyspark, pandas, pyarrow or a JRE is missing."""
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import pyarrow
    import pyarrow.parquet
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.utils import require_minimum_pandas_version  # as mapInArrow does
    require_minimum_pandas_version()
except ImportError as error:
    print(error)
    sys.exit(77)
if not shutil.which("java"):
    print("java is not installed")
    sys.exit(77)

HERE = Path(__file__).resolve().parent
WORK = Path(tempfile.mkdtemp())
DEATHS = WORK / "deaths"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # what takes the time is the start of the JVMs


def lines(count, marks=0):
    return subprocess.check_output(["awk", "-v", f"lines={count}", "-v", f"marks={marks}", "-f", HERE / "lines.awk"])


def classify(options, text=b""):
    return subprocess.check_output(["classify", "-q"] + options, input=text)


def run(script, *arguments, deaths):
    """Runs an example in the session of this test. Its tool dies so many times."""
    for i in range(deaths):
        (DEATHS / str(i)).touch()
    sys.argv = [script, *map(str, arguments)]
    runpy.run_path(str(HERE.parents[1] / "examples" / script), run_name="__main__")


class Spark(unittest.TestCase):
    def start(self, master):
        builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
        builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.files.maxPartitionBytes", "200k")
        builder.config("spark.driver.extraJavaOptions", QUICK).config("spark.executor.extraJavaOptions", QUICK)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        self.addCleanup(session.stop)

    def setUp(self):
        for folder in WORK.iterdir():
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
        DEATHS.mkdir()

    def check_lines(self, *tool, deaths):
        folder = WORK / "in"
        folder.mkdir()
        (folder / "a [1].txt").write_bytes(b"\xef\xbb\xbf" + lines(3999) + b"no line feed")
        (folder / "b.txt").write_bytes(lines(16000, marks=1))
        run("spark.py", folder, WORK / "rows", "--", *tool, "classify", "-q", deaths=deaths)
        self.assertEqual(os.listdir(DEATHS), [])
        self.assertTrue((WORK / "rows/_SUCCESS").exists())
        rows = b"".join(part.read_bytes() for part in sorted((WORK / "rows").glob("part-*")))
        self.assertTrue(rows == classify(sorted(folder.iterdir())), "other bytes than those of one run")

    def check_table(self, deaths):
        texts = lines(5000).split(b"\n")[:-1]
        texts[::41] = [text + b"\nnext\tline" for text in texts[::41]]
        texts[::37] = [None] * len(texts[::37])
        other = [{"list": [i, None]} if i % 3 else None for i in range(5000)]
        before = {"id": list(range(5000)), "text": texts, "other": other}
        pyarrow.parquet.write_table(pyarrow.table(before), WORK / "table", row_group_size=1000)
        run("spark-table.py", "--schema", "label string, p double", WORK / "table", WORK / "added",
            "--", "dies", "classify", "-q", deaths=deaths)
        self.assertEqual(os.listdir(DEATHS), [])
        rows = iter(classify(["-0", "-o"], b"".join(text + b"\0" for text in texts if text is not None)).split(b"\0"))
        said = [(None, None) if text is None else next(rows).decode().split("\t") for text in texts]
        self.assertEqual(list(rows), [b""])
        before |= {"label": [label for label, _ in said], "p": [p and float(p) for _, p in said]}
        self.assertEqual(pyarrow.parquet.read_table(WORK / "added").sort_by("id").to_pydict(), before)

    def test_tools_are_killed(self):
        self.start("local[2,4]")
        self.check_lines("dies", deaths=2)
        self.check_table(deaths=2)
        shutil.rmtree(WORK / "added")
        with self.assertRaisesRegex(Exception, "returned non-zero exit status|died with"):
            self.check_table(deaths=100)
        self.assertFalse((WORK / "added/_SUCCESS").exists())

    def test_an_executor_is_killed(self):
        self.start("local-cluster[2,1,1024]")
        self.check_lines("env", "VICTIM=CoarseGrainedExecutorBackend", "dies", deaths=1)
        self.assertIn("CoarseGrainedExecutorBackend", (WORK / "deaths.log").read_text())


if __name__ == "__main__":
    bin_dir = os.path.abspath(sys.argv.pop(1))
    os.environ.update(PATH=f"{HERE}:{bin_dir}:{os.environ['PATH']}", DEATHS=str(DEATHS), PYSPARK_PYTHON=sys.executable,
                      BERT_MODEL=str(HERE.parents[0] / "golden/tiny-classifier"))
    try:
        unittest.main()
    finally:
        shutil.rmtree(WORK)
