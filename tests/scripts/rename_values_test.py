"""scripts/rename_values.py: other names and numbers, the same ones through a conversation."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import pyarrow as pa
import pyarrow.parquet as pq

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "rename_values.py"
ROUNDS = ["Is there a salon in San Jose? I want it on Monday, March 3rd.",
          "San Jose has one: call 408-247-8880, it is 12 dollars.",
          "Please call 408-247-8880 in san jose at 11:30.", "We like San Jose, San Jose, San Jose."]


class RenameValues(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        rows = [{"conversation_id": id, "language": "English",
                 "conversation": [{"content": text, "role": "assistant" if i % 2 else "user"}
                                  for i, text in enumerate(ROUNDS)]} for id in "ab"]
        pq.write_table(pa.Table.from_pylist(rows), self.root / "in.parquet")

    def rename(self, *arguments):
        return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True)

    def test_alike_through_a_conversation(self):
        done = self.rename(self.root / "out.parquet", 2, self.root / "in.parquet")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = pq.read_table(self.root / "out.parquet").to_pylist()
        self.assertEqual([row["conversation_id"] for row in rows], ["a-n1", "b-n1", "a-n2", "b-n2"])
        texts = [[message["content"] for message in row["conversation"]] for row in rows]
        self.assertGreater(len({text[0] for text in texts}), 1)
        for first, second, third, last in texts:
            place = re.fullmatch(r"Is there a salon in (\w+ \w+)\? I want it on Monday, March 3rd\.", first)[1]
            number = re.fullmatch(place + r" has one: call (\d{3}-\d{3}-\d{4}), it is 12 dollars\.", second)[1]
            self.assertNotEqual(number, "408-247-8880")
            self.assertEqual(third, f"Please call {number} in {place.lower()} at 11:30.")
            self.assertEqual(last, f"We like {place}, {place}, {place}.")

    def test_a_file_that_is_none(self):
        (self.root / "bad.parquet").write_text("no Parquet")
        for name in "bad.parquet", "none.parquet":
            done = self.rename(self.root / "out.parquet", 1, self.root / name)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(name, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertFalse((self.root / "out.parquet").exists())


if __name__ == "__main__":
    unittest.main()
