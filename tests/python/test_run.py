"""bertutils.run and stream, with programs of the build in $BERTUTILS_PREFIX."""

import gc
import itertools
import os
import pickle
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path

import bertutils

MODELS = Path(__file__).resolve().parent.parent / "golden"
TINY = ("-m", str(MODELS / "tiny-bert"))


def children():
    """The processes that this one started and that still run."""
    mine = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            mine.append(int(stat.parent.name))
    return mine


def wait_for_no_children():
    end = time.monotonic() + 10
    while children() and time.monotonic() < end:
        time.sleep(0.01)
    return children()


class Run(unittest.TestCase):
    def test_rows_are_those_of_the_program(self):
        lines = ["a cat sat", "", "unaffable"]
        wanted = subprocess.run([bertutils.path("tokenize"), *TINY], input="\n".join(lines) + "\n", text=True,
                                stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(bertutils.run("tokenize", lines, *TINY), wanted.splitlines())

    def test_no_lines_no_rows(self):
        self.assertEqual(bertutils.run("tokenize", [], *TINY), [])

    def test_without_input(self):
        self.assertTrue(bertutils.run("bert-info", None, str(MODELS / "tiny-bert"))[0])
        self.assertRegex(bertutils.run("embed", None, "--version")[0], r"^embed \(bertutils\) \d")

    def test_bytes_give_bytes(self):
        self.assertEqual(bertutils.run("tokenize", [b"a cat"], *TINY), [b"a cat"])

    def test_a_text_passes_unchanged(self):
        text = "a\nb\rc\td \u2028\N{CAT FACE} \udcff"
        label = bertutils.run("classify", [text], "-q", "-m", str(MODELS / "tiny-classifier"))[0]
        self.assertEqual(label.split("\t", 2)[2], text)

    def test_the_end_of_a_line_of_a_file_does_not_count(self):
        with open(MODELS.parent / "man/files/corpus.txt", encoding="utf-8") as file:
            lines = file.readlines()
        rows = bertutils.run("classify", lines, "-m", str(MODELS / "tiny-classifier"))
        self.assertEqual([row.split("\t", 2)[2] + "\n" for row in rows], lines)

    def test_more_than_the_pipes_hold(self):
        line = "a cat sat on the mat " * 50
        rows = bertutils.run("tokenize", itertools.repeat(line, 5000), "--count", *TINY)
        self.assertEqual(len(rows), 5000)
        row, = bertutils.run("tokenize", [line * 1000], *TINY)  # one row in many pieces
        self.assertEqual(len(row.split()), 300_000)

    def test_a_row_comes_before_the_next_line_is_given(self):
        answered = threading.Semaphore(0)

        def lines():
            for number in range(5):
                yield f"line {number}"
                self.assertTrue(answered.acquire(timeout=30))

        rows = []
        for row in bertutils.stream("tokenize", lines(), *TINY):
            rows.append(row)
            answered.release()
        self.assertEqual(len(rows), 5)

    def test_two_at_once(self):
        pairs = zip(bertutils.stream("tokenize", ["a", "b"] * 500, *TINY),
                    bertutils.stream("tokenize", ["a", "b"] * 500, "--count", *TINY))
        self.assertEqual(len(list(pairs)), 1000)


class Faults(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(wait_for_no_children(), [])

    def test_the_message_and_status_of_the_program(self):
        for options, status, message in ((("-m", "/nowhere"), 66, "embed: /nowhere: "), (("--odd",), 64, "embed: ")):
            with self.assertRaises(bertutils.Error) as caught:
                bertutils.run("embed", ["a"], *options)
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(str(caught.exception).startswith(message), str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).status, status)

    def test_rows_before_a_bad_record(self):
        rows, lines = [], [b"a cat", b"a \xff", b"a dog"]
        with self.assertRaises(bertutils.Error) as caught:
            for row in bertutils.stream("tokenize", lines, "--strict", *TINY):
                rows.append(row)
        self.assertEqual((rows, caught.exception.status), ([b"a cat"], 65))

    def test_no_is_an_answer(self):
        empty = bertutils.run("nearest", ["a cat"], "--pairs", "--threshold", "0.99", *TINY)
        self.assertEqual(empty, [])

    def test_warnings_are_logged(self):
        with self.assertLogs("bertutils") as logs:
            bertutils.run("embed", [b"a \xff"], *TINY)
        self.assertIn("UTF-8", logs.output[0])

    def test_an_exception_of_the_lines(self):
        def lines():
            yield "a cat"
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            bertutils.run("tokenize", lines(), *TINY)

    def test_lines_that_a_program_cannot_take(self):
        for tool, lines, options in (("tokenize", ["a", "b\0c"], TINY), ("nsp-pairs", ["a", "b\nc"], ())):
            with self.assertRaisesRegex(ValueError, "line 2 holds"):
                bertutils.run(tool, lines, *options)
        with self.assertRaises(TypeError):
            bertutils.run("tokenize", "one text", *TINY)
        with self.assertRaises(AttributeError):
            bertutils.run("tokenize", [1], *TINY)

    def test_the_caller_stops(self):
        with bertutils.stream("tokenize", itertools.repeat("a cat"), *TINY) as rows:
            self.assertEqual(next(rows), "a cat")
            self.assertEqual(len(children()), 1)
        self.assertEqual(children(), [])
        self.assertEqual(list(rows), [])

    def test_the_caller_forgets(self):
        gc.disable()
        try:
            for row in bertutils.stream("tokenize", itertools.repeat("a cat"), *TINY):
                break
            rows = bertutils.stream("tokenize", itertools.repeat("a cat"), *TINY)
            del rows
            self.assertEqual(children(), [])
        finally:
            gc.enable()

    def test_the_program_is_killed(self):
        rows = bertutils.stream("tokenize", itertools.repeat("a cat"), *TINY)
        next(rows)
        os.kill(children()[0], signal.SIGKILL)
        with self.assertRaisesRegex(bertutils.Error, "tokenize: ended by SIGKILL") as caught:
            list(rows)
        self.assertEqual(caught.exception.status, -signal.SIGKILL)

    def test_python_ends(self):
        script = ("import bertutils, itertools\n"
                  f"rows = bertutils.stream('tokenize', itertools.repeat('a cat'), *{TINY!r})\n"
                  "print(next(rows))\n")
        python = subprocess.run([os.sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                timeout=60, check=False)
        self.assertEqual((python.returncode, python.stdout, python.stderr), (0, b"a cat\n", b""))

    def test_path(self):
        self.assertTrue(os.access(bertutils.path("embed"), os.X_OK))
        for name in ("embd", "../bin/embed"):
            with self.assertRaisesRegex(bertutils.Error, "no such program") as caught:
                bertutils.path(name)
            self.assertEqual(caught.exception.status, 66)


if __name__ == "__main__":
    unittest.main()
