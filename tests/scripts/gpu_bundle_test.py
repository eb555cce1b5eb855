"""scripts/gpu_bundle.sh packs what a GPU machine needs, and its first.sh runs whole on the CPU and tells what fails.

usage: gpu_bundle_test.py BUILD    (the folder with the programs)
"""
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(ROOT / "scripts"))
import gpu_first  # noqa: E402
import gpu_trials  # noqa: E402

# As cuda_test lists and runs its tests: one fails, one is skipped.
TESTS = """#!/bin/sh
case $1 in
  --gtest_list_tests) printf 'OnDevice.\\n  Passes/cpu  # GetParam() = "cpu"\\n  Passes/cuda  #\\n'
                      printf '  Fails/cpu  # GetParam()\\n  Skips/cpu  #\\n' ;;
  *Fails*) echo 'the planted fault'; exit 1 ;;
  *Skips*) echo '[  SKIPPED ] OnDevice.Skips' ;;
  *) echo '[  PASSED  ] 2 tests.' ;;
esac
"""
# Of the CUDA toolkit: each runs the program behind its own options, and says what it says of a kernel.
TOOL = """#!/bin/sh
while [ "${{1%%/bin/*}}" = "$1" ]; do [ $# -gt 1 ] || exit 3; shift; done
{said}
exec "$@"
"""
SUMMARY = "echo '========= ERROR SUMMARY: 0 errors'"
KERNEL = "echo '1,attend_kernel,gpu__time_duration.sum'"


def program(path, text):
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def pack(*options):
    return subprocess.run([ROOT / "scripts/gpu_bundle.sh", *map(str, options)], capture_output=True, text=True)


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)


class GpuBundle(Scratch):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.packed = pathlib.Path(scratch.name, "packed")
        done = pack("--build", BUILD, "--before", BUILD, "--output", cls.packed)
        assert done.returncode == 0, done.stderr

    def bundle(self):
        folder = self.scratch / "bundle"
        shutil.copytree(self.packed, folder, copy_function=os.link)
        program(folder / "bin/cuda_test", TESTS)
        return folder

    def first(self, bundle, *options, sanitizer=SUMMARY, counter=KERNEL):
        """Its summary: some steps have failed."""
        tools, out = self.scratch / "tools", self.scratch / "out"
        tools.mkdir(exist_ok=True)
        program(tools / "compute-sanitizer", TOOL.format(said=sanitizer))
        program(tools / "ncu", TOOL.format(said=counter))
        done = subprocess.run([bundle / "first.sh", "--device", "cpu", *options], capture_output=True, text=True,
                              env=os.environ | {"OUT": str(out), "PATH": f"{tools}:{os.environ['PATH']}",
                                                "PREDGEN_PYTHON": sys.executable})
        summary = (out / "summary.txt").read_text()
        self.assertEqual(done.stdout, summary, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertRegex(summary.splitlines()[-1], r"^some steps FAILED, \d+ s; ")
        self.assertEqual(done.returncode, 1)
        return summary

    def test_every_step_runs(self):
        summary = self.first(self.bundle())
        self.assertIn("tests: 1 of 3 passed", summary)
        self.assertIn("FAILED OnDevice.Fails/cpu: exit status 1\n    | the planted fault", summary)
        self.assertIn("FAILED OnDevice.Skips/cpu: skipped", summary)
        self.assertEqual(summary.count("FAILED"), 3, summary)  # with the last line
        for step in ("module", "doctor", "demo model on cpu", "memcheck: ERROR SUMMARY: 0 errors", "racecheck",
                     "passes, int4", "passes, int4, earlier build", "passes, int4, nothing read ahead",
                     "passes, int8", "passes, bf16", "counters", "Zonos, bf16", "Zonos, int8", "training"):
            self.assertRegex(summary, f"(?m)^ok {step}")
        for trial in ("demo model, CLLM, fp32", "tiny, LoRA", "tiny, QLoRA"):
            self.assertRegex(summary, f"(?m)^    ok {trial}")
        for how in ("earlier build", "nothing read ahead"):
            self.assertRegex(summary, rf"(?m)^    {how}: its time over today's, a token \d.*, drafts of 4: \d")
        with tarfile.open(self.scratch / "out/logs.tgz") as logs:
            self.assertIn("logs/passes_int4.txt", logs.getnames())

    def test_what_fails_is_told_and_the_rest_goes_on(self):
        bundle = self.bundle()
        program(bundle / "bin/predgen-espeak", "#!/bin/sh\nexit 1\n")
        (bundle / "python/random_model.py").write_text("import sys; sys.exit('no room')")
        summary = self.first(bundle, sanitizer="true", counter="true")
        self.assertRegex(summary, r"FAILED memcheck: it says something else: Wrong\('nothing was checked'\)")
        self.assertIn("FAILED weights of the model's shape: exit status 1\n    | no room", summary)
        self.assertIn("FAILED Zonos, int8: exit status", summary)

    def test_where_nothing_runs(self):
        bundle = self.bundle()
        program(bundle / "bin/predgen", "#!/bin/sh\necho 'error: no such device' >&2\nexit 2\n")
        summary = self.first(bundle)
        self.assertIn("| error: no such device", summary)
        self.assertIn("FAILED nothing runs on the device, so nothing else was tried", summary)

    def test_what_cannot_be_packed(self):
        (self.scratch / "other").mkdir()
        for options, said in ((("--build", self.scratch), "no " + str(self.scratch / "predgen")),
                              (("--output", self.scratch / "other"), "no bundle"), (("--output",), "needs a folder"),
                              (("--outptu", "x"), "unknown option --outptu")):
            done = pack("--build", BUILD, *options)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


class Steps(Scratch):
    def summary_of(self, seconds, steps):
        (self.scratch / "out").mkdir()
        run = gpu_first.Try("cpu", seconds, self.scratch / "out", self.scratch)
        with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.closing(run.summary):
            steps(run)
        return shown.getvalue()

    def test_a_step_that_takes_too_long_ends_with_all_that_it_started(self):
        mark = self.scratch / "mark"
        script = f"echo begun; (sleep 2; touch {mark}) & wait"
        summary = self.summary_of(60, lambda run: self.assertIsNone(run.step("slow", 0.5, ["sh", "-c", script])))
        self.assertRegex(summary, r"^FAILED slow: not done after 0 s .*\n    \| begun\n$")
        time.sleep(2.5)
        self.assertFalse(mark.exists())

    def test_what_there_is_no_time_for_is_left_out(self):
        summary = self.summary_of(9, lambda run: gpu_first.training(run, self.scratch))
        self.assertEqual(summary, "FAILED training: left out, as the time is over\n")

    def test_another_text_than_on_the_cpu(self):
        fake = self.scratch / "predgen"
        program(fake, '#!/bin/sh\ncase "$*" in doctor) echo "  GPU  one";; *cpu*) echo a;; *) echo b;; esac\n')

        def steps(run):
            run.device, run.predgen = "cuda", [fake]
            gpu_first.module(run)
        self.assertIn("FAILED demo model: another text than on the CPU\n", self.summary_of(60, steps))


class Trials(Scratch):
    def test_differences_of_losses(self):
        rows = [(1, "train/ar", 2.0), (2, "train/ar", 1.0)]
        self.assertEqual(gpu_trials.largest_difference(rows, rows), 0)
        other = [rows[0], (2, "train/ar", 1.002)]
        self.assertAlmostEqual(gpu_trials.largest_difference(other, rows), 2e-3)
        self.assertEqual(gpu_trials.largest_difference([rows[0], (2, "train/ar", float("nan"))], rows), float("inf"))
        for found in ([], rows[:1]):
            with self.assertRaises(gpu_trials.Failure):
                gpu_trials.largest_difference(found, rows)

    def test_failures_are_counted(self):
        trials = gpu_trials.Trials(self.scratch, self.scratch, self.scratch, "cpu", ["false"])
        with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.redirect_stderr(io.StringIO()):
            trials.all()
        self.assertEqual(trials.num_failed, 5)
        self.assertEqual(shown.getvalue().count("FAILED"), 5)


if __name__ == "__main__":
    if not (BUILD / "libpredgen_cuda.so").exists():
        print("skipped: this build has no CUDA code")
        sys.exit(77)
    if not shutil.which("strip"):
        sys.exit("needs strip (binutils)")
    unittest.main()
