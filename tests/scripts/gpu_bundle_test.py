"""scripts/gpu_bundle.sh packs what a GPU machine needs, and its first.sh runs whole on the CPU and tells what fails.

usage: gpu_bundle_test.py BUILD    (the folder with the programs)
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop())
# As cuda_test lists and runs its tests; one of them fails.
TESTS = """#!/bin/sh
case $1 in
  --gtest_list_tests) printf 'OnDevice.\\n  Passes/cpu  # GetParam() = "cpu"\\n  Fails/cpu  # GetParam()\\n  Passes/cuda  #\\n' ;;
  *Fails*) echo 'the planted fault'; exit 1 ;;
esac
"""
# Of the CUDA toolkit: each runs the program behind its own options, and says what ncu says of a kernel.
TOOL = """#!/bin/sh
while [ "${1%%/bin/*}" = "$1" ]; do [ $# -gt 1 ] || exit 3; shift; done
echo '"1","product_kernel","gpu__time_duration.sum"'
exec "$@"
"""


def program(path, text):
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def pack(*options):
    return subprocess.run([ROOT / "scripts/gpu_bundle.sh", *map(str, options)], capture_output=True, text=True)


class GpuBundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.packed = pathlib.Path(scratch.name, "packed")
        done = pack("--build", BUILD, "--before", BUILD, "--output", cls.packed)
        assert done.returncode == 0, done.stderr

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def bundle(self):
        folder = self.scratch / "bundle"
        shutil.copytree(self.packed, folder, copy_function=os.link)
        program(folder / "bin/cuda_test", TESTS)
        return folder

    def first(self, bundle, *options):
        """Its exit status and summary."""
        tools = self.scratch / "tools"
        tools.mkdir(exist_ok=True)
        for name in ("compute-sanitizer", "ncu"):
            program(tools / name, TOOL)
        out = self.scratch / "out"
        done = subprocess.run([bundle / "first.sh", *options], capture_output=True, text=True, env=os.environ | {
            "OUT": str(out), "PATH": f"{tools}:{os.environ['PATH']}", "PREDGEN_PYTHON": sys.executable})
        summary = (out / "summary.txt").read_text()
        self.assertEqual(done.stdout, summary, done.stderr)
        return done.returncode, summary

    def test_every_step_runs(self):
        status, summary = self.first(self.bundle(), "--device", "cpu", "--seconds", "400")
        self.assertIn("tests: 1 of 2 passed", summary)
        self.assertIn("FAILED OnDevice.Fails/cpu", summary)
        self.assertIn("| the planted fault", summary)
        self.assertEqual(summary.count("FAILED"), 2, summary)  # the test, and the last line
        self.assertEqual(status, 1)
        for step in ("doctor", "demo model on cpu", "memcheck", "racecheck", "passes, int4", "passes, int4, earlier build",
                     "passes, int8", "passes, bf16", "counters", "Zonos, bf16", "Zonos, int8", "training"):
            self.assertRegex(summary, f"(?m)^ok {step}")
        self.assertRegex(summary, r"(?m)^    ok demo model, CLLM, fp32: losses within 0\.0e\+00")
        self.assertRegex(summary, r"(?m)^    ok tiny, QLoRA")
        self.assertRegex(summary, r"(?m)^    the earlier build's time over today's, drafts of 4: \d")
        with tarfile.open(self.scratch / "out/logs.tgz") as logs:
            self.assertIn("logs/passes_int4.txt", logs.getnames())

    def test_the_time_is_bounded(self):
        status, summary = self.first(self.bundle(), "--device", "cpu", "--seconds", "12")
        self.assertEqual(status, 1)
        self.assertIn("FAILED training: left out, as the time is over", summary)

    def test_where_nothing_runs(self):
        bundle = self.bundle()
        program(bundle / "bin/predgen", "#!/bin/sh\necho 'error: no such device' >&2\nexit 2\n")
        status, summary = self.first(bundle, "--device", "cpu")
        self.assertEqual(status, 1)
        self.assertIn("| error: no such device", summary)
        self.assertIn("FAILED nothing runs on the GPU, so nothing else was tried", summary)

    def test_what_cannot_be_packed(self):
        (self.scratch / "other").mkdir()
        for options, said in ((("--build", self.scratch), "no " + str(self.scratch / "predgen")),
                              (("--output", self.scratch / "other"), "no bundle"), (("--output",), "needs a folder"),
                              (("--outptu", "x"), "unknown option --outptu")):
            done = pack("--build", BUILD, *options)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    if not (BUILD / "libpredgen_cuda.so").exists():
        print("skipped: this build has no CUDA code")
        sys.exit(77)
    if not shutil.which("strip"):
        sys.exit("needs strip (binutils)")
    unittest.main()
