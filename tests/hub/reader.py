#!/usr/bin/env python3
"""bert-pull and huggingface_hub use one cache, filled from one server on 127.0.0.1.

    reader.py BIN_DIR VENV [SHIM]

Runs with a Python that has huggingface_hub: this one, else one that pip makes in the folder VENV, once. Else 77.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from fake_hub import FakeHub

BIN, VENV = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SHIM = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
NAME = "org/st-dense"
OTHERS = {"README.md": b"card", "onnx/model.onnx": b"x" * 1000, ".gitattributes": b"x"}
checks = failures = 0


def reader():
    """A Python that has huggingface_hub, or None."""
    def has(python):
        return subprocess.run([python, "-c", "import huggingface_hub"], capture_output=True).returncode == 0
    if has(sys.executable):
        return sys.executable
    python = VENV + "/bin/python3"
    if not os.path.exists(python) or not has(python):
        shutil.rmtree(VENV, ignore_errors=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", VENV], check=True, capture_output=True, timeout=120)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--retries", "0", "--timeout", "10", "huggingface_hub"],
                           check=True, capture_output=True, timeout=240)
        except (subprocess.SubprocessError, OSError):
            return None
    return python if has(python) else None


def expect(what, found, wanted):
    global checks, failures
    checks += 1
    if found != wanted:
        failures += 1
        print(f"FAIL {what}\n  found  {str(found)[:900]}\n  wants  {str(wanted)[:900]}")


def environment(cache):
    kept = {n: os.environ[n] for n in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if n in os.environ}
    return dict(kept, PATH=BIN + ":/usr/bin:/bin", HOME=work, LC_ALL="C.UTF-8", HF_ENDPOINT=hub.url, HF_HUB_CACHE=cache,
                HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_PROGRESS_BARS="1", HF_HUB_DISABLE_UPDATE_CHECK="1")


def ask(cache, code, **more):
    """What an expression with huggingface_hub gives, as JSON."""
    program = ("import json, sys, os\nfrom huggingface_hub import *\nname = %r\n"
               "def warnings(cache): return [str(w) for w in scan_cache_dir(cache).warnings]\nprint(json.dumps(%s))" % (NAME, code))
    done = subprocess.run([python, "-c", program], env=dict(environment(cache), **more), capture_output=True)
    if done.returncode != 0:
        return done.stderr.decode()[-800:]
    return json.loads(done.stdout.decode().splitlines()[-1])


def pull(cache, *arguments, **more):
    done = subprocess.run([BIN + "/bert-pull", *arguments], env=dict(environment(cache), **more), capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def new_cache():
    return tempfile.mkdtemp(dir=work)


def tree(cache):
    """Each path with its link's target, without what only huggingface_hub keeps for itself."""
    found = {}
    for root, folders, names in os.walk(cache):
        if root.endswith("/trees"):
            continue
        for name in names + folders:
            path = os.path.join(root, name)
            kind = os.readlink(path) if os.path.islink(path) else "folder" if os.path.isdir(path) else oct(os.stat(path).st_mode)
            if name != "trees":
                found[os.path.relpath(path, cache)] = kind
    return found


def snapshot(cache, name=NAME):
    return f"{cache}/models--{name.replace('/', '--')}/snapshots/{hub.models[name]['main'].sha}"


def loaded():
    """The names of the files whose bytes were sent since the last call."""
    files = hub.models[NAME]["main"].files
    names = {f"/blob/{file.etag}": path for path, file in files.items()}
    names.update({f"/{hub.models[NAME]['main'].sha}/{path}": path for path in files})
    found = {name for _, how, asked, _ in hub.log for end, name in names.items()
             if how == "GET" and asked.partition("?")[0].endswith(end) and "/resolve/" not in asked}
    hub.log.clear()
    return sorted(found)


def check_pulled():
    cache = new_cache()
    wanted = [file for path, file in hub.models[NAME]["main"].files.items() if path not in OTHERS]
    expect("bert-pull", pull(cache, NAME), (0, snapshot(cache) + "\n", ""))
    expect("snapshot_download(local_files_only)", ask(cache, "snapshot_download(name, local_files_only=True)"), snapshot(cache))
    expect("scan_cache_dir", ask(cache, "[warnings(None), [(r.repo_id, r.nb_files, sorted(r.refs), r.size_on_disk) for r in scan_cache_dir().repos],"
                                        " [len(r.revisions) for r in scan_cache_dir().repos]]"),
           [[], [[NAME, len({f.etag for f in wanted}), ["main"], sum(len(f.content) for f in wanted)]], [1]])
    expect("hf_hub_download", ask(cache, "hf_hub_download(name, '2_Dense/config.json', local_files_only=True)"), snapshot(cache) + "/2_Dense/config.json")
    expect("offline", ask(cache, "snapshot_download(name)", HF_HUB_OFFLINE="1"), snapshot(cache))
    loaded()
    expect("snapshot_download", ask(cache, "snapshot_download(name)"), snapshot(cache))
    expect("it loads the rest alone", loaded(), sorted(OTHERS))
    expect("bert-pull again", pull(cache, NAME), (0, snapshot(cache) + "\n", ""))
    expect("which loads nothing", loaded(), [])
    expect("no warnings", ask(cache, "warnings(None)"), [])


def check_filled():
    cache = new_cache()
    expect("snapshot_download fills", ask(cache, "snapshot_download(name)"), snapshot(cache))
    info = subprocess.run([BIN + "/bert-info", "-m", NAME], env=environment(cache), capture_output=True)
    expect("-m uses it", (info.returncode, info.stderr), (0, b""))
    loaded()
    expect("bert-pull takes it", pull(cache, NAME), (0, snapshot(cache) + "\n", ""))
    expect("and loads nothing", loaded(), [])
    expect("verified", pull(cache, "--verify", NAME), (0, snapshot(cache) + "\n", ""))
    # A part, as transformers leaves it.
    cache = new_cache()
    ask(cache, "[hf_hub_download(name, f) for f in ('config.json', 'vocab.txt')]")
    loaded()
    expect("bert-pull completes", pull(cache, NAME), (0, snapshot(cache) + "\n", ""))
    expect("with the rest", {"config.json", "model.safetensors", "modules.json"} & set(loaded()), {"model.safetensors", "modules.json"})
    expect("no warnings of the rest", ask(cache, "warnings(None)"), [])
    expect("whole", ask(cache, "snapshot_download(name, local_files_only=True)"), snapshot(cache))


def check_together():
    """Both at once: the locks of one hold the other."""
    cache = new_cache()
    hub.log.clear()
    hub.faults = [lambda request: request.has("cdn") and (time.sleep(0.3), False)[1]]
    ours = subprocess.Popen([BIN + "/bert-pull", "-q", NAME], env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    theirs = ask(cache, "snapshot_download(name, allow_patterns=['*.json', '*.txt', '*.safetensors'])")
    out, err = ours.communicate(timeout=60)
    hub.faults = []
    expect("both at once", (out.decode(), err, theirs), (snapshot(cache) + "\n", b"", snapshot(cache)))
    expect("no warnings of both", ask(cache, "warnings(None)"), [])
    expect("each large file once", len([p for _, how, p, _ in hub.log if how == "GET" and "/blob/" in p]), 2)


def check_same():
    ours, theirs = new_cache(), new_cache()
    pull(ours, NAME)
    ask(theirs, "snapshot_download(name, allow_patterns=['*.json', '*.txt', '*.safetensors'], ignore_patterns=['onnx/*'])")
    expect("the same layout", set(tree(ours).items()) ^ set(tree(theirs).items()), set())
    hub.renamed["st-dense"] = NAME
    hub.models["st-dense"] = hub.models[NAME]
    ours, theirs = new_cache(), new_cache()
    pull(ours, "st-dense")
    ask(theirs, "snapshot_download('st-dense', allow_patterns=['*.json', '*.txt', '*.safetensors'], ignore_patterns=['onnx/*'])")
    expect("the same layout of a redirected name", set(tree(ours).items()) ^ set(tree(theirs).items()), set())


def check_killed():
    """Whatever call it was killed at, huggingface_hub finds nothing wrong."""
    count = work + "/count"
    more = {"LD_PRELOAD": SHIM, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    pull(new_cache(), NAME, HUB_COUNT=count, **more)
    with open(count) as f:
        total = int(f.read())
    caches = []
    for number in range(1, total + 1):
        caches.append(new_cache())
        expect(f"killed at {number}", pull(caches[-1], NAME, HUB_KILL_AT=str(number), **more)[0], -9)
    found = ask(caches[0], "[[warnings(c), [len(v.files) for r in scan_cache_dir(c).repos for v in r.revisions]] for c in %r]" % caches)
    expect("no warnings after a kill", [(n, f) for n, f in enumerate(found, 1) if f[0]], [])
    expect("a whole snapshot or none", {tuple(f[1]) for f in found}, {(), (len(hub.models[NAME]["main"].files) - len(OTHERS),)})
    print(f"{total} kills")


if __name__ == "__main__":
    python = reader()
    if python is None:
        print("not run: huggingface_hub cannot be imported, and pip cannot install it")
        sys.exit(77)
    hub, work = FakeHub(), tempfile.mkdtemp()
    hub.add_folder(NAME, GOLDEN + "/st-dense", **OTHERS)
    try:
        check_pulled()
        check_filled()
        check_together()
        check_same()
        if SHIM:
            check_killed()
        version = ask(work, "__import__('huggingface_hub').__version__")
    finally:
        hub.close()
        shutil.rmtree(work)
    print(f"{checks} checks, {failures} failed (huggingface_hub {version})")
    sys.exit(failures > 0)
