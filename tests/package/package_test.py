"""cmake --install, find_package(predgen) and add_subdirectory, as others use them.

usage: package_test.py BUILD_FOLDER PYTHON_WITH_TORCH Package|PartOfAnother     (the latter compiles predgen's lower rooms)
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD, PYTHON = map(pathlib.Path, sys.argv[1:3])
HAS_SPEECH = "libsherpa-onnx-c-api.so" in (BUILD / "cmake_install.cmake").read_text()

CONSUMER = """
#include <cstdio>

#include <predgen/text/tokenize/tokenizer_files.h>
#include <predgen/text/tokenizer.h>

int main(int, char** arguments) {
  std::printf("%zu", predgen::load_tokenizer(predgen::TokenizerFiles::read(arguments[1]))->encode("Hello there").size());
}
"""
CONSUMER_CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(predgen 0.1 REQUIRED COMPONENTS {component})
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE predgen::{component})
"""
# What the libraries of the rooms link is a target again, and lies in the tree.
SPEECH_CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(predgen 0.1 REQUIRED COMPONENTS voice)
foreach(name IN ITEMS predgen_sherpa predgen_onnxruntime)
  get_target_property(place ${name} LOCATION)
  if(NOT place MATCHES "^TREE/lib/lib.*[.]so$" OR NOT EXISTS ${place})
    message(FATAL_ERROR "${name} is ${place}")
  endif()
endforeach()
"""
SUPERPROJECT_CMAKE = f"""
cmake_minimum_required(VERSION 3.25)
project(super LANGUAGES C CXX)
add_subdirectory({ROOT} predgen)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE predgen::text)
"""


def run(*command, **options):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PREDGEN_LIBTORCH", "LD_LIBRARY_PATH")}
    environment |= options.pop("environment", {})
    return subprocess.run([str(word) for word in command], env=environment, text=True, capture_output=True, **options)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = BUILD / "package_test"  # always the same, so that ccache knows what was compiled in it
        shutil.rmtree(cls.scratch, ignore_errors=True)
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.scratch.mkdir()
        cls.elsewhere = cls.scratch / "elsewhere"
        cls.elsewhere.mkdir()
        done = run("cmake", "--install", BUILD, "--prefix", cls.scratch / "first")
        assert done.returncode == 0, done.stderr
        cls.tree = cls.scratch / "moved"
        (cls.scratch / "first").rename(cls.tree)
        cls.demo = cls.tree / "share/predgen/checkpoints/demo"
        cls.libtorch = cls.tree / "lib/torch"

    def predgen(self, *arguments, program="bin/predgen", **options):
        return run(self.tree / program, *arguments, cwd=self.elsewhere, **options)

    def succeeds(self, done):
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stdout

    def refused(self, done, *parts):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in ("predgen: ", *parts):
            self.assertIn(part, done.stderr)

    def configured(self, name, text, *options):
        """A project with this CMakeLists.txt; what its configuration gave, and its build folder."""
        project = self.scratch / name
        project.mkdir()
        (project / "CMakeLists.txt").write_text(text)
        (project / "main.cpp").write_text(CONSUMER)
        done = run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", *options)
        return done, project / "build"

    def counts_tokens(self, build):
        self.succeeds(run("cmake", "--build", build, "--target", "consumer"))
        expected = json.loads(self.succeeds(self.predgen("tokenize", "--model", self.demo, "--text", "Hello there", "--json")))
        self.assertEqual(self.succeeds(run(build / "consumer", self.demo)), str(len(expected["results"][0]["token_ids"])))


class Package(Installed):
    def test_runs_from_where_it_was_moved(self):
        answer = self.succeeds(self.predgen("generate", "--model", self.demo, "--prompt", "Hello", "--max-new-tokens", "4"))
        self.assertNotEqual(answer.strip(), "")
        link = self.elsewhere / "predgen"
        link.symlink_to(self.tree / "bin/predgen")
        self.assertIn("0.1", self.succeeds(run(link, "--version")))
        self.assertIn("Usage: predgen ", self.succeeds(run(link, "--help")))

    @unittest.skipUnless((BUILD / "predgen-espeak").exists(), "built without espeak")
    def test_finds_its_voice(self):
        self.succeeds(self.predgen("chat", "--model", self.demo, "--tts", "espeak", "--max-new-tokens", "8",
                                   "--audio-out", "answer.wav", input="hello\n"))
        self.assertGreater((self.elsewhere / "answer.wav").stat().st_size, 10000)

    def test_configurations_run_beside_what_they_name(self):
        self.succeeds(run(self.tree / "bin/predgen", "data", "build", "--config", "configs/data/quickstart.yaml", "tokenizer=checkpoints/demo",
                          f"output={self.scratch}/dataset", cwd=self.tree / "share/predgen"))

    def test_libtorch_is_found_or_missed_in_one_line(self):
        real, version = self.libtorch.resolve(), ("--version",)
        kept = self.libtorch.with_name("kept")
        self.libtorch.rename(kept)
        try:
            self.refused(self.predgen(*version), "no LibTorch in", str(self.libtorch), "--libtorch DIR", "PREDGEN_LIBTORCH")
            self.succeeds(self.predgen("--libtorch", real, *version))
            self.succeeds(self.predgen(f"--libtorch={real}", *version))
            self.succeeds(self.predgen(*version, environment={"PREDGEN_LIBTORCH": str(real)}))
            self.refused(self.predgen("--libtorch"), "--libtorch needs a folder")
            other = self.scratch / "other torch"
            for file, text in [("lib/libtorch_cpu.so", ""), ("include/torch/headeronly/version.h",
                                                             "#define TORCH_VERSION_MAJOR 1\n#define TORCH_VERSION_MINOR 13\n")]:
                (other / file).parent.mkdir(parents=True)
                (other / file).write_text(text)
            self.refused(self.predgen("--libtorch", other, *version), str(other), "is version 1.13, predgen was built with")
        finally:
            kept.rename(self.libtorch)

    def test_names_no_folder_of_the_machine_that_built_it(self):
        path = self.succeeds(run("readelf", "-d", self.tree / "libexec/predgen/predgen"))
        self.assertIn("[$ORIGIN/../../lib:$ORIGIN/../../lib/torch/lib]", path)
        texts = [*(self.tree / "lib/cmake/predgen").iterdir(), self.tree / "bin/predgen"]
        self.assertGreater(len(texts), 4)
        for file in texts:
            for folder in (BUILD, ROOT, PYTHON.parents[1], self.scratch):
                self.assertNotIn(str(folder), file.read_text(), file)

    @unittest.skipUnless((BUILD / "libpredgen_cuda.so").exists(), "LibTorch is for CPUs")
    def test_the_module_for_a_gpu_finds_libtorch(self):
        module = self.tree / "libexec/predgen/libpredgen_cuda.so"
        self.assertIn("[$ORIGIN/../../lib/torch/lib]", self.succeeds(run("readelf", "-d", module)))
        loaded = self.succeeds(run("ldd", "-r", module))
        for fault in ("not found", "undefined symbol"):
            self.assertNotIn(fault, loaded)

    def test_fetches_models(self):
        self.assertIn("smollm2", self.succeeds(run(self.tree / "bin/predgen-fetch-model", "--list")))
        listed = self.succeeds(self.predgen("models", environment={"PREDGEN_MODELS": str(self.elsewhere / "none")}))
        self.assertIn("predgen models get smollm2", listed)
        helped = self.predgen("models", "get", "smollm2", "--into", self.elsewhere / "models", environment={"PIP_NO_INDEX": "1"})
        self.assertIn("fetch_model: smollm2: ", helped.stderr, "its script is found")

    def test_grades_answers(self):
        self.assertIn("predgen-judge", self.succeeds(run(self.tree / "bin/predgen-judge", "--help")), "its modules are found")
        self.assertEqual(list((self.tree / "share/predgen/scripts").rglob("*.pyc")), [])

    def test_licences_come_along(self):
        names = {file.name for file in (self.tree / "share/doc/predgen").rglob("*")}
        self.assertLessEqual({"LICENSE", "LICENSE.predgen-espeak"} - (
            set() if (BUILD / "predgen-espeak").exists() else {"LICENSE.predgen-espeak"}), names)

    @unittest.skipUnless(HAS_SPEECH, "built without sherpa-onnx")
    def test_libraries_that_hear_and_speak_come_along(self):
        names = ["libsherpa-onnx-c-api.so", "libonnxruntime.so"]
        loaded = self.succeeds(run("ldd", self.tree / "lib" / names[0]))
        self.assertIn(f"{names[1]} => {(self.tree / 'lib' / names[1]).resolve()}", loaded)
        licences = {file.name for file in (self.tree / "share/doc/predgen").iterdir()}
        self.assertLessEqual({"LICENSE.sherpa-onnx", "LICENSE.onnxruntime"}, licences)
        project = SPEECH_CMAKE.replace("TREE", str(self.tree))
        self.succeeds(self.configured("speech", project, f"-DCMAKE_PREFIX_PATH={self.tree}")[0])

    def test_find_package(self):
        for component in "text", "act", "hear":
            done, build = self.configured(component, CONSUMER_CMAKE.format(component=component),
                                          f"-DCMAKE_PREFIX_PATH={self.tree}", f"-DPREDGEN_LIBTORCH={self.elsewhere}")
            self.succeeds(done)
            self.counts_tokens(build)

    def test_headers_are_found_by_predgens_name_alone(self):
        headers = [*(self.tree / "include").rglob("*.h")]
        self.assertGreater(len(headers), 100)
        self.assertEqual([path.name for path in (self.tree / "include").iterdir()], ["predgen"])
        for header in headers:
            for name in re.findall(r'#include "([^"]+)"', header.read_text()):
                self.assertTrue(name.startswith("predgen/") and (self.tree / "include" / name).exists(), f"{header}: {name}")

    def test_find_package_needs_libtorch_for_more(self):
        project = CONSUMER_CMAKE.format(component="model").replace("LANGUAGES CXX", "LANGUAGES C CXX")
        place = f"-DCMAKE_PREFIX_PATH={self.tree}"
        done, _ = self.configured("missing", project, place, f"-DPREDGEN_LIBTORCH={self.elsewhere}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("-DPREDGEN_LIBTORCH=DIR", done.stderr)
        done, _ = self.configured("model", project, place)
        self.succeeds(done)
        done, _ = self.configured("none", CONSUMER_CMAKE.format(component="nonsense"), place)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nonsense", done.stderr)

    def test_the_example_on_a_session(self):
        build = self.scratch / "examples"
        self.succeeds(run("cmake", "-G", "Ninja", "-S", ROOT / "examples", "-B", build, f"-DCMAKE_PREFIX_PATH={self.tree}"))
        self.succeeds(run("cmake", "--build", build))
        answer, passes = self.succeeds(run(build / "session", self.demo, "Book a table for two in Berkeley")).splitlines()
        self.assertNotEqual(answer, "")
        self.assertRegex(passes, r"^[1-9]\d* passes while the words came, \d+ after the last one$")
        done = run(build / "session", self.elsewhere / "none", "Hello")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


class PartOfAnother(Installed):
    def test_a_part_of_another_project(self):
        done, build = self.configured("super", SUPERPROJECT_CMAKE, f"-DPREDGEN_PYTHON={PYTHON}", "-DCMAKE_UNITY_BUILD=ON")
        self.succeeds(done)
        self.counts_tokens(build)
        self.assertFalse((build / "CTestTestfile.cmake").exists(), "the other project's tests are its own")
        targets = self.succeeds(run("cmake", "--build", build, "--target", "help"))
        self.assertNotIn("text_test", targets)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
