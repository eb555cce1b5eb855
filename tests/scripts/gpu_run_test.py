"""scripts/gpu_run.sh where torch sees no GPU: it says whether the driver is why."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


class GpuRun(unittest.TestCase):
    def stopped(self, smi):
        """What it says, beside an nvidia-smi that prints this."""
        with tempfile.TemporaryDirectory() as scratch:
            bundle = pathlib.Path(scratch, "bundle")
            (bundle / "bin").mkdir(parents=True)
            shutil.copy(ROOT / "scripts/gpu_run.sh", bundle / "run.sh")
            (bundle / "made_for").write_text(
                f"commit=x\ntorch={torch.__version__.split('+')[0]}\ncuda={torch.version.cuda}\nglibc=2.1\n")
            tools = pathlib.Path(scratch, "tools")
            tools.mkdir()
            for path, text in ((bundle / "bin/predgen", "exit 0"), (tools / "nvidia-smi", f"echo '{smi}'")):
                path.write_text(f"#!/bin/sh\n{text}\n")
                path.chmod(0o755)
            done = subprocess.run(
                ["bash", bundle / "run.sh", "--only", "demo"], capture_output=True, text=True,
                env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PREDGEN_PYTHON": sys.executable,
                                  "CUDA_VISIBLE_DEVICES": ""})
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            return next(line for line in done.stdout.splitlines() if line.startswith("STOPPED"))

    @unittest.skipIf(torch.version.cuda is None, "this torch is for CPUs")
    def test_an_old_driver(self):
        said = self.stopped("| NVIDIA-SMI 550.54   Driver Version: 550.54   CUDA Version: 12.4     |")
        self.assertIn(f"the NVIDIA driver here is for CUDA 12.4, torch here needs one for CUDA {torch.version.cuda}",
                      said)

    def test_no_gpu(self):
        same_major = (torch.version.cuda or "99.9").split(".")[0]
        for smi in ("nvidia-smi has failed", "CUDA Version: 99.0", f"CUDA Version: {same_major}.0"):
            self.assertIn("no GPU is visible here", self.stopped(smi))


if __name__ == "__main__":
    unittest.main()
