"""scripts/gpu_train.py on the CPU, every run of it; and that it says what failed."""
import contextlib
import copy
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import gpu_train  # noqa: E402

PREDGEN = os.environ.get("PREDGEN", str(ROOT / "build" / "predgen"))


def lines_of(*arguments):
    """The exit status and the lines of a call."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out, \
            contextlib.redirect_stderr(io.StringIO()):
        model = pathlib.Path(folder) / "tiny"
        subprocess.run([sys.executable, ROOT / "scripts/random_model.py", model, "tiny", ROOT / "checkpoints/demo"],
                       check=True)
        status = gpu_train.main(f"{folder}/scratch", ROOT, model, *arguments)
    return status, out.getvalue().splitlines()


class GpuTrain(unittest.TestCase):
    def test_every_run_succeeds_on_the_cpu(self):
        os.environ["OMP_NUM_THREADS"] = "1"
        status, lines = lines_of("cpu", "0", PREDGEN)
        self.assertEqual((status, [line for line in lines if not line.startswith("ok ")]), (0, []))
        for objective in gpu_train.CONFIGS:
            for part in (f"demo, {objective}, fp32", f"tiny, {objective}, bf16, whole", f"tiny, {objective}, nf4, whole"):
                self.assertEqual(sum(part in line for line in lines), 1, (part, lines))
        for part in ("2 ranks over Gloo:", "2 ranks over Gloo, sharded:", "bf16, offloaded:", "nf4, offloaded:",
                     "bf16, sharded over 2:", "nf4, sharded over 2 and offloaded:"):
            self.assertEqual(sum(part in line for line in lines), 1, (part, lines))

    def test_failures_are_counted_and_one_gpu_is_said(self):
        status, lines = lines_of("cuda", "1", "false")
        failed = [line for line in lines if line.startswith("FAILED")]
        self.assertEqual(status, len(failed))
        self.assertEqual(len(failed), len(lines) - 2)
        self.assertEqual(sum("there is only one GPU" in line for line in lines), 2)

    def test_losses_that_differ_are_seen(self):
        rows = [{"step": 1, "train/ar": 2.0, "train/seconds": 1.0}, {"step": 2, "train/ar": 1.5, "train/seconds": 2.0}]
        other = copy.deepcopy(rows)
        other[1].update({"train/ar": 1.503, "train/seconds": 9.0})
        self.assertAlmostEqual(gpu_train.largest_difference(other, rows), 0.002)
        other[1]["train/ar"] = float("nan")
        self.assertEqual(gpu_train.largest_difference(other, rows), float("inf"))
        for wrong in (other[:1], [], [{"step": 1}, {"step": 2}]):
            self.assertRaises(gpu_train.Failure, gpu_train.largest_difference, wrong, rows)


if __name__ == "__main__":
    unittest.main()
