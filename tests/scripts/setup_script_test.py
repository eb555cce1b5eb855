"""scripts/setup.sh without touching this machine: a copy of it, a cache folder of its own, stand-ins
for the programs that it calls. No network is used."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from known_models import MODELS  # noqa: E402

SPEECH_MODELS = ["silero", "smart-turn", "whisper-base", "hibari"]
ALL_INSTALLED = '#!/bin/sh\nfor word; do case $word in -*) ;; *) echo "ii $word" ;; esac; done\n'


class SetupScript(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """An environment to copy: Python takes seconds to make one."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.python = shutil.which("python3")
        cls.made = pathlib.Path(folder.name) / "env"
        subprocess.run([cls.python, "-m", "venv", cls.made], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.clone = self.root / "clone"
        (self.clone / "scripts").mkdir(parents=True)
        for name in ["setup.sh", "fetch_jinja.py", "fetch_xgrammar.py", "fetch_model.py", "known_models.py", "model_wheels.py",
                     "package_index.py", "convert_whisper.py", "whisper_graphs.py", "ctranslate2_file.py", "onnx_file.py"]:
            shutil.copy(ROOT / "scripts" / name, self.clone / "scripts")
        for name in ["requirements.txt", "requirements-libraries.txt", "requirements-test.txt", "requirements-clients.txt"]:
            shutil.copy(ROOT / name, self.clone)
        readout = self.clone / "checkpoints" / "smollm2-ends" / "ends.safetensors"
        readout.parent.mkdir(parents=True)
        readout.write_text("trained")
        self.cache = self.root / "cache"
        self.models = self.cache / "predgen" / "models"
        self.bin = self.root / "bin"
        self.bin.mkdir()
        self.stand_in("dpkg-query", ALL_INSTALLED)
        script = self.clone / "scripts/setup.sh"
        script.write_text(script.read_text().replace("in /usr/bin/python3 python3 ", "in python3 "))
        self.stand_in("python3", f'#!/bin/sh\nif [ "$1 $2" = "-m venv" ]; then mkdir -p "$3" && exec cp -a {self.made}/. "$3"; fi\n'
                                 f'exec {self.python} "$@"\n')

    def stand_in(self, name, text):
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def setup(self, *options, **more):
        elsewhere = {} if self.models.is_relative_to(self.cache) else {"PREDGEN_MODELS": str(self.models)}
        environment = {name: value for name, value in os.environ.items() if name != "PREDGEN_MODELS"} | elsewhere | {
            "PATH": f"{self.bin}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.cache),
            "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull, **more}
        return subprocess.run([str(self.clone / "scripts/setup.sh"), *options], env=environment, cwd="/", stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def finish_environment(self, *markers):
        """Makes what a run without a network left look complete."""
        (folder,) = [path for path in (self.cache / "predgen").glob("env-*") if path.is_dir()]
        for marker in markers:
            (folder / marker).touch()
        return folder

    def finish_fetched(self, folder, *names):
        """The same for what the environment has besides packages: sources of XGrammar, templates of the tests."""
        for name in names or ("xgrammar", "oracle", "jinja"):
            (path,) = re.findall(rf"^{name}=(\S+)", (self.clone / "scripts/setup.sh").read_text(), re.MULTILINE)
            (folder / path).mkdir(parents=True)

    def pinned(self, name):
        """A package beside the requirements, as the environment's marker names it."""
        if name == "gguf":
            return re.findall(r"^gguf=(\S+)", (self.clone / "scripts/setup.sh").read_text(), re.MULTILINE)[0]
        return re.findall(r"^sherpa-onnx-core==\S+", (self.clone / "requirements-libraries.txt").read_text(), re.MULTILINE)[0]

    def finish_models(self, *speech):
        """Files of the right names and sizes, which is what set-up looks at."""
        self.models.mkdir(parents=True, exist_ok=True)
        (self.models / "smollm2.ends.safetensors").write_text("trained")
        for name in ["smollm2", *(speech or SPEECH_MODELS)]:
            folder = self.models / name if MODELS[name].is_folder else self.models
            folder.mkdir(exist_ok=True)
            for file, known in MODELS[name].files.items():
                with open(folder / file, "wb") as made:
                    made.truncate(known.size)
            if MODELS[name].is_folder:
                (folder / "speech_model.json").touch()

    def test_names_missing_packages_without_root(self):
        self.stand_in("dpkg-query", ALL_INSTALLED.replace("-*)", "-*|cmake|libhdf5-dev)"))
        self.stand_in("id", "#!/bin/sh\necho 1000\n")
        self.stand_in("sudo", "#!/bin/sh\nexit 1\n")
        self.stand_in("apt-get", "#!/bin/sh\necho apt-get was called >&2\nexit 1\n")
        done = self.setup()
        self.assertEqual(done.returncode, 2)
        self.assertIn("apt-get install -y --no-install-recommends cmake libhdf5-dev\n", done.stderr)
        self.assertNotIn("apt-get was called", done.stderr)

    def test_tests_need_tools_of_one_version(self):
        self.stand_in("dpkg-query", ALL_INSTALLED.replace("-*)", "-*|clang-14|clang-format-14|clang-tidy-14)"))
        self.stand_in("id", "#!/bin/sh\necho 1000\n")
        self.stand_in("sudo", "#!/bin/sh\nexit 1\n")
        done = self.setup("--with-tests")
        self.assertIn("--no-install-recommends clang-14 clang-format-14 clang-tidy-14\n", done.stderr)

    def test_root_installs_only_what_is_missing(self):
        self.stand_in("dpkg-query", ALL_INSTALLED.replace("-*)", "-*|cmake|libhdf5-dev)"))
        self.stand_in("id", "#!/bin/sh\necho 0\n")
        self.stand_in("apt-get", f"#!/bin/sh\necho \"$@\" >>{self.root}/apt\n[ $1 = update ]\n")
        done = self.setup()
        self.assertEqual(done.returncode, 2)
        self.assertIn("apt-get failed", done.stderr)
        self.assertEqual((self.root / "apt").read_text(),
                         "update -qq\ninstall -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 cmake libhdf5-dev\n")
        self.assertIn("setup: [1/3] Debian packages: cmake libhdf5-dev\n", done.stderr)

    def test_no_network_then_done(self):
        done = self.setup()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("pip could not install LibTorch and Arrow", done.stderr)
        self.assertIn("setup: [2/3] libraries\n", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.setup().returncode, 2, "an unfinished environment must not count")

        folder = self.finish_environment("DONE-base")
        done = self.setup()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("pip could not install sherpa-onnx-core", done.stderr)
        self.finish_environment(f"DONE-{self.pinned('sherpa')}")
        done = self.setup()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no sources of XGrammar", done.stderr)
        self.finish_fetched(folder, "xgrammar")
        done = self.setup()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no model smollm2", done.stderr)
        self.finish_models()
        done = self.setup()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{folder}/bin/python\n", ""))
        self.models = self.root / "elsewhere"
        self.assertEqual(self.setup().returncode, 2, "PREDGEN_MODELS is another folder")
        self.finish_models()
        self.assertEqual(self.setup().returncode, 0)
        self.assertIn("pip could not install CUDA", self.setup("--gpu").stderr)
        self.finish_environment("DONE")
        self.assertEqual(self.setup("--gpu").stdout, f"{folder}/bin/python\n", "the same environment has grown")
        self.assertEqual(self.setup("--with-tests").returncode, 2, "the tests' packages are not there yet")
        self.assertTrue((folder / "DONE").exists(), "a failed addition must keep the rest")
        (folder / "DONE-base").unlink()
        self.assertEqual(self.setup().returncode, 0, "an environment of before there were two parts has both")
        self.finish_environment("DONE-tests")
        done = self.setup("--with-tests")
        self.assertEqual(done.returncode, 2, "an environment of before the tests used gguf lacks it")
        self.finish_environment(f"DONE-{self.pinned('gguf')}")
        self.assertEqual(self.setup("--with-tests").returncode, 2, "the clients' packages are not there yet")
        clients = hashlib.sha256((self.clone / "requirements-clients.txt").read_bytes()).hexdigest()[:12]
        (folder / f"share/clients-{clients}").mkdir(parents=True)
        self.finish_fetched(folder, "oracle")
        self.assertIn("no chat templates", self.setup("--with-tests").stderr)
        self.finish_fetched(folder, "jinja")
        self.assertEqual(self.setup("--with-tests").stdout, f"{folder}/bin/python\n")

        (self.clone / "requirements.txt").write_text("numpy==1.0 --hash=sha256:00\n")
        self.assertEqual(self.setup().returncode, 2, "other requirements, another environment")
        self.assertEqual(len([path for path in folder.parent.glob("env-*") if path.is_dir()]), 2)

    def wanted(self):
        """What pip is asked for, by name, in the requirements that the last run wrote."""
        (file,) = (self.cache / "predgen").glob("requirements-*.txt")
        return file.read_text()

    def test_without_a_gpu_no_cuda_is_downloaded(self):
        done = self.setup()
        names = set(re.findall(r"^([a-z0-9-]+)==", self.wanted(), re.MULTILINE))
        self.assertEqual(names, {"numpy", "pyarrow", "torch", "nvidia-cuda-cupti", "nvidia-cuda-runtime"}, done.stderr)
        self.finish_fetched(self.finish_environment("DONE-base", f"DONE-{self.pinned('sherpa')}"))
        self.setup("--gpu")
        names = set(re.findall(r"^([a-z0-9-]+)==", self.wanted(), re.MULTILINE))
        self.assertTrue({"nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-cuda-nvcc"} <= names, names)
        self.assertNotIn("torch", names)

    def test_wheels_are_pinned_by_hash(self):
        entries = [entry for name in ("requirements.txt", "requirements-libraries.txt")
                   for entry in re.split(r"^(?=\S)", re.sub("(?m)^#.*\n", "", (ROOT / name).read_text()), flags=re.MULTILINE) if entry]
        for entry in entries:
            self.assertRegex(entry, r"^[a-z0-9-]+==[\d.]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n$")
        others = self.root / "wheels"
        others.mkdir()
        with zipfile.ZipFile(others / "numpy-2.4.6-py3-none-any.whl", "w") as wheel:
            wheel.writestr("numpy-2.4.6.dist-info/METADATA", "Metadata-Version: 2.1\nName: numpy\nVersion: 2.4.6\n")
        done = self.setup(PIP_FIND_LINKS=str(others))
        self.assertIn("DO NOT MATCH THE HASHES", done.stderr)

    def test_a_users_own_model_stays(self):
        self.setup()
        self.finish_fetched(self.finish_environment("DONE-base", f"DONE-{self.pinned('sherpa')}"))
        self.finish_models()
        own = {self.models / "smollm2.gguf": "my own", self.models / "smollm2.ends.safetensors": "my readout",
               self.models / "hibari" / "hibari.onnx": "my voice"}
        for path, content in own.items():
            path.write_text(content)
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        for path, content in own.items():
            self.assertEqual(path.read_text(), content)
        self.assertIn(f"{self.models}/smollm2.gguf is not what comes with smollm2, and stays", done.stderr)
        self.assertIn(f"{self.models}/hibari/hibari.onnx is not what comes with hibari", done.stderr)
        self.assertNotIn("fetching", done.stderr)

    def test_goes_on_without_models_that_hear_and_speak(self):
        self.setup()
        self.finish_fetched(self.finish_environment("DONE-base", f"DONE-{self.pinned('sherpa')}"))
        self.finish_models("silero")
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^/.*/bin/python\n$")
        for name in SPEECH_MODELS[1:]:
            reason = "needs numpy" if name == "whisper-base" else "PIP_NO_INDEX"  # the stand-in has no package
            self.assertRegex(done.stderr, f"(?m)^fetch_model: {name}: .*{reason}")
        self.assertRegex(done.stderr, "(?m)^setup: going on without smart-turn whisper-base hibari: ")

    def test_libtorch_is_checked_and_remembered(self):
        done = self.setup("--libtorch", str(self.root / "absent"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such folder", done.stderr)
        done = self.setup("--libtorch", str(self.bin))
        self.assertEqual(done.returncode, 2)
        self.assertIn("ATen.h", done.stderr)

        header = self.root / "lib torch/include/ATen/ATen.h"
        header.parent.mkdir(parents=True)
        header.touch()
        self.setup("--libtorch", str(self.root / "lib torch"))
        (wanted,) = (self.cache / "predgen").glob("requirements-*.txt")
        self.assertNotRegex(wanted.read_text(), r"(?m)^torch")
        self.assertIn("pyarrow", wanted.read_text())
        self.finish_fetched(self.finish_environment("DONE-base", f"DONE-{self.pinned('sherpa')}"))
        self.finish_models()
        self.assertEqual(self.setup().returncode, 0, "the folder was not remembered")
        shown = subprocess.run(["bash", "-c", f'source "{self.clone}/build/setup-options"; echo "$libtorch"'],
                               capture_output=True, text=True)
        self.assertEqual(shown.stdout, f"{self.root}/lib torch\n")
        self.setup("--libtorch", "")
        self.assertEqual(len(list((self.cache / "predgen").glob("requirements-*.txt"))), 2, "not forgotten")

    def test_bad_options(self):
        for options in [["--nonsense"], ["--libtorch"]]:
            done = self.setup(*options)
            self.assertEqual(done.returncode, 2)
            self.assertNotEqual(done.stderr, "")

    def test_help_is_its_head(self):
        done = self.setup("--help")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("Installs what predgen needs") and done.stdout.endswith("stays.\n"))


if __name__ == "__main__":
    unittest.main()
