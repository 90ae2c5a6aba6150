#!/usr/bin/env python3
"""What the tools show on a terminal: progress, which fits into its width and counts what is done; columns.

    check.py BIN_DIR

Each tool runs with a pty as its stderr, of so many columns.
"""

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

try:
    for descriptor in pty.openpty():
        os.close(descriptor)
except OSError as error:
    print(f"not run: {error}")
    sys.exit(77)

BIN = os.path.abspath(sys.argv[1])
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
TMP = tempfile.mkdtemp()
ENV = {**os.environ, "PATH": BIN + os.pathsep + os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8"}
failures = 0


def expect(what, good, found=""):
    global failures
    if not good:
        failures += 1
        print(f"FAILED: {what}: {found!r}")


def set_width(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


class Tool:
    """A tool whose stderr, or all of its output, is a terminal; ended when the test has seen enough."""

    def __init__(self, args, columns, stdout=subprocess.DEVNULL, env=None):
        self.fd, tty = pty.openpty()
        set_width(self.fd, columns)
        self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=tty if stdout is None else stdout,
                                        stderr=tty, env={**ENV, **(env or {})})
        os.close(tty)
        self.text = b""

    def read(self, enough, seconds=60):
        end = time.monotonic() + seconds
        while not enough(self.text) and time.monotonic() < end:
            try:
                piece = os.read(self.fd, 4096)
            except OSError:  # the tool has ended
                break
            if not piece:
                break
            self.text += piece
        return self.text

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self.fd)


def lines(text):
    """The lines as they were drawn, one over the other; the last may be unfinished."""
    return [line.split("\x1b[K")[0] for line in text.decode().split("\r")[1:-1] if "\x1b[K" in line]


def drawn(args, columns, count=3, **more):
    tool = Tool(args, columns, **more)
    found = lines(tool.read(lambda text: len(lines(text)) >= count))
    tool.end()
    return found


def endless(name, record):
    path = os.path.join(TMP, name)
    with open(path, "w") as out:
        for _ in range(20):
            out.write((record + "\n") * 100000)
    return path


def records_fit():
    """Fields are dropped, the time left last, and the line is shorter than the terminal."""
    text = endless("reviews", "the movie was great")
    classify = ["classify", "-m", MODELS + "/tiny-classifier", "-j", "2", text]
    wanted = {200: r"classify: \[[#.]{24}\]  +\d+%  \d+:\d\d left  \d+ records  [\d.]+ records/s  \d+ s$",
              80: r"classify: \[[#.]{24}\]  +\d+%  \d+:\d\d left  \d+ records( |$)",
              40: r"classify:  +\d+%  \d+:\d\d left( |$)", 24: r"classify: .*\d+:\d\d left$", 14: r"\d+:\d\d left$"}
    for columns, pattern in wanted.items():
        for line in drawn(classify, columns, 2):
            expect(f"classify in {columns} columns", re.match(pattern, line) and len(line) < columns, line)
    for line in drawn(classify, 0, env={"COLUMNS": "40"}):
        expect("COLUMNS of a terminal without a width", len(line) < 40, line)


def share_is_of_finished_records():
    text = endless("equal", "the book was bad")
    for line in drawn(["mlm-score", "-m", MODELS + "/tiny-bert", "-j", "2", text], 200):
        percent, records = re.search(r"(\d+)%.* (\d+) records ", line).groups()
        expect("share of the records that are done", int(percent) == 100 * int(records) // 2000000, line)
    # Few long records: the reader has all of them at once, and the bar must not say so.
    path = os.path.join(TMP, "long")
    with open(path, "w") as out:
        out.write(("the cat sat on the mat " * 60 + "\n") * 4000)
    for line in drawn(["mlm-score", "-m", MODELS + "/tiny-bert", "-j", "2", "--overflow", "window", path], 200):
        percent, records = re.search(r"(\d+)%.* (\d+) records ", line).groups()
        expect("share of long records", int(percent) == 100 * int(records) // 4000, line)


def width_is_asked_each_time():
    tool = Tool(["classify", "-m", MODELS + "/tiny-classifier", os.path.join(TMP, "reviews")], 200)
    before = len(lines(tool.read(lambda text: len(lines(text)) >= 2)))
    set_width(tool.fd, 40)
    found = lines(tool.read(lambda text: len(lines(text)) >= before + 4))
    tool.end()
    expect("the width before", len(found[0]) > 60, found)
    expect("the width after", len(found[-1]) < 40, found)


def training_fits():
    train = os.path.join(TMP, "beispiele-\u00e4\u732b.tsv")
    with open(train, "w") as out:
        out.write("the movie was great\tpos\nthe book was bad\tneg\n" * 100)
    for columns in (200, 80, 40):
        output = os.path.join(TMP, f"model-{columns}")
        finetune = ["finetune", "-m", MODELS + "/tiny-bert", "--train", train, "--dev", train, "--epochs", "900",
                    "-j", "1", "--output", output]
        found = drawn(finetune, columns)
        steps = [line for line in found if " left" in line]
        expect("steps are shown", len(steps) > 0, found)
        for line in steps:
            expect(f"finetune in {columns} columns", len(line) < columns and line.startswith("finetune: "), line)
        expect("all fields in 200 columns", columns < 200 or " rate " in steps[0] and " tokens/s " in steps[0], found)
        expect("the loss in 80 columns", columns < 80 or " loss " in steps[0], found)


def messages_take_the_line_away():
    """A message, and rows on the same terminal, begin where nothing stands."""
    train = os.path.join(TMP, "few.tsv")
    with open(train, "w") as out:
        out.write("the movie was great\tpos\nthe book was bad\tneg\n" * 200)
    finetune = ["finetune", "-m", MODELS + "/tiny-bert", "--train", train, "--dev", train, "--epochs", "900", "-j", "1"]
    tool = Tool([*finetune, "--output", os.path.join(TMP, "rows")], 120, stdout=None)
    text = tool.read(lambda text: len(re.findall(rb"\n\d+\t[\d.]+\t", text)) >= 2 and len(lines(text)) >= 4)
    tool.end()
    for line in text.decode().split("\n"):
        shown = line.rstrip("\r").split("\x1b[K")[-1].lstrip("\r")
        expect("a row begins its line", not re.search(r"left\d+\t", line) and not re.search(r"left.*\d\t", shown), line)
    text = endless("rows-too", "the movie was great")
    tool = Tool(["classify", "-m", MODELS + "/tiny-classifier", "-j", "1", "--color", "never", text], 120, stdout=None)
    found = tool.read(lambda text: text.count(b" left") >= 3 and text.count(b"\r\x1b[K") >= 3)
    tool.end()
    row = r"(\r[^\r\x1b]*\x1b\[K)*(\r\x1b\[K)?[a-z]+\t[\d.]+\tthe movie was great\r"
    for line in found.decode().split("\n")[:-1]:
        expect("rows of the same terminal", re.fullmatch(row, line), line)


def columns_are_aligned():
    """On a terminal blanks, elsewhere the tabs of always."""
    shapes = ["bert-info", "-m", MODELS + "/tiny-bert", "--shapes", "--seq", "64"]
    tool = Tool(shapes, 80, stdout=None)
    text = tool.read(lambda text: False).decode().replace("\r\n", "\n")
    tool.end()
    rows = subprocess.run(shapes, stdout=subprocess.PIPE, env=ENV, check=True).stdout.decode()
    expect("the same fields", re.sub("  +", "\t", text) == rows, text)
    starts = {line.index("[") for line in text.splitlines() if "[" in line}
    expect("columns of shapes", len(starts) == 1 and "\t" not in text, text)
    tool = Tool(["bert", "list"], 80, stdout=None)
    text = tool.read(lambda text: False).decode()
    tool.end()
    expect("columns of programs", "\t" not in text and "\nner             " in text, text)


def shown(args, **env):
    tool = Tool(args, 80, stdout=None, env=env)
    text = tool.read(lambda text: False).decode().replace("\r\n", "\n")
    tool.end()
    return text


def rows_have_colours():
    """On a terminal, unless NO_COLOR says no; bytes that it would obey are escaped, and pipes get them as they are."""
    path = os.path.join(TMP, "escapes")
    with open(path, "w") as out:
        out.write("the book was bad \x1b[31m\n")
    classify = ["classify", "-m", MODELS + "/tiny-classifier", "--rename", "x\x1b[1m,y\x07,z", "-q", "-r", path]
    found = shown(classify)
    row = r"\x1b\[35m[^\x1b]*/escapes\x1b\[m\t\x1b\[1m(x\\x1b\[1m|y\\x07|z)\x1b\[m\t\x1b\[36m[\d.]+\x1b\[m\tthe book was bad \\x1b\[31m\n"
    expect("colours", re.fullmatch(row, found), found)
    plain = re.sub(r"\x1b\[\d*m", "", found)
    for what, text in (("NO_COLOR", shown(classify, NO_COLOR="1")), ("dumb", shown(classify, TERM="dumb")),
                       ("never", shown([*classify, "--color", "never"]))):
        expect("no colours: " + what, text == plain, text)
    expect("always", shown([*classify, "--color", "always"], NO_COLOR="1") == found)
    piped = subprocess.run(classify, stdout=subprocess.PIPE, env=ENV, check=True).stdout.decode()
    expect("a pipe gets the bytes", piped.replace("\x1b", "\\x1b").replace("\x07", "\\x07") == plain, piped)
    with open(path, "w") as out:
        out.write("the dog was bad\nthe cat sat\nParis is good\n")
    qa = shown(["qa", "-m", MODELS + "/tiny-qa", "-q", "who sat?", "--null-margin", "100", "-k", "1", "-C", "1", path])
    ner = shown(["ner", "-m", MODELS + "/tiny-ner", path])
    expect("a name, and its place in the line", len(re.findall(r"\x1b\[1;31m(\w+)\x1b\[m\t\x1b\[1;31m\1\x1b\[m", ner)) > 0, ner)
    expect("an answer and its place in the text", qa.count("\x1b[1;31m") == 2, qa)


def plain_lines():
    """--progress into a file: a line every ten seconds."""
    log = os.path.join(TMP, "log")
    with open(log, "w") as err:
        process = subprocess.Popen(["classify", "-m", MODELS + "/tiny-classifier", "--progress", "-j", "1",
                                    os.path.join(TMP, "plain")], stdout=subprocess.DEVNULL, stderr=err, env=ENV)
        time.sleep(13)
        process.kill()
        process.wait()
    with open(log, "rb") as text:
        found = text.read()
    wanted = rb"classify: +\d+%  \d+:\d\d left  \d+ records  [\d.]+ records/s  1\d s\n"
    expect("a plain line every ten seconds", re.fullmatch(wanted, found), found)


endless("plain", "the movie was great " * 8)
waits = threading.Thread(target=plain_lines)
waits.start()
for check in (records_fit, share_is_of_finished_records, width_is_asked_each_time, training_fits,
              messages_take_the_line_away, columns_are_aligned, rows_have_colours):
    check()
waits.join()
shutil.rmtree(TMP)
print("FAILED" if failures else "ok")
sys.exit(failures > 0)
