"""Converts Schema-Guided Dialogue (dstc8-schema-guided-dialogue) to the layout that predgen reads, that of
lmsys-chat-1m: OUTPUT/train-00000-of-00001.parquet and OUTPUT/dev.jsonl.

usage: convert_sgd.py SOURCE OUTPUT     (SOURCE holds train/ and dev/; OUTPUT is data_sets/sgd)

Run it with the Python that scripts/setup.sh prints: it has pyarrow.
"""
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ROLES = {"USER": "user", "SYSTEM": "assistant"}


def read_split(folder: pathlib.Path) -> list[dict]:
    files = sorted(folder.glob("dialogues_*.json"))
    if not files:
        sys.exit(f"convert_sgd: no dialogues_*.json in {folder}")
    rows = []
    for file in files:
        for dialogue in json.loads(file.read_text(encoding="utf-8")):
            rows.append({"conversation_id": f"{folder.name}/{dialogue['dialogue_id']}",
                         "conversation": [{"content": turn["utterance"], "role": ROLES[turn["speaker"]]}
                                          for turn in dialogue["turns"]],
                         "language": "English"})
    return rows


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, output = map(pathlib.Path, sys.argv[1:])
    train, dev = read_split(source / "train"), read_split(source / "dev")
    output.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(train), output / "train-00000-of-00001.parquet")
    with open(output / "dev.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in dev)
    print(f"convert_sgd: {len(train)} dialogues to train on, {len(dev)} in dev.jsonl")


if __name__ == "__main__":
    main()
