#!/usr/bin/env python3
"""Converts a Whisper model in CTranslate2's format to what sherpa-onnx's offline Whisper reads, in 8 bits.

usage: convert_whisper.py SOURCE TARGET [ADAPTER]

SOURCE holds model.bin (or its parts model.bin.part1, ..), config.json and vocabulary.txt; TARGET, an existing folder,
gets encoder.onnx, decoder.onnx and tokens.txt. With an ADAPTER of train_short_window.py it also gets encoder_en.onnx,
which needs less silence behind the sound. Needs only numpy. The same source gives the same bytes everywhere, as
weights are rounded by operations that IEEE 754 defines to the last bit: scripts/known_models.py has their hashes.
whisper_graphs.py has the computation.
"""
import base64
import json
import pathlib
import re
import sys

import numpy

from ctranslate2_file import read_weights
from whisper_graphs import save_decoder, save_encoder

NUM_FRAMES = 3000  # 30 s of sound


class Whisper:
    """The weights, and what the sizes of the model are."""

    def __init__(self, folder):
        self.weights = read_weights(read_joined(folder))
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.pieces = (folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.num_tokens, self.width = self.weights["decoder/embeddings/weight"].shape
        if len(self.pieces) < self.num_tokens:
            raise ValueError(f"vocabulary.txt has {len(self.pieces)} of {self.num_tokens} tokens")
        self.heads = int(self.weights["encoder/num_heads"].reshape(-1)[0])
        self.num_mels = self.weights["encoder/conv1/weight"].shape[1]
        self.encoder_layers, self.decoder_layers = self.count("encoder"), self.count("decoder")
        self.context = len(self.weights["decoder/position_encodings/encodings"])
        # English models have language tokens, too, but list them with the numbers of other models.
        self.is_multilingual = config["lang_ids"][:1] == [self.ids["<|en|>"]]
        self.languages = config["lang_ids"] if self.is_multilingual else []
        self.end = self.ids["<|endoftext|>"]
        self.suppressed = sorted({*config["suppress_ids"], *range(self.end + 1, self.num_tokens)} - {self.end})
        self.silence = ""  # how many frames of it the encoder needs behind the sound; empty: it is not said

    def count(self, part):
        layers = (re.match(rf"{part}/layer_(\d+)/", name) for name in self.weights)
        return 1 + max(int(match[1]) for match in layers if match)

    def get(self, name):
        return self.weights[name].astype(numpy.float32)

    def add(self, adapter):
        """Adds the file's changes: vectors, and products of two matrices [out, rank] and [rank, in]. These are summed
        in the order of the ranks, so that the sums have the same bits everywhere."""
        changes, self.silence = read_adapter(adapter)
        self.weights = dict(self.weights)
        for name, change in changes.items():
            base, _, side = name.rpartition("/")
            if side == "left":
                weight = self.get(base)
                for column, row in zip(change.T, changes[base + "/right"]):
                    weight = weight + column[:, None] * row
                self.weights[base] = weight
            elif side != "right":
                self.weights[name] = self.get(name) + change

    def metadata(self):
        """What sherpa-onnx reads from the encoder; it ends the program when one is missing."""
        id_of = self.ids
        start, transcribe = id_of["<|startoftranscript|>"], id_of["<|transcribe|>"]
        prompt = [start, id_of["<|en|>"], transcribe] if self.is_multilingual else [start]
        texts = {
            "model_type": "whisper", "version": 1, "maintainer": "predgen", "n_mels": self.num_mels,
            "n_audio_ctx": NUM_FRAMES // 2, "n_audio_state": self.width, "n_audio_head": self.heads,
            "n_audio_layer": self.encoder_layers, "n_vocab": self.num_tokens, "n_text_ctx": self.context,
            "n_text_state": self.width, "n_text_head": self.heads, "n_text_layer": self.decoder_layers,
            "sot_sequence": joined(prompt), "all_language_tokens": joined(self.languages),
            "all_language_codes": joined(self.pieces[i][2:-2] for i in self.languages),
            "sot": start, "sot_index": 0, "eot": self.end, "blank_id": id_of["Ġ"],
            "is_multilingual": int(self.is_multilingual), "transcribe": transcribe,
            "translate": id_of["<|translate|>"], "sot_prev": id_of["<|startofprev|>"],
            "sot_lm": id_of["<|startoflm|>"], "no_timestamps": id_of["<|notimestamps|>"], "non_speech_tokens": "",
            "no_speech": id_of["<|nospeech|>" if "<|nospeech|>" in id_of else "<|nocaptions|>"]}
        return texts | ({"silence_frames": self.silence} if self.silence else {})


def joined(values):
    return ",".join(map(str, values))


def read_joined(folder):
    """The bytes of model.bin, or of its parts put together."""
    files = [folder / "model.bin"] if (folder / "model.bin").exists() else sorted(folder.glob("model.bin.part*"))
    return numpy.concatenate([numpy.fromfile(file, numpy.uint8) for file in files])


def read_adapter(path):
    """The float16 tensors of a safetensors file as float32, by name, and how much silence the encoder then needs."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    silence = header.pop("__metadata__")["silence_frames"]
    return {name: numpy.frombuffer(data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]], "<f2")
            .reshape(entry["shape"]).astype(numpy.float32) for name, entry in header.items()}, silence


def byte_of_character():
    """How GPT-2's tokenizer writes bytes: those that print stand for themselves, the others follow from 256 on."""
    printing = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printing]
    return {chr(byte): byte for byte in printing} | {chr(256 + i): byte for i, byte in enumerate(others)}


def save_tokens(model, path):
    """A line for each token that is text: its bytes in base64, and its number."""
    byte = byte_of_character()
    with open(path, "w", encoding="ascii") as file:
        for i, piece in enumerate(model.pieces[:min(model.end, model.ids["<|startoftranscript|>"])]):
            file.write(f"{base64.b64encode(bytes(byte[c] for c in piece)).decode()} {i}\n")


def convert(source, target, adapter=None):
    """ValueError or KeyError if `source` is not such a model."""
    model = Whisper(source)
    save_encoder(model, target / "encoder.onnx")
    save_decoder(model, target / "decoder.onnx")
    save_tokens(model, target / "tokens.txt")
    if adapter:
        model.add(adapter)
        save_encoder(model, target / "encoder_en.onnx")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    convert(*map(pathlib.Path, sys.argv[1:]))
