"""Makes one-round conversations in which the user says some made-up names and the assistant repeats them: from
these alone a small model learns to repeat what it was told, and keeps that in later training on dialogues.

usage: repeat_exercises.py OUTPUT COUNT INPUT..    (Parquet files in the layout of lmsys-chat-1m)

A made-up name is the beginning of one name of the files and the end of another. Run it with the Python that
scripts/setup.sh prints: it has pyarrow.
"""
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

from rename_values import find_names, new_name, read_rows


def main():
    if len(sys.argv) < 4 or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    output, count, inputs = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    names, draw = find_names(read_rows(inputs)), random.Random(0)
    if not names:
        sys.exit("repeat_exercises: the files have no names: give conversations written with capital letters")
    rows = []
    for number in range(count):
        text = " ".join(new_name(names, draw).capitalize() for _ in range(draw.randint(4, 24)))
        rows.append({"conversation_id": f"repeat-{number}", "language": "English",
                     "conversation": [{"role": role, "content": text} for role in ("user", "assistant")]})
    pq.write_table(pa.Table.from_pylist(rows), output)
    print(f"repeat_exercises: {len(rows)} conversations, {len(names)} names in {output}")


if __name__ == "__main__":
    main()
