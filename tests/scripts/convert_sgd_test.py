"""scripts/convert_sgd.py: what it writes is a corpus to predgen data build."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "convert_sgd.py"
PREDGEN = os.environ["PREDGEN"]
CONFIG = "sources: [{source}]\ntokenizer: {tokenizer}\noutput: {output}\nlaw: whole\nsystem_prompt: none\n"


def dialogue(number, utterances):
    return {"dialogue_id": f"1_{number:05}", "services": ["Restaurants_1"],
            "turns": [{"speaker": "SYSTEM" if i % 2 else "USER", "frames": [], "utterance": text}
                      for i, text in enumerate(utterances)]}


class ConvertSgd(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for split, dialogues in {
                "train": [dialogue(0, ["Any café nearby?", "Two."]), dialogue(1, ["Hi.", "Hello."])],
                "dev": [dialogue(0, ["Book a table.", "Done."])]}.items():
            for number, one in enumerate(dialogues, 1):
                file = self.root / "source" / split / f"dialogues_{number:03}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps([one]), encoding="utf-8")
            (self.root / "source" / split / "schema.json").write_text("[]")

    def convert(self, source):
        return subprocess.run([sys.executable, str(SCRIPT), str(source), str(self.root / "sgd")],
                              capture_output=True, text=True)

    def test_predgen_reads_the_result(self):
        done = self.convert(self.root / "source")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.root / "sgd" / "dev.jsonl", encoding="utf-8") as file:
            (row,) = map(json.loads, file)
        self.assertEqual(row["conversation_id"], "dev/1_00000")
        self.assertEqual(row["conversation"], [{"content": "Book a table.", "role": "user"},
                                               {"content": "Done.", "role": "assistant"}])
        for name, count in [("train-*.parquet", 2), ("dev.jsonl", 1)]:
            config = self.root / "build.yaml"
            config.write_text(CONFIG.format(source=f"{self.root}/sgd/{name}", output=self.root / name[:3],
                                            tokenizer=ROOT / "checkpoints" / "demo"))
            built = subprocess.run([PREDGEN, "data", "build", "--config", str(config), "--json"],
                                   capture_output=True, text=True)
            self.assertEqual(built.returncode, 0, built.stderr)
            self.assertEqual(json.loads(built.stdout)["num_records"], count)

    def test_another_folder(self):
        done = self.convert(self.root)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no dialogues_*.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
