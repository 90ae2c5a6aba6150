#!/usr/bin/env python3
"""bert-pull against a hub on 127.0.0.1 that does all that a network can do.

    check.py BIN_DIR SHIM [TEST...]     runs the tests, or those that are named

Python's standard library only. SHIM: shim.cpp, built.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from fake_hub import FakeHub, sha256

BIN, SHIM, NAMED = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
NAME, BIG, TOKEN = "org/st-dense", "org/big", "hf_abcdefghijklmnop"
WEIGHTS = bytes(os.urandom(5 << 20)) + b"end"  # several blocks
TESTS, failures, checks = [], 0, 0
hub = FakeHub()
work = tempfile.mkdtemp()


def test(function):
    TESTS.append(function)
    return function


def expect(what, found, wanted):
    global checks, failures
    checks += 1
    if found != wanted:
        failures += 1
        print(f"FAIL {running}: {what}\n  found  {str(found)[:600]}\n  wants  {str(wanted)[:600]}")


def expect_in(what, text, part):
    expect(what, text if part not in text else part, part)


class Cache:
    """An empty cache, and the environment that names it."""

    def __init__(self, **environment):
        self.path = tempfile.mkdtemp(dir=work)
        self.environment = {"PATH": BIN + ":/usr/bin:/bin", "HOME": work, "LC_ALL": "C", "HF_ENDPOINT": hub.url,
                            "HF_HUB_CACHE": self.path, "HF_HUB_DOWNLOAD_TIMEOUT": "5"}
        self.environment.update(environment)
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def start(self, *arguments, **environment):
        everything = dict(self.environment, **environment)
        if "LD_PRELOAD" in everything:
            everything["ASAN_OPTIONS"] = everything.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return subprocess.Popen(["bert-pull", *arguments], env={n: v for n, v in everything.items() if v is not None},
                                executable=BIN + "/bert-pull", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def pull(self, *arguments, **environment):
        """Status, stdout, stderr."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out.decode(), err.decode()

    def folder(self, name=NAME):
        return os.path.join(self.path, "models--" + name.replace("/", "--"))

    def snapshot(self, name=NAME, revision="main"):
        return os.path.join(self.folder(name), "snapshots", hub.models[name][revision].sha)

    def partials(self, name=NAME):
        blobs = os.path.join(self.folder(name), "blobs")
        return [os.path.join(blobs, f) for f in os.listdir(blobs) if f.endswith(".incomplete")] if os.path.isdir(blobs) else []

    def unfinished(self):
        return [f for root, folders, files in os.walk(self.path) for f in folders + files if "incomplete" in f or "tmp" in f]

    def whole(self, name=NAME, revision="main"):
        """What is not as it must be after a pull, in words; "" if all is well."""
        commit, folder = hub.models[name][revision], self.snapshot(name, revision)
        found = {}
        for root, _, names in os.walk(folder):
            for file in names:
                path = os.path.join(root, file)
                relative = os.path.relpath(path, folder)
                target = os.readlink(path)
                blob = os.path.relpath(os.path.join(self.folder(name), "blobs", commit.files[relative].etag), root)
                if target != blob:
                    return f"{relative} is a link to {target}, wants {blob}"
                with open(path, "rb") as f:
                    found[relative] = f.read()
        wanted = {path: file.content for path, file in commit.files.items()
                  if not path.startswith(("README", ".git", "onnx/", "tf_"))}
        if set(found) != set(wanted):
            return f"files {sorted(set(found) ^ set(wanted))}"
        if wrong := [path for path in wanted if found[path] != wanted[path]]:
            return f"bytes of {wrong}"
        with open(os.path.join(self.folder(name), "refs", revision)) as f:
            if f.read() != commit.sha:
                return "refs"
        with open(os.path.join(self.path, "CACHEDIR.TAG")) as f:
            if not f.read().startswith("Signature: 8a477f597d28d172789f06886806bc55\n"):
                return "CACHEDIR.TAG"
        return f"unfinished: {self.unfinished()}" if self.unfinished() else ""


def refused(what, result, status, part):
    """One line on stderr that says why, nothing on stdout; no secret, no control byte."""
    expect(f"{what}: status", result[0], status)
    expect(f"{what}: stdout", result[1], "")
    expect(f"{what}: one line", result[2].count("\n"), 1)
    expect(f"{what}: no secret", TOKEN in result[2] or "secret" in result[2], False)
    expect(f"{what}: printable", re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result[2]), None)
    expect_in(f"{what}: message", result[2], part)


def pulled(what, cache, result, name=NAME):
    expect(f"{what}: status and stderr", (result[0], result[2]), (0, ""))
    expect(f"{what}: stdout", result[1], cache.snapshot(name) + "\n")
    expect(f"{what}: cache", cache.whole(name), "")


def times(count, function):
    """A fault for the first `count` requests that it concerns."""
    left = [count]

    def fault(request):
        if left[0] == 0:
            return False
        left[0] -= 1  # before it: the next request may come while it still answers this one
        answered = function(request)
        left[0] += not answered
        return answered
    return fault


def once(side, action):
    """The first request of this side is answered as usual, after `action`."""
    left = [1]

    def fault(request):
        if request.has(side) and left[0]:
            left[0] = 0
            action()
        return False
    return fault


def cut(side, sent, count=1):
    return times(count, lambda request: request.has(side) and (request.cut(sent), True)[1])


def status(side, code, count=1, **headers):
    return times(count, lambda request: request.has(side) and (request.error(code, **headers), True)[1])


def paths(side=None, method="GET"):
    return [path for where, how, path, _ in hub.log if (side is None or where == side) and how == method]


@test
def plain():
    """The files that the tools read, no others; a second pull asks for the commit alone."""
    cache = Cache()
    pulled("first", cache, cache.pull(NAME))
    hub.log.clear()
    pulled("second", cache, cache.pull(NAME))
    expect("second: requests", paths(), [f"/api/models/{NAME}/revision/main?blobs=true"])
    made = subprocess.run([BIN + "/embed", "-m", NAME], env=cache.environment, input=b"the cat\n", capture_output=True)
    wanted = subprocess.run([BIN + "/embed", "-m", GOLDEN + "/st-dense"], env=cache.environment, input=b"the cat\n",
                            capture_output=True)
    expect("embed -m NAME", (made.returncode, made.stdout), (0, wanted.stdout))
    hub.log.clear()
    expect("two names", cache.pull("-q", NAME, "org/none", NAME)[1], (cache.snapshot() + "\n") * 2)
    os.chmod(cache.path, 0o555)
    expect("nothing to write", cache.pull(NAME)[0], 0)


@test
def kinds():
    """Each kind of model that the tools read."""
    cache = Cache()
    for folder in ("st-mean", "sharded", "static-embedding", "static-model2vec", "marian", "colbert-stanford",
                   "modules-cnn", "modules-router", "bge-m3"):
        name = "org/" + folder
        hub.add_folder(name, os.path.join(GOLDEN, folder), **{"README.md": b"card", ".gitattributes": b"x",
                       "onnx/model.onnx": b"x", "onnx/config.json": b"{}", "tf_model.h5": b"x"})
        pulled(folder, cache, cache.pull(name), name)
        info = [subprocess.run([BIN + "/bert-info", "-m", m], env=cache.environment, capture_output=True).stdout
                for m in (name, os.path.join(GOLDEN, folder))]
        expect(f"{folder}: bert-info", len(info[0].splitlines()), len(info[1].splitlines()))
    for tool, text in ((["rank", "--maxsim"], b"a cat\tthe cat\n"), (["embed", "--sparse"], b"the cat\n"), (["embed"], b"cat\n")):
        rows = [subprocess.run([f"{BIN}/{tool[0]}", *tool[1:], "-m", m], input=text, env=cache.environment,
                               capture_output=True).stdout for m in ("org/bge-m3", os.path.join(GOLDEN, "bge-m3"))]
        expect(f"bge-m3: {tool}", (rows[0] == rows[1], len(rows[0]) > 0), (True, True))
    hub.add("org/pickle", {"config.json": b"{}", "vocab.txt": b"a\n", "pytorch_model.bin": b"x", "2_Dense/model.safetensors": b""})
    done = cache.pull("org/pickle")
    expect("pickle: told", (done[0], done[2]), (0, "bert-pull: org/pickle: pytorch_model.bin is downloaded, since there is "
                                                   "no model.safetensors\n"))
    hub.add("org/both", {"config.json": b"{}", "pytorch_model.bin": b"x", "model.safetensors": b"y"})
    expect("both: quiet", cache.pull("org/both")[2], "")
    expect("both: one", os.listdir(cache.snapshot("org/both")).count("pytorch_model.bin"), 0)
    hub.add("org/words", {"config.json": b"{}", "vocab.txt": b"", "tf_model.h5": b"x"})
    expect_in("no weights: told", cache.pull("org/words")[2], "has no model.safetensors and no pytorch_model.bin")
    hub.add("org/other", {"README.md": b"x", "model.gguf": b"x"})
    refused("no config", cache.pull("org/other"), 78, "has neither config.json nor modules.json")
    adapter = {"adapter_config.json": b'{"base_model_name_or_path": "org/whole", "peft_type": "IA3"}',
               "adapter_model.safetensors": b"x", "checkpoint-1/adapter_model.safetensors": b"z"}
    for name, files in (("alone", {}), ("beside", {"config.json": b"{}", "model.safetensors": b"y"})):
        hub.add(f"org/other-{name}", adapter | files)
        refused(f"adapter {name}", cache.pull(f"org/other-{name}"), 78, "an adapter of org/whole")
        hub.add(f"org/adapter-{name}", adapter | files | {
            "adapter_config.json": b'{"base_model_name_or_path": "org/whole", "peft_type": "LORA"}'})
        result = cache.pull(f"org/adapter-{name}")
        expect(f"adapter {name}: status", result[0], 0)
        expect(f"adapter {name}: files", sorted(os.listdir(cache.snapshot(f"org/adapter-{name}"))),
               sorted(["adapter_config.json", "adapter_model.safetensors", *files]))
        expect(f"adapter {name}: told", "an adapter of org/whole, which the tools want, too" in result[2], name == "alone")
    # A GLiNER without a tokenizer takes that of the model that it was made of.
    hub.add_folder("gliner/deberta", GOLDEN + "/gliner-deberta-encoder", **{"pytorch_model.bin": b"large"})
    hub.add_folder("org/gliner", GOLDEN + "/gliner-deberta")
    expect("gliner: listed", [line.split("\t")[1:] for line in cache.pull("--dry-run", "org/gliner")[1].splitlines()],
           [["missing", path] for path in ("gliner_config.json", "pytorch_model.bin", "gliner/deberta/config.json",
                                           "gliner/deberta/tokenizer.json", "gliner/deberta/tokenizer_config.json")])
    result = cache.pull("org/gliner")
    expect("gliner: status", result[0], 0)
    expect_in("gliner: told", result[2], "takes the tokenizer of gliner/deberta, which is downloaded, too")
    expect("gliner: again", "gliner/deberta" in cache.pull("org/gliner")[2], False)
    expect("gliner: files", sorted(os.listdir(cache.snapshot("gliner/deberta"))),
           ["config.json", "tokenizer.json", "tokenizer_config.json"])
    found = subprocess.run([BIN + "/ner", "-m", "org/gliner", "--labels", "city"], env=cache.environment,
                           input=b"Paris is here", capture_output=True)
    expect("gliner: found", (found.returncode, found.stderr), (0, b""))
    hub.add("org/gliner-folder", {"gliner_config.json": b'{"model_name": "/home/me/x"}', "model.safetensors": b"x"})
    expect_in("gliner: a folder", cache.pull("org/gliner-folder")[2], "/home/me/x, which is no model of the hub")
    hub.add_folder("org/routes", GOLDEN + "/modules-sparse")
    expect("routes: status", cache.pull("org/routes")[0], 0)

    def files_in(folder):
        return sorted(os.path.relpath(os.path.join(place, f), folder) for place, _, names in os.walk(folder) for f in names)

    expect("routes: files", files_in(cache.snapshot("org/routes")), files_in(GOLDEN + "/modules-sparse"))
    hub.add("org/gap", {"config.json": b"{}", "model.safetensors.index.json": b'{"weight_map":{"a":"model-1.safetensors"}}'})
    refused("a missing shard", cache.pull("org/gap"), 65, "names model-1.safetensors, which the model does not have")
    expect("a missing shard: no model", os.path.exists(cache.snapshot("org/gap")), False)


@test
def names():
    """A model without organisation, which the hub calls otherwise; branches, tags, commits."""
    cache = Cache()
    hub.models["st-dense"] = hub.models[NAME]
    hub.renamed["st-dense"] = NAME
    pulled("redirected", cache, cache.pull("st-dense"), "st-dense")
    commit = hub.add(NAME, {"config.json": b"{}", "model.safetensors": b"x"}, "refs/pr/1")
    expect("@refs/pr/1", cache.pull(NAME + "@refs/pr/1")[1], cache.snapshot(NAME, "refs/pr/1") + "\n")
    with open(cache.folder() + "/refs/refs/pr/1") as f:
        expect("its ref", f.read(), commit.sha)
    expect("@commit", cache.pull(f"{NAME}@{commit.sha}")[1], cache.snapshot(NAME, "refs/pr/1") + "\n")
    expect("no ref of a commit", os.path.exists(cache.folder() + "/refs/" + commit.sha), False)
    hub.log.clear()
    pulled("main is another", cache, cache.pull(NAME))
    refused("no such revision", cache.pull(NAME + "@nothing"), 66, "no such revision of this model")
    del hub.renamed["st-dense"], hub.models["st-dense"], hub.models[NAME]["refs/pr/1"]


@test
def moved():
    """The branch moves while its files are loaded: all files are of one commit. Then the new one is pulled."""
    cache = Cache()
    name = "org/moving"
    old = hub.add(name, {"config.json": b"{}", "vocab.txt": b"a\n", "model.safetensors": b"old" * 999})

    def move(request):
        if request.has("config.json") and len(hub.models[name]) == 1:
            hub.models[name]["old"] = old
            hub.add(name, {"config.json": b"{}", "vocab.txt": b"b\n", "model.safetensors": b"new" * 999})
        return False
    hub.faults = [move]
    cache.pull(name)
    with open(os.path.join(cache.folder(name), "snapshots", old.sha, "vocab.txt")) as f:
        expect("one commit", f.read(), "a\n")
    pulled("the new commit", cache, cache.pull(name), name)
    expect("config.json is loaded once", len([p for p in paths() if p.endswith("resolve/" + hub.models[name]["main"].sha + "/config.json")]), 0)


@test
def resumed():
    """A cut transfer goes on where it was, in this process and in the next."""
    whole = len(WEIGHTS)
    for sent in (0, 1, 1000, (1 << 20) + 7, whole - 1):
        cache = Cache()
        hub.reset()
        hub.faults = [cut("cdn", sent)]
        pulled(f"cut at {sent}", cache, cache.pull(BIG), BIG)
        asked = [headers for side, _, _, headers in hub.log if side == "cdn"]
        expect(f"cut at {sent}: requests", len(asked), 2)
        if sent > 0:
            expect(f"cut at {sent}: range", (asked[1].get("Range"), asked[1].get("If-Range")),
                   (f"bytes={sent}-", hub.models[BIG]["main"].files["model.safetensors"].cdn_etag))
        # The next process: this one does not try again.
        cache = Cache()
        hub.reset()
        hub.faults = [cut("cdn", sent, 1), status("cdn", 503, -1, Retry_After=9999)]
        refused(f"cut at {sent}, then busy", cache.pull(BIG), 75, "status 503")
        expect(f"cut at {sent}: no model", os.path.exists(cache.snapshot(BIG)), False)
        expect(f"cut at {sent}: kept", [os.path.getsize(p) for p in cache.partials(BIG)], [sent] if sent else [])
        hub.reset()
        pulled(f"after a cut at {sent}", cache, cache.pull(BIG), BIG)
        asked = [headers for side, _, _, headers in hub.log if side == "cdn"]
        expect(f"after a cut at {sent}: range", [h.get("Range") for h in asked], [f"bytes={sent}-" if sent else None])


@test
def small_steps():
    """A connection that always breaks after a while brings the file all the same."""
    cache = Cache()
    hub.faults = [cut("cdn", 1 << 19, -1)]
    pulled("steps", cache, cache.pull(BIG), BIG)
    expect("steps: requests", len(paths("cdn")), (len(WEIGHTS) >> 19) + 1)


@test
def other_ranges():
    """Answers to Range that are not what was asked for: never an appended body."""
    middle = 1 << 20
    etag = hub.models[BIG]["main"].files["model.safetensors"].cdn_etag

    def ranged(answer):
        def fault(request):
            if request.has("cdn") and request.headers.get("Range"):
                answer(request)
                return True
            return False
        return fault

    def partial(begin, total, etag=etag):
        body = WEIGHTS[begin:]
        return lambda request: request.reply(206, body, {"Content-Range": f"bytes {begin}-{len(WEIGHTS) - 1}/{total}", "ETag": etag})

    for what, answer in {
            "200": lambda request: request.reply(200, WEIGHTS),
            "416": lambda request: request.reply(416, b"x" * 1000),
            "another start": partial(middle + 1, len(WEIGHTS)),
            "another total": partial(middle, len(WEIGHTS) + 1),
            "another ETag": partial(middle, len(WEIGHTS), '"other"'),
            "no Content-Range": lambda request: request.reply(206, WEIGHTS[middle:])}.items():
        cache = Cache()
        hub.reset()
        hub.faults = [cut("cdn", middle), ranged(answer)]
        pulled(what, cache, cache.pull(BIG), BIG)
    # The ETag has changed, as the server itself tells.
    cache = Cache()
    hub.reset()
    hub.faults = [cut("cdn", middle), status("cdn", 503, 1, Retry_After=9999)]
    cache.pull(BIG)
    for path in cache.partials(BIG):
        os.rename(path, path.replace("cdn-", "old-"))
    hub.reset()
    pulled("an older ETag", cache, cache.pull(BIG), BIG)
    # What an earlier pull left has other bytes.
    for content in (b"x" * 1000, WEIGHTS[:-1] + b"x", WEIGHTS + b"x"):
        cache = Cache()
        os.makedirs(cache.folder(BIG) + "/blobs")
        with open(f"{cache.folder(BIG)}/blobs/{sha256(WEIGHTS)}.{etag.strip(chr(34))}.00000001.incomplete", "wb") as f:
            f.write(content)
        pulled(f"left {len(content)} other bytes", cache, cache.pull(BIG), BIG)
    cache = Cache()
    hub.faults = [lambda request: request.has("cdn") and (request.reply(206, WEIGHTS, {"Content-Range": "bytes 0-1/2"}), True)[1]]
    refused("206 to no Range", cache.pull(BIG), 76, "found other bytes than were asked for")
    # It knows no Range, and always cuts at the same place: that ends.
    def start_over(request):
        if request.has("cdn"):
            del request.headers["Range"]
            request.cut(1000)
            return True
    hub.faults = [start_over]
    refused("no Range, always cut", Cache().pull("-q", BIG), 75, f"{BIG}: model.safetensors: {hub.cdn}/blob/{sha256(WEIGHTS)}: the transfer failed")


@test
def wrong_bytes():
    """Other bytes, more, fewer: nothing under the blob's name, nothing that a next pull would go on from."""
    bad = bytearray(WEIGHTS)
    bad[4000] ^= 1
    etag = {"ETag": '"same"'}
    for what, answer, part in (
            ("one bit", lambda r: r.reply(200, bytes(bad), etag), f"found bytes of hash {sha256(bytes(bad))}, wants {sha256(WEIGHTS)}"),
            ("longer", lambda r: r.reply(200, WEIGHTS + b"x", etag), f"found {len(WEIGHTS) + 1} bytes, wants {len(WEIGHTS)}"),
            ("shorter", lambda r: r.reply(200, WEIGHTS[:-1], etag), f"found {len(WEIGHTS) - 1} bytes, wants {len(WEIGHTS)}"),
            ("longer, without a length", lambda r: (r.reply(200, WEIGHTS + b"more", length=False), r.close()), f"found more than {len(WEIGHTS)} bytes"),
            ("compressed", lambda r: r.reply(200, WEIGHTS, Content_Encoding="gzip"), "found the encoding gzip")):
        cache = Cache()
        hub.reset()
        hub.faults = [lambda request, answer=answer: request.has("cdn") and (answer(request), True)[1]]
        refused(what, cache.pull(BIG), 76, part)
        expect(f"{what}: no blob", os.path.exists(f"{cache.folder(BIG)}/blobs/{sha256(WEIGHTS)}"), False)
        expect(f"{what}: nothing left", cache.partials(BIG), [])
        expect(f"{what}: no model", os.path.exists(cache.snapshot(BIG)), False)
        hub.reset()
        pulled(f"after {what}", cache, cache.pull(BIG), BIG)
    cache = Cache()
    hub.faults = [times(1, lambda request: request.has("cdn") and (request.reply(200, bytes(bad)), True)[1])]
    pulled("one bit, once", cache, cache.pull(BIG), BIG)
    cache = Cache()
    hub.reset()
    hub.faults = [lambda request: "resolve-cache" in request.path and "vocab" in request.path and
                  (request.reply(200, hub.models[NAME]["main"].files["vocab.txt"].content.swapcase()), True)[1]]
    refused("a small file", cache.pull(NAME), 76, "vocab.txt: found bytes of hash")


@test
def verified():
    """--verify finds wrong bytes under a right name and size."""
    cache = Cache()
    cache.pull(BIG)
    blob = f"{cache.folder(BIG)}/blobs/{sha256(WEIGHTS)}"
    with open(blob, "r+b") as f:
        f.write(b"wrong")
    hub.log.clear()
    expect("without", (cache.pull(BIG)[0], len(paths("cdn"))), (0, 0))
    done = cache.pull("--verify", BIG)
    expect("with", (done[0], done[2]), (0, f"bert-pull: {BIG}: model.safetensors: its bytes in the cache are wrong, so it is loaded again\n"))
    expect("with: cache", cache.whole(BIG), "")
    hub.log.clear()
    expect("again", (cache.pull("--verify", BIG)[2], len(paths())), ("", 1))
    # A file of the wrong size is never taken.
    os.truncate(blob, 100)
    pulled("cut blob", cache, cache.pull(BIG), BIG)
    os.unlink(blob)
    pulled("no blob", cache, cache.pull(BIG), BIG)
    # A snapshot of files, as huggingface_hub makes it where there are no links.
    target = cache.snapshot(BIG) + "/model.safetensors"
    os.unlink(target)
    os.rename(blob, target)
    hub.log.clear()
    expect("a file in place of a link", (cache.pull(BIG)[0], len(paths())), (0, 1))


@test
def refusals():
    """What the hub answers, and the status that the tool ends with."""
    cache = Cache()
    refused("401", cache.pull("org/none"), 77, "org/none: no such model, or a private one: set HF_TOKEN")
    refused("404", cache.pull("org/none", HF_TOKEN=TOKEN), 66, f"org/none: no such model or revision at {hub.url} (status 404)")
    hub.faults = [status("hub", 401, -1)]
    refused("a bad token", cache.pull(NAME, HF_TOKEN=TOKEN), 77, "the hub refuses the token (HF_TOKEN) (status 401)")
    hub.faults = [status("resolve", 403, -1, X_Error_Code="GatedRepo")]
    refused("gated", cache.pull(NAME), 77, f"{NAME}: is gated: accept its terms at {hub.url}/{NAME}, then set HF_TOKEN")
    hub.faults = [status("hub", 403, -1)]
    refused("403", cache.pull(NAME), 77, "may not be read (status 403)")
    hub.faults = [status("resolve", 404, -1)]
    refused("a file is gone", cache.pull(NAME), 66, "no such file")
    for code in (400, 418):
        hub.faults = [status("hub", code, -1)]
        refused(str(code), cache.pull(NAME), 76, f"answers with status {code}, wants 200")
    for code in (429, 500, 502, 503, 504):
        hub.reset()
        hub.faults = [status("hub", code, 2, Retry_After=0)]
        fresh = Cache()
        pulled(f"{code} twice", fresh, fresh.pull(NAME))
        hub.reset()
        hub.faults = [status("hub", code, -1, Retry_After=0)]
        refused(f"{code} for ever", cache.pull(NAME), 75, f"is busy or broken (status {code}), and asks to wait 0 s")
        expect(f"{code} for ever: tries", len(hub.log), 6)
    hub.reset()
    hub.faults = [status("hub", 429, 1, Retry_After=1)]
    started = time.time()
    fresh = Cache()
    pulled("Retry-After: 1", fresh, fresh.pull(NAME))
    expect("Retry-After: 1: waits", time.time() - started >= 1, True)
    hub.faults = [status("hub", 429, 1, RateLimit='"api";r=0;t=1')]
    started = time.time()
    pulled("RateLimit", fresh, fresh.pull(NAME))
    expect("RateLimit: waits", time.time() - started >= 1, True)
    hub.faults = [status("hub", 503, -1, Retry_After=3600)]
    refused("Retry-After: 3600", cache.pull(NAME), 75, "asks to wait 3600 s")
    hub.faults = [lambda request: (request.reply(200, b"<!DOCTYPE html><title>Log in"), True)[1]]
    refused("a login page", cache.pull(NAME), 76, "found a page of HTML, wants JSON")
    hub.faults = [lambda request: (request.reply(404, b"x" * (8 << 20)), True)[1]]
    refused("404 of 8 MB", cache.pull(NAME), 66, "no such model")
    hub.faults = [lambda request: (request.error(404, "x\x1b[31m"), True)[1]]
    refused("404 in red", cache.pull(NAME), 66, "no such model")
    expect("nothing was made", os.listdir(cache.path), [] if not os.path.exists(cache.folder()) else os.listdir(cache.path))


@test
def lists():
    """The hub's list of files is not trusted."""
    good = {"rfilename": "config.json", "size": 2, "blobId": "9e26dfeeb6e641a33dae4961196235bdb965b21b"}
    sha = "0" * 40
    for what, value, part in (
            ("cut", b'{"sha":', "the hub's list of files"), ("empty", b"", "the hub's list of files"),
            ("no object", b"[]", "the hub's list"), ("deep", b"[" * 100000, "the hub's list"),
            ("no commit", {"siblings": [good]}, "sha"), ("commit ..", {"sha": "../" * 13 + "x", "siblings": [good]}, "sha: found"),
            ("commit in capitals", {"sha": "A" * 40, "siblings": [good]}, "wants 40 hexadecimal digits"),
            ("no files", {"sha": sha, "siblings": []}, None),
            ("no size", {"sha": sha, "siblings": [dict(good, size=None)]}, "wants a number of bytes"),
            ("negative size", {"sha": sha, "siblings": [dict(good, size=-1)]}, "wants a number of bytes"),
            ("no hash", {"sha": sha, "siblings": [dict(good, blobId="../../x")]}, "wants 40 hexadecimal digits"),
            ("LFS without hash", {"sha": sha, "siblings": [dict(good, lfs={"size": 1, "sha256": "x"})]}, "wants 64"),
            ("twice", {"sha": sha, "siblings": [good, good]}, "wants each file once"),
            ("not text", b'{"sha":"\xff"}', "the hub's list")):
        hub.faults = [lambda request, v=value: request.has("/api/") and
                      (request.reply(200, v) if isinstance(v, bytes) else request.json(v), True)[1]]
        cache = Cache()
        if part is None:
            refused(what, cache.pull(NAME), 78, "has neither config.json")
        else:
            refused(what, cache.pull(NAME), 76, part)
        expect(f"{what}: nothing was made", os.listdir(cache.path), [])
    outside = os.path.join(work, "outside")
    for path in ("../x", "../../../outside", "/etc/x", outside, "a/../../b", "", ".", "..", "a//b", "a/", "./a", "a\\b", "a\0b", "a\nb",
                 "a\x1b[31m", "..\\x", "x" * 300, "/".join(["a"] * 600)):
        value = {"sha": sha, "siblings": [good, {"rfilename": path, "size": 2, "blobId": good["blobId"]}]}
        hub.faults = [lambda request, v=value: request.has("/api/") and (request.json(v), True)[1]]
        cache = Cache()
        refused(repr(path)[:40], cache.pull(NAME), 76, "wants the path of a file in the model's directory")
        expect(f"{path[:40]!r}: nothing was made", (os.listdir(cache.path), os.path.exists(outside)), ([], False))
    # modules.json names folders. None of them leads out.
    hub.add("org/modules", {"config.json": b"{}", "model.safetensors": b"x", "1_Pooling/config.json": b"{}", "other/config.json": b"{}",
                            "modules.json": b'[{"path":"../x"},{"path":"1_Pooling"},{"path":"/etc"},{"path":7},3,{"path":""}]'})
    hub.faults = []
    cache = Cache()
    cache.pull("org/modules")
    expect("folders", sorted(os.listdir(cache.snapshot("org/modules"))), ["1_Pooling", "config.json", "model.safetensors", "modules.json"])
    hub.add("org/index", {"config.json": b"{}", "model.safetensors.index.json": b'{"weight_map":{"a":"../../x","b":"/etc/passwd"}}'})
    refused("an index", cache.pull("org/index"), 65, "which the model does not have")
    # A long list.
    many = [dict(good, rfilename=f"checkpoint/{i}.json") for i in range(100000)] + [good]
    hub.faults = [lambda request: request.has("/api/") and (request.json({"sha": sha, "siblings": many}), True)[1]]
    started = time.time()
    result = cache.pull("--dry-run", NAME)
    expect("100,000 files", (result[0], result[1]), (0, "2\tmissing\tconfig.json\n"))
    expect("100,000 files: soon", time.time() - started < 20, True)

    def endless(request):
        request.reply(200, b'{"sha":"', length=False)
        try:
            while True:
                request.wfile.write(b"0" * (1 << 20))
        except OSError:
            pass
        return True
    hub.faults = [endless]
    refused("an endless list", cache.pull(NAME), 76, "found a list of files of more than 67108864 bytes")


@test
def endless():
    """Answers that never end, at full speed or drop by drop: each gives one line soon. All are asked for at once."""
    ok, chunked = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    block, long_head = b"y" * 65536, "found more than 262144 bytes of headers"
    long_line, slow = "found a header line that is too long", "Less than 100 bytes/sec"
    cases = {  # what comes first, what comes again and again, after how many seconds; status and message
        "headers": (ok, b"X: y\r\n" * 5000, 0, 76, long_head), "trailers": (chunked + b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 5000, 0, 76, long_head),
        "hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 1000, 0, 76, long_head),
        "line": (ok + b"X: ", block, 0, 76, long_line), "status-line": (b"HTTP/1.1 200 ", block, 0, 76, long_line),
        "trailer": (chunked + b"2\r\n{}\r\n0\r\nX: ", block, 0, 76, long_line), "no-http": (b"", block, 0, 76, "the transfer failed"),
        "slow-hints": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05, 75, slow), "slow-line": (ok + b"X: ", b"y", 0.05, 75, slow),
        "slow-trailers": (chunked + b"2\r\n{}\r\n0\r\n", b"X: y\r\n", 0.05, 75, slow),
        "slow-extension": (chunked + b"5;", b"y" * 20, 0.05, 75, slow), "extension": (chunked + b"5;", block, 0.01, 75, slow),
        "slow-redirect": (b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", b"y" * 10, 0.05, 76, "redirects to /x"),
        "modules.json": (ok + b"\r\n", block, 0, 76, "modules.json: found more than 2 bytes"),
        "a-byte-a-try": (None, None, 0, 75, "model.safetensors: "), "huge": (None, None, 0, 65, "10000000000 bytes, wants at most 67108864")}
    hub.add("org/modules.json", {"config.json": b"{}", "modules.json": b"[]"})
    steps = hub.add("org/a-byte-a-try", {"config.json": b"{}", "model.safetensors": WEIGHTS[1:]}).files["model.safetensors"]
    huge = [{"rfilename": "modules.json", "size": 10**10, "blobId": "0" * 40}]

    def fault(request):
        if steps.etag in request.path:
            return (request.cut(1), True)[1]
        name = next((name for name in cases if f"models/org/{name}/" in request.path), None)
        if name == "huge":
            return (request.json({"sha": "0" * 40, "siblings": huge}), True)[1]
        if name in (None, "a-byte-a-try") or (name == "modules.json") != ("resolve" in request.path):
            return False
        first, again, pause, _, _ = cases[name]
        try:
            request.wfile.write(first)
            while True:
                request.wfile.write(again)
                request.wfile.flush()
                time.sleep(pause)
        except OSError:
            pass
        request.close_connection = True
        return True
    hub.faults = [fault]
    started = time.time()
    running_pulls = {name: Cache(HF_HUB_DOWNLOAD_TIMEOUT="1" if "slow" in name or status == 75 else "20").start(
        *(["--dry-run"] if name in ("modules.json", "huge") else []), "org/" + name) for name, (_, _, _, status, _) in cases.items()}
    for name, process in running_pulls.items():
        out, err = process.communicate(timeout=120)
        refused(name, (process.returncode, out.decode(), err.decode()), *cases[name][3:])
    expect("soon", time.time() - started < 60, True)


@test
def redirects():
    """Where a redirect may lead, and who gets the token."""
    cache = Cache()
    pulled("with a token", cache, cache.pull(NAME, HF_TOKEN=TOKEN))
    sent = {(side, headers.get("Authorization")) for side, _, _, headers in hub.log}
    expect("the token goes to the hub alone", sent, {("hub", "Bearer " + TOKEN), ("cdn", None)})

    def to(location, count=-1):
        return times(count, lambda request: request.has("hub") and "blobs=" in request.path and
                     (request.reply(302, Location=location), True)[1])
    for location in ("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "//", "http://", "javascript:1", ""):
        hub.faults = [to(location)]
        refused(f"to {location!r}", Cache().pull(NAME), 76, "redirects to")
    hub.reset()
    hub.faults = [to("?blobs=true")]
    refused("a loop", Cache().pull(NAME), 76, "more than 10 redirects")
    expect("a loop: requests", len(hub.log), 11)
    hub.reset()
    hub.faults = [to(hub.url + f"/api/models/{NAME}/revision/main?x=1")]
    refused("absolute, on the same host", Cache().pull("org/other-name", HF_TOKEN=TOKEN), 76, 'no key "size"')
    expect("absolute: token", hub.log[1][3].get("Authorization"), "Bearer " + TOKEN)
    hub.reset()
    hub.faults = [to(hub.url.replace("127.0.0.1", "localhost") + f"/api/models/{NAME}/revision/main?blob", 1)]
    Cache().pull(NAME, HF_TOKEN=TOKEN)
    expect("another name of the host: no token", hub.log[1][3].get("Authorization"), None)
    hub.faults = [times(1, lambda request: request.has("cdn") and (request.reply(302, Location=hub.url + "/x"), True)[1])]
    hub.log.clear()
    refused("back to the hub", Cache().pull(NAME, HF_TOKEN=TOKEN), 66, "no such file")


@test
def tokens():
    """Where the token comes from."""
    def sent(**environment):
        hub.log.clear()
        result = Cache().pull("--dry-run", NAME, **environment)
        return hub.log[0][3].get("Authorization") if hub.log else result[2]
    home = tempfile.mkdtemp(dir=work)
    with open(home + "/token", "w") as f:
        f.write("  hf_of_home\n")
    with open(home + "/other", "w") as f:
        f.write("hf_of_path")
    expect("none", sent(), None)
    expect("HF_HOME", sent(HF_HOME=home), "Bearer hf_of_home")
    expect("HF_TOKEN_PATH", sent(HF_HOME=home, HF_TOKEN_PATH=home + "/other"), "Bearer hf_of_path")
    expect("~", sent(HOME=home, HF_TOKEN_PATH="~/other"), "Bearer hf_of_path")
    expect("$", sent(PLACE=home, HF_TOKEN_PATH="${PLACE}/other"), "Bearer hf_of_path")
    expect("HF_TOKEN", sent(HF_HOME=home, HF_TOKEN=f" {TOKEN}\n"), "Bearer " + TOKEN)
    expect("an empty HF_TOKEN", sent(HF_HOME=home, HF_TOKEN=""), "Bearer hf_of_home")
    expect("not of itself", sent(HF_HOME=home, HF_HUB_DISABLE_IMPLICIT_TOKEN="1"), None)
    for bad in ("hf_a\r\nX-Evil: 1", "hf a", "hf_\x7f", "hf_é"):
        refused(repr(bad), Cache().pull(NAME, HF_TOKEN=bad), 64, "HF_TOKEN: found a token with blanks or control characters")


@test
def settings():
    """The other variables."""
    cache = Cache()
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        for value in ("1", "true", "ON"):
            refused(f"{name}={value}", cache.pull(NAME, **{name: value}), 69, f"{NAME}: cannot be downloaded, since {name} is set")
    expect("offline asks nothing", hub.log, [])
    expect("HF_HUB_OFFLINE=0", cache.pull("--dry-run", NAME, HF_HUB_OFFLINE="0")[0], 0)
    for bad in ("huggingface.co", "ftp://x", "https://", "file:///etc", "http://h/?a=secret", "https://user:secret@h:99999/"):
        refused(f"HF_ENDPOINT={bad}", cache.pull(NAME, HF_ENDPOINT=bad), 64, "HF_ENDPOINT: found '")
    for bad in ("0", "-1", "x", "1e9", "1.5"):
        refused(f"timeout {bad}", cache.pull(NAME, HF_HUB_DOWNLOAD_TIMEOUT=bad), 64, "HF_HUB_DOWNLOAD_TIMEOUT: found")
    expect("HF_ENDPOINT with a slash", cache.pull("--dry-run", NAME, HF_ENDPOINT=hub.url + "/")[0], 0)
    home = tempfile.mkdtemp(dir=work)
    none = {"HF_HUB_CACHE": None}
    commit = hub.models[NAME]["main"].sha
    for what, variables, place in (
            ("HF_HOME", {"HF_HOME": home}, home + "/hub"), ("XDG_CACHE_HOME", {"XDG_CACHE_HOME": home}, home + "/huggingface/hub"),
            ("HOME", {"HOME": home}, home + "/.cache/huggingface/hub"), ("the old name", {"HUGGINGFACE_HUB_CACHE": home + "/old"}, home + "/old"),
            ("HF_HUB_CACHE=~", {"HOME": home, "HF_HUB_CACHE": "~/mine/../its/"}, home + "/its")):
        result = cache.pull(NAME, **dict(none, **variables))
        expect(what, result, (0, f"{place}/models--org--st-dense/snapshots/{commit}\n", ""))
        found = subprocess.run([BIN + "/bert-info", "-m", NAME], capture_output=True,
                               env={n: v for n, v in dict(cache.environment, **dict(none, **variables)).items() if v is not None})
        expect(f"{what}: -m", found.returncode, 0)
    refused("no place", cache.pull(NAME, **dict(none, HOME=None)), 73, "set HF_HUB_CACHE, HF_HOME or HOME")


@test
def network():
    """No server, no name, one that says nothing or little, one that speaks no HTTP; a proxy."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    refused("refused", Cache().pull(NAME, HF_ENDPOINT=f"http://127.0.0.1:{port}"), 69, "cannot connect")
    refused("no such host", Cache().pull(NAME, HF_ENDPOINT="http://no-such-host.invalid"), 69, "cannot connect")
    refused("TLS to a plain server", Cache().pull(NAME, HF_ENDPOINT=hub.url.replace("http:", "https:")), 69, "cannot connect")

    def raw(answer):
        def fault(request):
            request.wfile.write(answer)
            request.close()
            return True
        return fault
    fresh = Cache()
    hub.faults = [times(2, raw(b""))]
    pulled("closes at once, twice", fresh, fresh.pull(NAME))
    for answer in (b"hello\r\n\r\n", b"\0" * 100, b"SSH-2.0-OpenSSH\r\n"):
        hub.faults = [raw(answer)]
        refused(f"{answer[:8]}", Cache().pull(NAME), 76, "the transfer failed")
    fresh = Cache()
    hub.faults = [times(1, raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"sh"))]
    pulled("cut chunks, once", fresh, fresh.pull(NAME))
    slow = Cache()
    hub.faults = [once("cdn", lambda: time.sleep(2.5))]
    pulled("silence, once", slow, slow.pull(BIG, HF_HUB_DOWNLOAD_TIMEOUT="1"), BIG)

    def drip(request):
        if not request.has("cdn"):
            return False
        try:
            request.send_response(200)
            request.send_header("Content-Length", str(len(WEIGHTS)))
            request.end_headers()
            for byte in WEIGHTS[:200]:
                request.wfile.write(bytes([byte]))
                request.wfile.flush()
                time.sleep(0.3)
        except OSError:
            pass
        request.close()
        return True
    hub.faults = [times(1, drip)]
    started = time.time()
    slow = Cache()
    pulled("three bytes a second, once", slow, slow.pull(BIG, HF_HUB_DOWNLOAD_TIMEOUT="4"), BIG)
    expect("three bytes a second, once: soon", time.time() - started < 30, True)
    # A proxy gets the whole address.
    hub.reset()
    proxy = Cache()
    hub.faults = [lambda request: request.path.startswith("http://") and
                  (setattr(request, "path", "/" + request.path.split("/", 3)[3]), False)[1]]
    expect("proxy", proxy.pull("--dry-run", NAME, HF_ENDPOINT="http://hub.invalid", http_proxy=hub.url)[0], 0)
    expect("proxy: asked for", hub.log[0][2].startswith("http://hub.invalid/api/"), True)
    refused("no proxy", proxy.pull(NAME, HF_ENDPOINT="http://hub.invalid", http_proxy=f"http://user:secret@127.0.0.1:{port}"), 69, "cannot connect")
    hub.faults = [status("hub", 407, -1)]
    refused("407", proxy.pull(NAME, http_proxy=hub.url, no_proxy=""), 69, "the proxy wants a password")


@test
def encrypted():
    """TLS: certificates are checked, and no redirect leads to plain HTTP."""
    certificate, key = work + "/cert.pem", work + "/key.pem"
    if not shutil.which("openssl"):
        print("not run: encrypted: no openssl")
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    with open(certificate, "a") as both, open(key) as k:
        both.write(k.read())
    safe = FakeHub(certificate)
    safe.models = hub.models
    cache = Cache(HF_ENDPOINT=safe.url)
    refused("unknown certificate", cache.pull(NAME), 69, "cannot connect")
    expect("unknown certificate: not asked", safe.log, [])
    pulled("SSL_CERT_FILE", cache, cache.pull(NAME, SSL_CERT_FILE=certificate, HF_TOKEN=TOKEN))
    expect("token", {(side, h.get("Authorization")) for side, _, _, h in safe.log}, {("hub", "Bearer " + TOKEN), ("cdn", None)})
    refused("another name", Cache(HF_ENDPOINT=safe.url.replace("127.0.0.1", "localhost")).pull(NAME, SSL_CERT_FILE=certificate), 69, "cannot connect")
    safe.cdn, cdn = hub.cdn, safe.cdn
    refused("to plain HTTP", Cache(HF_ENDPOINT=safe.url).pull(NAME, SSL_CERT_FILE=certificate), 76, "wants https://HOST")
    safe.cdn = cdn
    hub.faults = [lambda request: "blobs=" in request.path and (request.reply(302, Location=safe.url + request.path), True)[1]]
    up = Cache()
    pulled("from plain HTTP to TLS", up, up.pull(NAME, SSL_CERT_FILE=certificate))
    safe.faults = [lambda request: "blobs=" in request.path and (request.reply(302, Location=hub.url + "/x"), True)[1]]
    refused("and back", Cache().pull(NAME, SSL_CERT_FILE=certificate), 76, "wants https://HOST")
    safe.close()


@test
def disks():
    """Folders that cannot be written, names that are taken, a full disk."""
    for call, number, wanted in (("write", 28, 74), ("write", 5, 74), ("fsync", 28, 74), ("fsync", 5, 74), ("rename", 13, 77),
                                 ("symlink", 1, 77), ("symlink", 95, 73), ("mkdir", 30, 77), ("mkdir", 28, 74), ("open", 13, 77), ("open", 28, 74)):
        cache = Cache(LD_PRELOAD=SHIM)
        result = cache.pull(NAME, HUB_FAIL=f"{call}:{number}")
        refused(f"{call} fails with {number}", result, wanted, "cannot")
        expect(f"{call} fails with {number}: no model", os.path.exists(cache.snapshot()), False)
        if number == 28:
            expect(f"{call} fails with {number}: no room is taken", cache.partials(), [])
        pulled("then", cache, cache.pull(NAME))
    cache = Cache(LD_PRELOAD=SHIM)
    pulled("flock that fails", cache, cache.pull(NAME, HUB_FAIL="flock:38"))
    cache = Cache()
    with open(cache.folder(), "w"):
        pass
    refused("a file in the place of the folder", cache.pull(NAME), 73, "cannot create directory")
    os.unlink(cache.folder())
    refused("a file in the place of the cache", cache.pull(NAME, HF_HUB_CACHE=SHIM), 73, "cannot create directory")
    os.makedirs(cache.snapshot() + "/config.json/x")
    refused("a directory in the place of a file", cache.pull(NAME), 73, "config.json: cannot create")
    # A disk that is too small, and one that becomes full; in a chroot, unshare can fail.
    if shutil.which("unshare") and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
        script = 'mount -t tmpfs -o size=3m tmpfs "$1" 2>/dev/null || exit 99; shift; "$@"'
        small = Cache()
        done = subprocess.run(["unshare", "-m", "bash", "-c", script, "-", small.path, BIN + "/bert-pull", BIG],
                              env=small.environment, capture_output=True)
        if done.returncode != 99:
            refused("a small disk", (done.returncode, done.stdout.decode(), done.stderr.decode()), 74, "bytes free, wants")
            # Room for the file, but not beside what an earlier pull left of it.
            left = f"models--org--big/blobs/{sha256(WEIGHTS)}.x.00000001.incomplete"
            script = ('mount -t tmpfs -o size=7m tmpfs "$1"; cd "$1"; shift; mkdir -p models--org--big/blobs models--org--big/snapshots; '
                      f'head -c 4000000 /dev/zero >{left}; "$@"; status=$?; ls models--org--big/blobs | grep -c incomplete; exit $status')
            done = subprocess.run(["unshare", "-m", "bash", "-c", script, "-", small.path, BIN + "/bert-pull", BIG],
                                  env=small.environment, capture_output=True)
            expect("a small disk with a part", (done.returncode, done.stdout.decode(), done.stderr),
                   (0, small.snapshot(BIG) + "\n0\n", b""))
    if os.getuid() != 0:
        cache = Cache()
        os.chmod(cache.path, 0o555)
        refused("a cache that cannot be written", cache.pull(NAME), 77, "cannot create directory: Permission denied")


@test
def together():
    """Several pulls of one model at once, with locks and where locks do nothing."""
    for what, environment in (("locks", {}), ("no locks", {"LD_PRELOAD": SHIM, "HUB_NO_FLOCK": "1"})):
        for seed in range(2):
            cache = Cache()
            hub.reset()
            hub.faults = [lambda request: request.has("cdn") and (time.sleep(0.2), False)[1]]
            if seed:
                hub.faults.append(cut("cdn", 1 << 20, 3))
            processes = [cache.start(NAME, BIG, **environment) for _ in range(4)]
            for process in processes:
                out, err = process.communicate(timeout=60)
                expect(f"{what} {seed}", (process.returncode, out.decode()), (0, f"{cache.snapshot(NAME)}\n{cache.snapshot(BIG)}\n"))
                expect(f"{what} {seed}: stderr", [line for line in err.decode().splitlines() if "waiting for another" not in line], [])
            expect(f"{what} {seed}: cache", (cache.whole(NAME), cache.whole(BIG)), ("", ""))
            if not environment and not seed:
                expect(f"{what}: loaded once", len([p for p in paths("cdn") if sha256(WEIGHTS) in p]), 1)
    # They meet in every order.
    for seed in range(12):
        cache = Cache(LD_PRELOAD=SHIM, HUB_NO_FLOCK="1")
        hub.reset()
        processes = [cache.start(NAME, HUB_DELAY="2000") for _ in range(4)]
        for process in processes:
            out, err = process.communicate(timeout=60)
            pulled(f"delays {seed}", cache, (process.returncode, out.decode(), err.decode()))
    # One that is stopped holds the lock; it is killed, and the other goes on.
    cache = Cache()
    hub.reset()
    stuck = threading.Event()
    hub.faults = [once("cdn", lambda: stuck.wait(20))]
    first = cache.start(BIG)
    while len(paths("cdn")) == 0:
        time.sleep(0.02)
    second = cache.start(BIG)
    line = second.stderr.readline().decode()
    expect("waits: told", line, f"bert-pull: {BIG}: model.safetensors: waiting for another process that downloads it\n")
    first.kill()
    first.communicate()
    out, err = second.communicate(timeout=30)
    stuck.set()
    pulled("after a dead holder", cache, (second.returncode, out.decode(), err.decode()), BIG)


def model_or_none(what, cache, name):
    """What -m finds is a whole model, or nothing."""
    found = subprocess.run([BIN + "/bert-info", "-m", name], env=cache.environment, capture_output=True)
    if found.returncode == 0:
        expect(f"{what}: a whole model", bool(os.path.isdir(cache.snapshot(name))) and
               sorted(os.path.relpath(os.path.join(r, f), cache.snapshot(name)) for r, _, fs in os.walk(cache.snapshot(name)) for f in fs),
               sorted(p for p in hub.models[name]["main"].files if os.path.exists(os.path.join(GOLDEN, "st-dense", p))))
    else:
        expect(f"{what}: no model", (found.returncode, b"no such model" in found.stderr), (66, True))


@test
def killed_at_requests():
    """kill -9 when each request comes, and in the middle of each body."""
    cache = Cache()
    cache.pull(NAME)
    total = len(hub.log)
    for half in (False, True):
        for number in range(1, total + 1):
            cache = Cache()
            hub.reset()
            process = None
            ready = threading.Event()

            def fault(request):
                if request.number != number:
                    return False
                ready.wait(10)
                if half:
                    request.cut(1)
                    time.sleep(0.02)
                os.kill(process.pid, signal.SIGKILL)
                request.close()
                return True
            hub.faults = [fault]
            process = cache.start(NAME)
            ready.set()
            process.communicate(timeout=30)
            expect(f"request {number}: killed", process.returncode, -9)
            model_or_none(f"request {number}", cache, NAME)
            hub.faults = []
            pulled(f"after request {number}", cache, cache.pull(NAME))


@test
def killed_at_calls():
    """kill -9 before each call that changes a file."""
    count = work + "/count"
    cache = Cache()
    cache.pull(NAME, LD_PRELOAD=SHIM, HUB_COUNT=count)
    with open(count) as f:
        total = int(f.read())
    expect("calls", total > 50, True)
    old = Cache()  # a snapshot of the commit before, and a part of this one
    for number in range(1, total + 1):
        cache = Cache()
        first = cache.pull(NAME, LD_PRELOAD=SHIM, HUB_KILL_AT=str(number))
        expect(f"call {number}: killed", first[0], -9)
        model_or_none(f"call {number}", cache, NAME)
        expect(f"call {number}: refs", [f for _, _, fs in os.walk(cache.folder() + "/refs") for f in fs if f != "main"], [])
        expect(f"call {number}: cache", [f for f in os.listdir(cache.path) if f not in (".locks", "CACHEDIR.TAG", "models--org--st-dense")], [])
        pulled(f"after call {number}", cache, cache.pull(NAME))
    print(f"{total} calls")


@test
def terminal():
    """The bar is for terminals alone, and leaves nothing."""
    import pty
    try:
        for descriptor in pty.openpty():
            os.close(descriptor)
    except OSError as error:
        print(f"not run: terminal: {error}")
        return
    # As slow as needed for a bar, which comes after a second.

    def slowly(request):
        if not request.has("cdn") or request.command != "GET":
            return False
        request.send_response(200)
        request.send_header("Content-Length", str(len(WEIGHTS)))
        request.end_headers()
        for i in range(0, len(WEIGHTS), 1 << 19):
            request.wfile.write(WEIGHTS[i:i + (1 << 19)])
            time.sleep(0.15)
        return True
    for what, arguments, environment, shown in (("bar", [], {}, True), ("-q", ["-q"], {}, False),
                                                ("disabled", [], {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}, False)):
        hub.faults = [slowly]
        cache = Cache()
        master, slave = pty.openpty()
        process = subprocess.Popen([BIN + "/bert-pull", *arguments, BIG], env=dict(cache.environment, **environment),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 4096):
                text += piece
        except OSError:
            pass
        out = process.communicate()[0]
        expect(f"{what}: done", (process.returncode, out.decode()), (0, cache.snapshot(BIG) + "\n"))
        expect(f"{what}: shown", b"bert-pull: [" in text and b" left  " in text and b"  model.safetensors" in text, shown)
        expect(f"{what}: leaves nothing", text == b"" or text.endswith(b"\r\x1b[K"), True)
        expect(f"{what}: fits", max((len(line) for line in text.decode().replace("\x1b[K", "").split("\r")), default=0) < 80, True)


@test
def unseen():
    """--dry-run writes what is missing and stores nothing; libcurl is in no other tool."""
    cache = Cache()
    result = cache.pull("--dry-run", NAME)
    files = hub.models[NAME]["main"].files
    rows = sorted(line.split("\t") for line in result[1].splitlines())
    expect("rows", rows, sorted([str(len(f.content)), "missing", p] for p, f in files.items()))
    expect("stores nothing", (result[0], result[2], os.listdir(cache.path)), (0, "", []))
    cache.pull(NAME)
    expect("cached", {line.split("\t")[1] for line in cache.pull("--dry-run", NAME)[1].splitlines()}, {"cached"})
    hub.faults = [lambda request: "modules.json" in request.path and (request.reply(200, b"[]"), True)[1]]
    refused("wrong modules.json", Cache().pull("--dry-run", NAME), 76, "modules.json: found bytes of hash")
    expect("a full stdout", subprocess.run(f"{BIN}/bert-pull {NAME} >/dev/full", shell=True, env=cache.environment,
                                           capture_output=True).stderr, b"bert-pull: stdout: write error: No space left on device\n")
    for tool in sorted(os.listdir(BIN)):
        if shutil.which("readelf") and not tool.startswith(("unit", "fuzz", "bench")):
            needed = subprocess.run(["readelf", "-d", f"{BIN}/{tool}"], capture_output=True).stdout
            expect(f"{tool}: libcurl", b"libcurl" in needed or b"libcrypto" in needed, tool == "bert-pull")


if __name__ == "__main__":
    hub.add_folder(NAME, GOLDEN + "/st-dense")
    hub.add(BIG, {"config.json": b"{}", "model.safetensors": WEIGHTS})
    try:
        for function in TESTS:
            if NAMED and function.__name__ not in NAMED:
                continue
            running = function.__name__
            hub.reset()
            begun = time.time()
            function()
            if os.environ.get("HUB_TIMES"):
                print(f"{running}: {time.time() - begun:.1f} s")
    finally:
        hub.close()
        subprocess.run(["chmod", "-R", "u+w", work])
        shutil.rmtree(work)
    print(f"{checks} checks, {failures} failed")
    sys.exit(failures > 0 or checks == 0)
