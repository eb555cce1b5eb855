"""Datasets as `predgen data build` and `predgen data trajectories` write them."""

import ctypes
import ctypes.util
import json

import h5py
import numpy as np


def xxh3_128(path):
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")

    class Hash(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    library.XXH3_128bits.restype = Hash
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    data = path.read_bytes()
    data = len(data).to_bytes(8, "little") + data  # predgen hashes length-prefixed pieces
    value = library.XXH3_128bits(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


def write_dataset(folder, records):
    """The layout that data/hdf5_store.h describes. A record: its id, tokens, mask, prompt (length) and blocks (lists of states)."""
    folder.mkdir()
    flat = lambda lists: [x for part in lists for x in part]
    offsets = lambda lists: np.cumsum([0] + [len(part) for part in lists]).astype(np.int64)
    ids = [list(r["id"].encode()) for r in records]
    blocks = flat(r["blocks"] for r in records)
    states = flat(blocks)
    columns = {
        "conversation_id": np.array(flat(ids), np.uint8),
        "conversation_id_offsets": offsets(ids),
        "round": np.zeros(len(records), np.int64),
        "prompt_length": np.array([r["prompt"] for r in records], np.int64),
        "tokens": np.array(flat(r["tokens"] for r in records), np.int32),
        "loss_mask": np.array(flat(r["mask"] for r in records), np.uint8),
        "token_offsets": offsets([r["tokens"] for r in records]),
        "block_offsets": offsets([r["blocks"] for r in records]),
        "state_offsets": offsets(blocks),
        "state_token_offsets": offsets(states),
        "state_tokens": np.array(flat(states), np.int32),
    }
    shard = folder / "shard-00000.h5"
    with h5py.File(shard, "w") as file:
        for name, values in columns.items():
            file[name] = values
    entry = {"file": shard.name, "num_records": len(records), "num_bytes": shard.stat().st_size, "hash": xxh3_128(shard)}
    manifest = {"format": "predgen-dataset", "version": 1, "recipe": {}, "recipe_hash": "", "shards": [entry], "num_records": len(records)}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def half_taught(tokens):
    """A record for each row of [rows, length]: its second half is the answer."""
    half = tokens.shape[1] // 2
    return [{"id": str(i), "tokens": row.tolist(), "mask": [int(place >= half) for place in range(len(row))],
             "prompt": half, "blocks": []} for i, row in enumerate(tokens)]
