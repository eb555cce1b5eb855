"""scripts/random_model.py: `transformers` loads what it makes, every weight of it, and runs it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]


class RandomModel(unittest.TestCase):
    def test_a_tiny_model(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "tiny"
            subprocess.run([sys.executable, ROOT / "scripts/random_model.py", model, "tiny", ROOT / "checkpoints/demo"], check=True)
            self.assertEqual((model / "tokenizer.json").read_bytes(), (ROOT / "checkpoints/demo/tokenizer.json").read_bytes())
            loaded, faults = transformers.AutoModelForCausalLM.from_pretrained(model, output_loading_info=True)
            self.assertEqual([key for key, names in faults.items() if names], [])
            logits = loaded(torch.tensor([[1, 2, 3]])).logits
            self.assertEqual(tuple(logits.shape), (1, 3, 4096))
            self.assertTrue(logits.isfinite().all())
            self.assertGreater(logits.std().item(), 0)


if __name__ == "__main__":
    unittest.main()
