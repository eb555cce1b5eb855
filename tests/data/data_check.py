"""predgen data build against pyarrow and h5py: Parquet (snappy, zstd) and JSONL give the same
records, their text is that of the rows, and the HDF5 shards open in h5py."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PREDGEN = os.environ["PREDGEN"]
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def byte_letters():
    """The alphabet of byte-level BPE: byte -> printable character."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {}, 0
    for byte in range(256):
        if byte in keep:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(256 + extra)
            extra += 1
    return letters


def write_tokenizer(folder):
    """Bytes are their own ids; 256 <|endoftext|>, 257 <|im_start|>, 258 <|im_end|>."""
    folder.mkdir()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": 256 + i, "content": t, "special": True} for i, t in enumerate(specials)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r" ?\p{L}+|\s+|[^\s\p{L}]+"},
             "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {c: b for b, c in byte_letters().items()}, "merges": []},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": "<|im_end|>", "chat_template": CHATML}))


def expected_tokens(row):
    tokens, mask = [], []
    messages = row["conversation"]
    for i, message in enumerate(messages):
        head = [257, *f"{message['role']}\n".encode()]
        body = [*message["content"].encode(), 258]
        is_answer = message["role"] == "assistant"
        tokens += head + body
        mask += [0] * len(head) + [int(is_answer)] * len(body)
        if i + 1 < len(messages):
            tokens.append(10)
            mask.append(0)
    return tokens, mask


def build(folder, tokenizer, name, source, *overrides):
    config = folder / f"{name}.yaml"
    config.write_text(f"sources: ['{source}']\ntokenizer: {tokenizer}\noutput: {folder / name}\nlaw: whole\n")
    command = [PREDGEN, "data", "build", "--config", str(config), "--json", *overrides]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}: {result.stderr}")
    return json.loads(result.stdout), read(folder / name)


def read(folder):
    records = []
    for shard in sorted(folder.glob("shard-*.h5")):
        with h5py.File(shard) as file:
            offsets, ids = file["token_offsets"][:], file["conversation_id_offsets"][:]
            tokens, mask = file["tokens"][:], file["loss_mask"][:]
            names = file["conversation_id"][:].astype(np.uint8).tobytes()
            for i in range(len(file["round"])):
                part = slice(offsets[i], offsets[i + 1])
                records.append((names[ids[i]:ids[i + 1]].decode(), tokens[part].tolist(), mask[part].tolist()))
    return records


def check(records, rows, what):
    kept = [row for row in rows if row["conversation"]]
    assert len(records) == len(kept), f"{what}: {len(records)} records of {len(kept)} rows"
    for (name, tokens, mask), row in zip(records, kept):
        want_tokens, want_mask = expected_tokens(row)
        assert name == row["conversation_id"], f"{what}: {name} for {row['conversation_id']}"
        assert tokens == want_tokens, f"{what}: tokens of {name} differ"
        assert mask == want_mask, f"{what}: loss mask of {name} differs"


def own_rows():
    rows = []
    for i in range(40):
        conversation = []
        for j in range(1 + i % 4):
            conversation += [{"content": f"Frage {i}.{j}: größer? 日本 <|im_end|> \U0001f600", "role": "user"},
                             {"content": f"Antwort {i * j}.\n\nJa, sicher.", "role": "assistant"}]
        rows.append({"conversation_id": f"id{i}", "model": "m", "conversation": conversation,
                     "turn": len(conversation) // 2, "language": "German" if i % 5 else "English",
                     "openai_moderation": [{"categories": {"hate": False}, "category_scores": {"hate": 0.5},
                                            "flagged": i % 7 == 3} for _ in conversation],
                     "redacted": i % 6 == 0})
    rows[11]["conversation"], rows[11]["openai_moderation"] = [], []
    return rows


def check_layouts(folder, tokenizer, rows):
    """The same conversations as others write them, and prompts alone, in Parquet."""
    for key, role, text, names in (("messages", "role", "content", ["user", "assistant"]),
                                   ("conversations", "from", "value", ["human", "gpt"]),
                                   ("conversations", "role", "content", ["user", "assistant"])):
        others = [{"id": row["conversation_id"],
                   key: [{role: names[i % 2], text: message["content"]}
                         for i, message in enumerate(row["conversation"])]} for row in rows]
        name = f"{key}-{role}"
        pq.write_table(pa.Table.from_pylist(others), folder / f"{name}.parquet")
        check(build(folder, tokenizer, name, folder / f"{name}.parquet")[1], rows, name)

    prompts = [{"id": 100 + i, "text": f"Frage {i}"} for i in range(7)]
    pq.write_table(pa.Table.from_pylist(prompts), folder / "prompts.parquet")
    _, records = build(folder, tokenizer, "prompts", folder / "prompts.parquet", "law=truncated")
    assert [name for name, _, _ in records] == [str(100 + i) for i in range(7)], records
    for (_, tokens, mask), row in zip(records, prompts):
        said = bytes(tokens[6:-13])  # between <|im_start|>user\n and <|im_end|>\n<|im_start|>assistant\n
        assert row["text"].encode().startswith(said) and not any(mask), (row, tokens, mask)

    refused(folder, tokenizer, pa.Table.from_pylist([{"question": "q"}]),
            'refused.parquet: has no column "conversation", "messages"')


def refused(folder, tokenizer, table, *messages, limit=None):
    """The build ends with one line that has all of `messages`; it may take `limit` bytes."""
    source, config = folder / "refused.parquet", folder / "refused.yaml"
    pq.write_table(table, source, compression="zstd")
    config.write_text(f"sources: ['{source}']\ntokenizer: {tokenizer}\noutput: {folder / 'r'}\n")
    command = [PREDGEN, "data", "build", "--config", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120,
                            preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))))
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 2 and all(message in last for message in messages), result


def as_dictionaries(array):
    """The same values with every text as a dictionary, wherever it is."""
    if pa.types.is_string(array.type):
        return array.dictionary_encode()
    if pa.types.is_list(array.type):
        return pa.ListArray.from_arrays(array.offsets, as_dictionaries(array.values), mask=array.is_null())
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        return pa.StructArray.from_arrays([as_dictionaries(array.field(name)) for name in names], names)
    return array


def as_large(kind):
    """The type with large texts and lists."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_list(kind):
        return pa.large_list(as_large(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, as_large(field.type)) for field in kind])
    return kind


def check_storage(folder, tokenizer, rows):
    """The same rows, however their columns are stored."""
    rows = [{key: row[key] for key in ("conversation_id", "conversation", "language", "redacted")} for row in rows]
    plain = pa.Table.from_pylist(rows)
    columns = [column.combine_chunks() for column in plain.columns]
    tables = {"dictionaries": pa.table([as_dictionaries(column) for column in columns], plain.column_names),
              "large": plain.cast(pa.schema([(field.name, as_large(field.type)) for field in plain.schema])),
              "binary": plain.set_column(0, "conversation_id", columns[0].cast(pa.binary()))}
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
        check(build(folder, tokenizer, name, folder / f"{name}.parquet")[1], rows, name)

    pairs = [row for row in rows if len(row["conversation"]) == 2]
    kind = pa.list_(pa.struct([("content", pa.string()), ("role", pa.string())]), 2)
    table = pa.table([pa.array([row["conversation_id"] for row in pairs]),
                      pa.array([row["conversation"] for row in pairs], type=kind)], ["conversation_id", "conversation"])
    pq.write_table(table, folder / "fixed.parquet")
    check(build(folder, tokenizer, "fixed", folder / "fixed.parquet")[1], pairs, "lists of a fixed size")

    part = pa.struct([("type", pa.string()), ("text", pa.string())])
    parts = pa.struct([("role", pa.string()), ("content", pa.list_(part)), ("tool_calls", pa.list_(part))])
    as_parts = [[{"role": message["role"], "content": [{"type": "text", "text": message["content"]}],
                  "tool_calls": [{"type": "function"}] if i == 3 else None} for message in row["conversation"]]
                for i, row in enumerate(rows)]
    table = pa.table([plain["conversation_id"], pa.array(as_parts, type=pa.list_(parts))],
                     ["conversation_id", "messages"])
    pq.write_table(table, folder / "parts.parquet")
    summary, records = build(folder, tokenizer, "parts", folder / "parts.parquet")
    check(records, rows[:3] + rows[4:], "parts of text")
    assert summary["counters"]["dropped"]["tool_calls"] == 1, summary

    texts = pa.table([pa.array([json.dumps(row["conversation"]) for row in rows])], ["messages"])
    refused(folder, tokenizer, texts, 'column "messages" holds text', "JSON", "python3 -c")
    column = columns[1]
    refused(folder, tokenizer, pa.table([column, column], ["messages", "messages"]), 'two columns "messages"')
    refused(folder, tokenizer, pa.table([columns[0], columns[0]], ["prompt", "prompt"]), 'two columns "prompt"')
    struct = pa.StructArray.from_arrays([pa.array(["user"]), pa.array(["q"]), pa.array(["r"])],
                                        ["role", "content", "content"])
    twice = pa.table([pa.ListArray.from_arrays([0, 1], struct)], ["messages"])
    refused(folder, tokenizer, twice, 'two columns "messages', 'content"')

    # A megabyte, 40,000 times, in a file of some hundred bytes.
    bomb = pa.DictionaryArray.from_arrays(pa.array([0] * 40000, type=pa.int32()), pa.array(["a" * 1000000]))
    refused(folder, tokenizer, pa.table([bomb], ["prompt"]), "decode to more than", limit=2 << 30)


def shared_conversations():
    """Files of the reference data, with their rows."""
    shared = Path(os.environ.get("PREDGEN_SHARED", "../shared")) / "data" / "sgd"
    if not shared.is_dir():
        print(f"skipped: the conversations of the reference data, there is no {shared}")
        return
    for file in sorted(shared.glob("train-*.parquet")):
        yield file, pq.ParquetFile(file).read().to_pylist()
    with open(shared / "dev.jsonl") as lines:
        yield shared / "dev.jsonl", [json.loads(line) for line in lines]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer = folder / "tokenizer"
        write_tokenizer(tokenizer)
        rows = own_rows()
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        filters = ["filters.languages=[German]", "filters.drop_redacted=true", "filters.drop_flagged=true"]
        filtered = [row for row in rows if row["language"] == "German" and not row["redacted"]
                    and not any(m["flagged"] for m in row["openai_moderation"])]
        assert 5 < len(filtered) < 35
        sources = {"jsonl": folder / "rows.jsonl"}
        for codec in ["snappy", "zstd"]:
            sources[codec] = folder / f"{codec}.parquet"
            pq.write_table(pa.Table.from_pylist(rows), sources[codec], compression=codec, row_group_size=7)
        summaries = []
        for what, source in sources.items():
            check(build(folder, tokenizer, what, source)[1], rows, what)
            summary, records = build(folder, tokenizer, what + "_filtered", source, *filters)
            check(records, filtered, what + " filtered")
            summaries.append(summary["counters"])
        assert summaries[0] == summaries[1] == summaries[2], summaries
        dropped = summaries[0]["dropped"]
        assert sum(dropped.values()) + summaries[0]["records"] == summaries[0]["rows_read"] == 40, dropped
        assert dropped["empty_conversation"] == 1, dropped

        check_layouts(folder, tokenizer, rows)
        check_storage(folder, tokenizer, rows)

        damaged = folder / "damaged.parquet"
        damaged.write_bytes(sources["zstd"].read_bytes()[:-200])
        config = folder / "damaged.yaml"
        config.write_text(f"sources: ['{damaged}']\ntokenizer: {tokenizer}\noutput: {folder / 'd'}\nlaw: whole\n")
        result = subprocess.run([PREDGEN, "data", "build", "--config", str(config)], capture_output=True, text=True)
        assert result.returncode == 2 and "damaged.parquet" in result.stderr, result

        for file, rows in shared_conversations():
            check(build(folder, tokenizer, file.stem, file)[1], rows, file.name)


if __name__ == "__main__":
    main()
