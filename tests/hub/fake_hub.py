#!/usr/bin/env python3
"""A Hugging Face hub on 127.0.0.1, with switches for what can go wrong.

    fake_hub.py ADDRESS_FILE NAME=FOLDER...     serves folders as models, until it is killed

As a module, FakeHub has two origins, the hub and the host of its large files (Hub.cdn), as the real one. Both note
their requests. A fault is a function that gets each request before it is answered: see FakeHub.faults. Python's
standard library only.
"""

import hashlib
import http.server
import json
import os
import socket
import ssl
import sys
import threading
import urllib.parse

LARGE = (".safetensors", ".bin", ".h5", ".onnx", ".spm", ".model")  # in Git LFS


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class File:
    def __init__(self, content, large):
        self.content, self.large = content, large
        self.etag = sha256(content) if large else git_sha1(content)
        # The host of large files has its own ETags.
        self.cdn_etag = '"cdn-%s"' % hashlib.md5(content).hexdigest()


class Commit:
    def __init__(self, files):
        self.files = {path: File(content, path.endswith(LARGE)) for path, content in files.items()}
        listing = "".join(f"{path} {file.etag}\n" for path, file in sorted(self.files.items()))
        self.sha = hashlib.sha1(listing.encode("utf-8", "surrogatepass")).hexdigest()


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub = self.server.hub
        with hub.lock:
            number = len(hub.log) + 1
            hub.log.append((self.server.side, self.command, self.path, dict(self.headers.items())))
        self.number = number
        for fault in list(hub.faults):
            if fault(self):
                return
        (self.answer_cdn if self.server.side == "cdn" else self.answer_hub)()

    @property
    def side(self):
        return self.server.side

    def has(self, part):
        """Whether a fault for requests of this side ("hub", "cdn") or path concerns this one."""
        return part == self.side or part in self.path

    def reply(self, status, body=b"", headers=(), length=None, **more):
        self.send_response(status)
        names = dict(headers, **{name.replace("_", "-"): value for name, value in more.items()})
        for name, value in names.items():
            self.send_header(name, str(value))
        if "Transfer-Encoding" not in names and length is not False:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def json(self, value):
        self.reply(200, json.dumps(value).encode(), Content_Type="application/json")

    def error(self, status, code="", **more):
        self.reply(status, b'{"error":"%s"}' % code.encode(), {"X-Error-Code": code} if code else {}, **more)

    def commit(self, name, revision):
        model = self.server.hub.models.get(name)
        if model is None:
            # As the hub does: who gives no token is not told whether there is a private model.
            self.error(404 if self.headers.get("Authorization") else 401, "RepoNotFound")
            return None
        for commit in [model.get(urllib.parse.unquote(revision))] + list(model.values()):
            if commit and (commit is model.get(urllib.parse.unquote(revision)) or commit.sha == revision):
                return commit
        self.error(404, "RevisionNotFound")
        return None

    def answer_hub(self):
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            for word in ("revision", "tree"):
                if word in parts:
                    at = parts.index(word)
                    return self.answer_api("/".join(parts[2:at]), parts[at + 1], word, query)
            return self.answer_api("/".join(parts[2:]), "main", "revision", query)
        cached = parts[:2] == ["api", "resolve-cache"]
        if cached:
            parts = parts[3:]
            parts.insert(len(parts) if len(parts) < 3 else [i for i, p in enumerate(parts) if len(p) == 40][0], "resolve")
        if "resolve" not in parts:
            return self.error(404)
        at = parts.index("resolve")
        name = "/".join(parts[:at])
        if name in self.server.hub.renamed:
            return self.reply(307, Location=path.replace(name, self.server.hub.renamed[name], 1))
        self.answer_file(name, parts[at + 1], urllib.parse.unquote("/".join(parts[at + 2:])), cached)

    def answer_api(self, name, revision, word, query):
        hub = self.server.hub
        if name in hub.renamed:
            return self.reply(307, Location=self.path.replace(name, hub.renamed[name], 1))
        commit = self.commit(name, revision)
        if commit is None:
            return
        if word == "tree":
            return self.json([dict({"type": "file", "path": path, "size": len(file.content), "oid": git_sha1(file.content)},
                                   **({"lfs": {"oid": file.etag, "size": len(file.content), "pointerSize": 134}}
                                      if file.large else {})) for path, file in sorted(commit.files.items())])
        siblings = []
        for path, file in commit.files.items():
            entry = {"rfilename": path}
            if "blobs=" in query:
                entry.update(size=len(file.content), blobId=git_sha1(b"pointer") if file.large else file.etag)
                if file.large:
                    entry["lfs"] = {"sha256": file.etag, "size": len(file.content), "pointerSize": 134}
            siblings.append(entry)
        self.json({"_id": "1", "id": name, "modelId": name, "sha": commit.sha, "private": False, "tags": [],
                   "downloads": 1, "likes": 0, "siblings": siblings})

    def answer_file(self, name, revision, path, cached):
        hub = self.server.hub
        commit = self.commit(name, revision)
        if commit is None:
            return
        file = commit.files.get(path)
        headers = {"X-Repo-Commit": commit.sha}
        if file is None:
            return self.reply(404, b"Entry not found", dict(headers, **{"X-Error-Code": "EntryNotFound"}))
        headers.update({"X-Linked-Size": len(file.content), "X-Linked-ETag": f'"{file.etag}"'})
        if file.large:
            place = f"{hub.cdn}/blob/{file.etag}?Signature=secret"
            return self.reply(302, b"Found", headers, Location=place)
        if not cached:
            place = f"/api/resolve-cache/models/{name}/{commit.sha}/{urllib.parse.quote(path)}"
            return self.reply(307, b"Moved", headers, Location=place)
        self.send_file(file.content, f'"{file.etag}"', headers)

    def answer_cdn(self):
        etag = self.path.partition("?")[0].rpartition("/")[2]
        for model in self.server.hub.models.values():
            for commit in model.values():
                for file in commit.files.values():
                    if file.etag == etag:
                        return self.send_file(file.content, file.cdn_etag, {})
        self.error(403)

    def send_file(self, content, etag, headers):
        headers = dict(headers, ETag=etag, **{"Accept-Ranges": "bytes"})
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and self.headers.get("If-Range", etag) == etag:
            begin = int(wanted[6:].split("-")[0])
            if begin >= len(content):
                return self.reply(416, b"too far", dict(headers, **{"Content-Range": f"bytes */{len(content)}"}))
            headers["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
            return self.reply(206, content[begin:], headers)
        self.reply(200, content, headers)

    def cut(self, sent):
        """Sends the right head, so many bytes of the body, and closes."""
        real, kept = self.wfile, bytearray()

        class Catch:
            def write(self, data):
                kept.extend(data)

            def flush(self):
                pass

        self.wfile = Catch()
        (self.answer_cdn if self.side == "cdn" else self.answer_hub)()
        self.wfile = real
        head, _, body = bytes(kept).partition(b"\r\n\r\n")
        self.wfile.write(head + b"\r\n\r\n" + body[:sent])
        self.wfile.flush()
        self.close()

    def close(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):  # a client that was killed
        pass


class FakeHub:
    """faults: functions of a Request that return whether they answered it."""

    def __init__(self, certificate=None):
        self.models, self.renamed, self.faults, self.log = {}, {}, [], []
        self.lock = threading.Lock()
        self.servers = []
        scheme = "https" if certificate else "http"
        for side in ("hub", "cdn"):
            server = Server(("127.0.0.1", 0), Request)
            server.hub, server.side = self, side
            if certificate:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(certificate)
                server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.servers.append(server)
            setattr(self, "url" if side == "hub" else "cdn", f"{scheme}://127.0.0.1:{server.server_port}")

    def add(self, name, files, revision="main"):
        commit = Commit(files)
        self.models.setdefault(name, {})[revision] = commit
        return commit

    def add_folder(self, name, folder, **more):
        files = {}
        for root, _, names in os.walk(folder):
            for file in names:
                path = os.path.join(root, file)
                with open(path, "rb") as f:
                    files[os.path.relpath(path, folder)] = f.read()
        files.update(more)
        return self.add(name, files)

    def reset(self):
        self.faults, self.log = [], []

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()


def main():
    address, models = sys.argv[1], sys.argv[2:]
    hub = FakeHub()
    for model in models:
        name, _, folder = model.partition("=")
        hub.add_folder(name, folder)
    with open(address + ".new", "w") as f:
        f.write(hub.url)
    os.rename(address + ".new", address)
    threading.Event().wait()


if __name__ == "__main__":
    main()
