"""scripts/repeat_exercises.py: what the user says comes back, and names are not those of the files."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import pyarrow as pa
import pyarrow.parquet as pq

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "repeat_exercises.py"


class RepeatExercises(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def run_on(self, text, count):
        rows = [{"conversation_id": "a", "language": "English",
                 "conversation": [{"content": text, "role": "user"}]}]
        pq.write_table(pa.Table.from_pylist(rows), self.root / "in.parquet")
        return subprocess.run([sys.executable, str(SCRIPT), str(self.root / "out.parquet"), str(count),
                               str(self.root / "in.parquet")], capture_output=True, text=True)

    def test_names_come_back(self):
        done = self.run_on("It is in Berkeley or Monterey, with Alice or Robert.", 50)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = pq.read_table(self.root / "out.parquet").to_pylist()
        self.assertEqual(len({row["conversation_id"] for row in rows}), 50)
        said = set()
        for row in rows:
            user, assistant = row["conversation"]
            self.assertEqual([user["role"], assistant["role"]], ["user", "assistant"])
            self.assertEqual(user["content"], assistant["content"])
            self.assertIn(len(user["content"].split()), range(4, 25))
            said.update(user["content"].split())
        self.assertIn("Robekeley" if "Robekeley" in said else "Berkerey", said)

    def test_no_names(self):
        done = self.run_on("nothing is written large.", 5)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertFalse((self.root / "out.parquet").exists())


if __name__ == "__main__":
    unittest.main()
