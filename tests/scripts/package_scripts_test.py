"""What scripts/package.sh is made of: pages and completion from --help, the list of what is inside, and the check of what
was made, with planted faults; and the Debian package of a small tree."""
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from contextlib import redirect_stdout

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_package  # noqa: E402
import help_pages  # noqa: E402
import spdx_list  # noqa: E402

PROGRAM = r"""#!/bin/sh
case "$1 $2" in
  "models get") printf "%s\n" "Fetch models" "Usage: predgen models get [OPTIONS] name..." "" "Positionals:" \
    "  name NAME:{tiny,small} ... REQUIRED" "                              which ones" "" "Options:" \
    "  -h,--help                   Print this help message and exit" ;;
  "models "*) printf "%s\n" "Which there are" "Usage: predgen models [OPTIONS] [SUBCOMMAND]" "" "Options:" \
    "  -h,--help                   Print this help message and exit" "" "Subcommands:" \
    "  get                         Fetch models" "" "Examples:" "  predgen models" ;;
  "chat "*) printf "%s\n" "Talk to a model" "Usage: predgen chat [OPTIONS]" "" "Options:" \
    "  -h,--help                   Print this help message and exit" \
    "  --verifier TEXT:{off,greedy}=greedy" "                              off, or what keeps a draft" \
    "  --model TEXT                a model" "" "Examples:" \
    "  predgen chat --verifier off" ;;
  "--version "*) echo 0.1.0 ;;
  *) printf "%s\n" "predgen: it's a test" "Usage: predgen [OPTIONS] SUBCOMMAND" "" "Options:" \
    "  -h,--help                   Print this help message and exit" "" "Subcommands:" \
    "  chat                        Talk to a model" "  models                      Which there are" ;;
esac
"""


# Answers with these two codes: without a key, with one.
SERVER = """
import http.server, signal, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        codes = (%s)
        self.send_response(200 if self.path == "/health" else codes["Authorization" in self.headers])
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "demo"}]}')
signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"""


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class HelpPages(Scratch):
    def setUp(self):
        super().setUp()
        program = self.folder / "predgen"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        with redirect_stdout(io.StringIO()):
            with unittest.mock.patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "1795737600"}):
                help_pages.main(self.folder, program)
        self.share = self.folder / "share"

    def test_a_manual_page_for_each_command(self):
        pages = {path.name: gzip.decompress(path.read_bytes()).decode() for path in (self.share / "man/man1").iterdir()}
        self.assertEqual(set(pages), {"predgen.1.gz", "predgen-chat.1.gz", "predgen-models.1.gz", "predgen-models-get.1.gz"})
        chat = pages["predgen-chat.1.gz"]
        for part in ('.TH PREDGEN-CHAT 1 2026-11-27 "predgen 0.1.0"', "Talk to a model", "\\-\\-verifier", "predgen(1)",
                     ".SH SYNOPSIS\npredgen chat [OPTIONS]\n", ".SH FILES\n", ".SH ENVIRONMENT\n", ".SH EXIT STATUS\n"):
            self.assertIn(part, chat)

    def complete(self, *words):
        script = f"""source {self.share}/bash-completion/completions/predgen
COMP_WORDS=({' '.join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}; _predgen; echo "${{COMPREPLY[@]}}" """
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=self.folder, check=True,
                              env=os.environ | {"PREDGEN_MODELS": str(self.folder / "models")}).stdout.split()

    def test_bash(self):
        self.assertEqual(self.complete("predgen", "c"), ["chat"])
        self.assertEqual(self.complete("predgen", "chat", "--v"), ["--verifier"])
        self.assertEqual(self.complete("predgen", "chat", "--verifier", "o"), ["off"])
        self.assertEqual(self.complete("predgen", "chat", "sh"), ["share"], "else files")
        self.assertEqual(self.complete("predgen", "models", "g"), ["get"])
        self.assertEqual(self.complete("predgen", "models", "get", "s"), ["small"], "what a word may be")

    def test_bash_knows_the_models(self):
        for file in ("small.gguf", "folder/config.json", "whisper/tokens.txt"):
            (self.folder / "models" / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "models" / file).touch()
        (self.folder / "own.gguf").touch()
        self.assertEqual(self.complete("predgen", "chat", "--model", "s"), ["share", "small"])
        self.assertEqual(self.complete("predgen", "chat", "--model", "f"), ["folder"])
        self.assertEqual(self.complete("predgen", "chat", "--model", "o"), ["own.gguf"], "and files")
        self.assertEqual(self.complete("predgen", "chat", "--model", "w"), [], "what hears is none")

    def test_zsh(self):
        text = (self.share / "zsh/site-functions/_predgen").read_text()
        self.assertTrue(text.startswith("#compdef predgen\n"))
        self.assertIn("'--verifier[off, or what keeps a draft]:value:(off greedy)'", text)
        self.assertIn("'--model[a model]:value:_predgen_models'", text)
        self.assertIn("'*:name:(tiny small)'", text)
        if shutil.which("zsh"):
            subprocess.run(["zsh", "-n", self.share / "zsh/site-functions/_predgen"], check=True)


class SpdxList(Scratch):
    def listed(self, copyright_text, **entry):
        (self.folder / "copyright").write_text(copyright_text)
        contents = self.folder / "contents.json"
        contents.write_text(json.dumps([{"name": "libthis", "version": "1.2-3", "from": "Debian, source this", "files": ["lib/libthis.so.1"],
                                         "text": "copyright", "tree": str(self.folder), **entry}]))
        with redirect_stdout(io.StringIO()) as out:
            spdx_list.main(contents, "0.1.0", "ab" * 32, "1700000000")
        document = json.loads(out.getvalue())
        return document, next(entry for entry in document["packages"] if entry["name"] == "libthis")

    def test_licences(self):
        for word, name in (("Expat", "MIT"), ("LGPL-2.1+", "LGPL-2.1-or-later")):
            document, entry = self.listed(f"Format: x\n\nFiles: *\nCopyright: somebody\nLicense: {word}\n text\n")
            self.assertEqual(entry["licenseDeclared"], name)
            self.assertEqual(document["hasExtractedLicensingInfos"], [])
        document, entry = self.listed("In words of its own.")
        self.assertEqual(entry["licenseDeclared"], "LicenseRef-libthis")
        self.assertEqual(document["hasExtractedLicensingInfos"][0]["extractedText"], "In words of its own.")

    def test_what_it_is_about(self):
        document, entry = self.listed("x", licence="MIT")
        self.assertEqual((document["spdxVersion"], document["creationInfo"]["created"]), ("SPDX-2.3", "2023-11-14T22:13:20Z"))
        self.assertEqual((entry["versionInfo"], entry["comment"]), ("1.2-3", "lib/libthis.so.1"))
        self.assertEqual(document["packages"][0]["checksums"][0]["checksumValue"], "ab" * 32)
        identifiers = [one["SPDXID"] for one in document["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))


class DebianPackage(Scratch):
    def make(self, name):
        tree = self.folder / f"tree of {name}"
        for file in ("bin/predgen", "bin/predgen-fetch-model", "share/man/man1/predgen.1.gz", "share/doc/predgen/LICENSE",
                     "share/bash-completion/completions/predgen", "share/zsh/site-functions/_predgen"):
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            (tree / file).write_text(f"{file}\n")
        package = self.folder / name
        subprocess.run([ROOT / "scripts/package/make_deb.sh", tree, "0.1.0", "1", package], check=True,
                       env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
        return package

    def script(self, name, *arguments, root):
        return subprocess.run(["sh", ROOT / "scripts/package" / name, *arguments], check=True, env={"DPKG_ROOT": str(root), "PATH": os.environ["PATH"]})

    def test_holds_what_its_service_needs(self):
        package, root = self.make("one.deb"), self.folder / "root"
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        unit = (root / "usr/lib/systemd/system/predgen@.service").read_text()
        (command,) = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)
        self.assertEqual((root / command.split()[0][1:]).resolve(), (root / "usr/lib/predgen/bin/predgen").resolve())
        needed = re.findall("^AssertPathExists=/(.*)$", unit, re.MULTILINE)
        self.assertEqual(sorted(needed), sorted(word[1:] for word in command.split() if word.startswith(("/etc", "/var"))))
        self.assertEqual([path for path in needed if not (root / path).exists()], ["var/lib/predgen/model"], "the user brings the model")
        self.assertTrue((root / "var/lib/predgen").is_dir())
        settings = (root / "etc/predgen/serve.yaml").read_text().splitlines()
        self.assertEqual(settings[3:], (ROOT / "configs/runtime/serve.yaml").read_text().splitlines()[3:])
        self.assertEqual(subprocess.run(["dpkg-deb", "-I", package, "conffiles"], capture_output=True, text=True, check=True).stdout,
                         "/etc/predgen/serve.yaml\n")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd")
    def test_systemd_takes_its_unit(self):
        unit = (ROOT / "configs/deploy/predgen@.service").read_text().replace("/usr/local/bin/predgen", "/bin/true")
        for text, is_good in ((unit, True), (unit.replace("Restart=on-failure", "Restart=sometimes"), False)):
            (self.folder / "predgen@.service").write_text(text)
            done = subprocess.run(["systemd-analyze", "verify", self.folder / "predgen@.service"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr) == (0, ""), is_good, done.stderr)

    def test_its_service_may_do_little(self):
        unit = (ROOT / "configs/deploy/predgen@.service").read_text()
        for name in ("MemoryMax", "SystemCallFilter", "RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelModules",
                     "ProtectKernelLogs", "ProtectControlGroups", "LockPersonality", "CapabilityBoundingSet"):
            self.assertRegex(unit, f"(?m)^{name}=", name)
        for name in ("MemoryDenyWriteExecute", "PrivateDevices", "DevicePolicy", "ProtectClock"):
            self.assertNotRegex(unit, f"(?m)^{name}=", "a GPU is hidden, or its kernels are not made")

    def test_the_same_bytes_twice(self):
        self.assertEqual(self.make("one.deb").read_bytes(), self.make("two.deb").read_bytes())

    def test_a_purge_leaves_nothing(self):
        root, elsewhere = self.folder / "root", self.folder / "elsewhere.gguf"
        elsewhere.touch()
        wants = root / "etc/systemd/system/multi-user.target.wants"
        for folder in (wants, root / "etc/predgen", root / "var/lib/predgen/voice"):
            folder.mkdir(parents=True)
        (wants / "predgen@8081.service").symlink_to("/usr/lib/systemd/system/predgen@.service")
        (root / "var/lib/predgen/model").symlink_to(elsewhere)
        self.script("postinst", "configure", "", root=root)
        self.script("prerm", "remove", root=root)
        self.script("postrm", "remove", root=root)
        self.assertTrue((wants / "predgen@8081.service").is_symlink(), "what is removed may come back")
        self.script("postrm", "purge", root=root)
        self.assertEqual(sorted(str(path.relative_to(root)) for path in root.rglob("*")),
                         ["etc", "etc/systemd", "etc/systemd/system", "var", "var/lib"])
        self.assertTrue(elsewhere.exists(), "a model that was only linked to")

    def test_what_others_enabled_stays(self):
        root = self.folder / "root"
        wants = root / "etc/systemd/system/multi-user.target.wants"
        wants.mkdir(parents=True)
        (wants / "cron.service").symlink_to("/usr/lib/systemd/system/cron.service")
        self.script("postrm", "purge", root=root)
        self.assertTrue((wants / "cron.service").is_symlink())


class Container(unittest.TestCase):
    def test_is_given_the_files_that_it_copies(self):
        copied = re.findall(r"^COPY (\S+) ", (ROOT / "Containerfile").read_text(), re.MULTILINE)
        passed = re.findall("^!(.*)$", (ROOT / ".containerignore").read_text(), re.MULTILINE)
        self.assertEqual(sorted(copied), sorted(passed))
        for path in copied:
            self.assertTrue(path.startswith("dist/") or (ROOT / path).exists(), path)

    def test_its_server_asks_for_the_key(self):
        script = ROOT / "scripts/package/ask_with_key.py"
        for answers, fault in (("401, 200", ""), ("200, 200", "without the key 200"), ("401, 401", "with it 401")):
            with self.subTest(answers=answers):
                done = subprocess.run([sys.executable, script, sys.executable, "-c", SERVER % answers], capture_output=True, text=True)
                self.assertEqual((done.returncode, fault in done.stderr), (1 if fault else 0, True), done.stderr)


class CheckPackage(Scratch):
    def lines(self, work):
        check = check_package.Check()
        with redirect_stdout(io.StringIO()) as out:
            work(check)
        return out.getvalue().splitlines()

    def faults(self, work):
        return [line for line in self.lines(work) if line.startswith("FAILED")]

    def write_program(self, place, text):
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / place).write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / place).chmod(0o755)

    def test_a_chat_that_is_not_tried_is_a_fault(self):
        self.write_program("bin/predgen", "true")
        with unittest.mock.patch.dict(os.environ, {"PREDGEN_MODELS": str(self.folder / "models")}):
            (fault,) = self.faults(lambda check: check_package.check_times(check, self.folder))
        self.assertIn("predgen models get smollm2", fault)

    def test_other_bytes_are_seen(self):
        ours, theirs = self.folder / "ours", self.folder / "theirs"
        for folder in (ours, theirs):
            folder.mkdir()
            (folder / "SHA256SUMS").write_text("aa  predgen.deb\nbb  a file\n")
        compare = lambda check: check_package.check_same_bytes(check, ours, theirs)  # noqa: E731
        self.assertEqual(self.faults(compare), [])
        for text, name in (("aa  predgen.deb\ncc  a file\n", "a file"), ("bb  a file\n", "predgen.deb")):
            (theirs / "SHA256SUMS").write_text(text)
            self.assertTrue(self.faults(compare)[0].endswith(f" {name}"))

    def test_an_older_cpu_is_tried_or_left_out_aloud(self):
        self.write_program("qemu/qemu-x86_64", '[ "$1 $2 $GOMP_SPINCOUNT" = "-cpu Haswell 1000" ] || exit 9\nshift 2\nexec "$@"')
        try_it = lambda check: check_package.check_older_cpu(check, self.folder)  # noqa: E731
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder / "nothing")}):
            (line,) = self.lines(try_it)
            self.assertTrue(line.startswith("skipped") and "qemu-user" in line, line)
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder / "qemu")}):
            self.write_program("libexec/predgen/predgen", "echo Hello")
            self.assertEqual(self.faults(try_it), [])
            self.write_program("libexec/predgen/predgen", '[ "$1" = --version ] && echo 0.1 || kill -ILL $$')
            self.assertEqual(len(self.faults(try_it)), 1)

    def test_a_library_that_is_missing_is_seen(self):
        tree = self.folder / "tree"
        (tree / "libexec").mkdir(parents=True)
        shutil.copy("/bin/true", tree / "libexec/good")
        self.assertEqual(self.faults(lambda check: check_package.check_libraries(check, tree)), [])
        source = self.folder / "main.c"
        for name in ("libgone.so", "libcublas_gone.so"):
            source.write_text("int gone() { return 0; }\n")
            subprocess.run(["cc", "-shared", f"-Wl,-soname,{name}", "-o", self.folder / name, source], check=True)
            source.write_text("int gone(); int main() { return gone(); }\n")
            subprocess.run(["cc", "-o", tree / "libexec/bad", source, self.folder / name, f"-Wl,-rpath,{self.folder}"], check=True)
            if "cublas" not in name:
                (self.folder / name).unlink()
            faults = self.faults(lambda check: check_package.check_libraries(check, tree))
            self.assertEqual(len(faults), 1, f"{name}: {faults}")
            self.assertIn(name, faults[0])

    def test_a_folder_of_the_build_is_seen(self):
        tree = self.folder / "tree"
        (tree / "libexec").mkdir(parents=True)
        (tree / "libexec/program").write_bytes(b"x\0/home/me/predgen/core/files.cpp\0")
        for root, num in (("/elsewhere", 0), ("/home/me/predgen", 1)):
            self.assertEqual(len(self.faults(lambda check: check_package.check_folders(check, tree, root))), num)


if __name__ == "__main__":
    unittest.main()
