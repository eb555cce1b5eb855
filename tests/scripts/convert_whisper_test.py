"""scripts/convert_whisper.py on a small random Whisper: the files are what ONNX Runtime computes the same from as numpy
does from the weights, within the rounding to 8 bits; and what sherpa-onnx does not do by itself is in them."""
import base64
import json
import math
import pathlib
import struct
import sys
import tempfile
import unittest

import numpy

try:
    import onnxruntime
except ImportError:
    print("skipped: there is no onnxruntime", file=sys.stderr)
    sys.exit(77)

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import convert_whisper  # noqa: E402
from whisper_graphs import quantize  # noqa: E402

WIDTH, HEADS, LAYERS, MELS, PLACES, CONTEXT = 64, 2, 2, 8, 60, 20
BYTES = convert_whisper.byte_of_character()
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>", "<|transcribe|>",
           "<|startoflm|>", "<|startofprev|>", "<|nocaptions|>", "<|notimestamps|>", "<|0.00|>"]
PIECES = [*BYTES, "Ġthe", *SPECIAL]
END = PIECES.index("<|endoftext|>")
LANGUAGES = [PIECES.index("<|en|>"), PIECES.index("<|de|>")]
SUPPRESSED = [3, 5]


def make_weights(random):
    def normal(*shape, scale=0.3):
        return random.normal(0, scale, shape).astype(numpy.float16)

    def norm(name):
        return {f"{name}/gamma": 1 + normal(WIDTH, scale=0.1), f"{name}/beta": normal(WIDTH, scale=0.1)}

    def linear(name, size, out, without_bias=slice(0)):
        bias = normal(out, scale=0.1)
        bias[without_bias] = 0
        return {f"{name}/weight": normal(out, size, scale=size ** -0.5), f"{name}/bias": bias}

    keys = slice(WIDTH, 2 * WIDTH)
    weights = {"encoder/num_heads": numpy.array([HEADS], numpy.int16),
               "encoder/conv1/weight": normal(WIDTH, MELS, 3), "encoder/conv1/bias": normal(WIDTH),
               "encoder/conv2/weight": normal(WIDTH, WIDTH, 3, scale=0.1), "encoder/conv2/bias": normal(WIDTH),
               "encoder/position_encodings/encodings": normal(PLACES, WIDTH),
               "decoder/embeddings/weight": normal(len(PIECES), WIDTH),
               "decoder/position_encodings/encodings": normal(CONTEXT, WIDTH)}
    for part in ("encoder", "decoder"):
        weights |= norm(f"{part}/layer_norm")
        for i in range(LAYERS):
            name = f"{part}/layer_{i}"
            weights |= norm(f"{name}/self_attention/layer_norm") | norm(f"{name}/ffn/layer_norm")
            weights |= linear(f"{name}/self_attention/linear_0", WIDTH, 3 * WIDTH, keys)
            weights |= linear(f"{name}/self_attention/linear_1", WIDTH, WIDTH)
            weights |= linear(f"{name}/ffn/linear_0", WIDTH, 4 * WIDTH)
            weights |= linear(f"{name}/ffn/linear_1", 4 * WIDTH, WIDTH)
            if part == "decoder":
                weights |= norm(f"{name}/attention/layer_norm") | linear(f"{name}/attention/linear_0", WIDTH, WIDTH)
                weights |= linear(f"{name}/attention/linear_1", WIDTH, 2 * WIDTH, slice(WIDTH))
                weights |= linear(f"{name}/attention/linear_2", WIDTH, WIDTH)
    return weights


def text_bytes(text):
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


def model_bin(weights, version=6):
    """As CTranslate2 writes it, with an alias."""
    data = struct.pack("<I", version) + text_bytes("WhisperSpec") + struct.pack("<II", 3, len(weights))
    for name, array in weights.items():
        kind = {"float32": 0, "int16": 2, "float16": 4}[array.dtype.name]
        data += text_bytes(name) + struct.pack(f"<B{array.ndim}IBI", array.ndim, *array.shape, kind, array.nbytes)
        data += array.tobytes()
    return data + struct.pack("<I", 1) + text_bytes("decoder/projection/weight") + text_bytes("decoder/embeddings/weight")


def make_adapter(random, weights):
    """Its float16 tensors, and the weights with it."""
    vector, matrix = "encoder/layer_0/ffn/linear_1/bias", "decoder/layer_1/attention/linear_1/weight"
    left, right = (random.normal(0, 0.2, shape).astype(numpy.float16) for shape in ((2 * WIDTH, 3), (3, WIDTH)))
    added = random.normal(0, 1, WIDTH).astype(numpy.float16)
    changed = weights | {vector: weights[vector].astype(float) + added,
                         matrix: weights[matrix].astype(float) + left.astype(float) @ right.astype(float)}
    return {vector: added, matrix + "/right": right, matrix + "/left": left}, changed


def safetensors(tensors, metadata):
    header, place = {"__metadata__": metadata}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F16", "shape": array.shape, "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in tensors.values())


def gelu(x):
    return x * 0.5 * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x):
    x = numpy.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


class Reference:
    """Whisper in float64."""

    def __init__(self, weights):
        self.w = {name: array.astype(numpy.float64) for name, array in weights.items()}

    def linear(self, x, name, rows=slice(None)):
        return x @ self.w[name + "/weight"][rows].T + self.w[name + "/bias"][rows]

    def norm(self, x, name):
        x = (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * self.w[name + "/gamma"] + self.w[name + "/beta"]

    def conv(self, x, name, stride):
        x = numpy.pad(x, ((0, 0), (1, 1)))
        out = [numpy.einsum("oik,ik->o", self.w[name + "/weight"], x[:, i:i + 3]) for i in range(0, x.shape[1] - 2, stride)]
        return gelu(numpy.stack(out, 1) + self.w[name + "/bias"][:, None])

    def attend(self, query, key, value, causal=False):
        q, k, v = (x.reshape(len(x), HEADS, -1).swapaxes(0, 1) for x in (query, key, value))
        scores = q @ k.swapaxes(1, 2) / math.sqrt(WIDTH // HEADS)
        if causal:
            scores = scores + numpy.triu(numpy.full(scores.shape[1:], -1e9), 1)
        return (softmax(scores) @ v).swapaxes(0, 1).reshape(len(query), WIDTH)

    def self_attention(self, x, name, causal):
        normed = self.norm(x, name + "/layer_norm")
        parts = numpy.split(self.linear(normed, name + "/linear_0"), 3, axis=1)
        return x + self.linear(self.attend(*parts, causal), name + "/linear_1")

    def feed_forward(self, x, name):
        inner = gelu(self.linear(self.norm(x, name + "/layer_norm"), name + "/linear_0"))
        return x + self.linear(inner, name + "/linear_1")

    def encode(self, mel):
        """Positions of the encoder [A, D]."""
        x = self.conv(self.conv(mel, "encoder/conv1", 1), "encoder/conv2", 2).T
        x = x + self.w["encoder/position_encodings/encodings"][:len(x)]
        for i in range(LAYERS):
            x = self.self_attention(x, f"encoder/layer_{i}/self_attention", causal=False)
            x = self.feed_forward(x, f"encoder/layer_{i}/ffn")
        return self.norm(x, "encoder/layer_norm")

    def logits(self, tokens, heard):
        """Of the last token [V]."""
        embeddings = self.w["decoder/embeddings/weight"]
        x = embeddings[tokens] + self.w["decoder/position_encodings/encodings"][:len(tokens)]
        for i in range(LAYERS):
            name = f"decoder/layer_{i}"
            x = self.self_attention(x, name + "/self_attention", causal=True)
            query = self.linear(self.norm(x, name + "/attention/layer_norm"), name + "/attention/linear_0")
            key, value = numpy.split(self.linear(heard, name + "/attention/linear_1"), 2, axis=1)
            x = x + self.linear(self.attend(query, key, value), name + "/attention/linear_2")
            x = self.feed_forward(x, name + "/ffn")
        return self.norm(x[-1], "decoder/layer_norm") @ embeddings.T


def distance(one, other):
    return numpy.linalg.norm(one - other) / numpy.linalg.norm(other)


class SmallWhisper(unittest.TestCase):
    """Has the files of a model, and what they become."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.target = pathlib.Path(folder.name, "source"), pathlib.Path(folder.name, "target")
        self.source.mkdir()
        self.target.mkdir()
        self.random = numpy.random.default_rng(7)
        self.weights = make_weights(self.random)
        self.write(model_bin(self.weights))
        self.mel = self.random.normal(0, 1, (MELS, 40)).astype(numpy.float32)

    def write(self, data, languages=LANGUAGES):
        (self.source / "model.bin").write_bytes(data)
        (self.source / "vocabulary.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
        (self.source / "config.json").write_text(json.dumps({"suppress_ids": [*SUPPRESSED, END], "lang_ids": languages}))

    def convert(self, adapter=None):
        convert_whisper.convert(self.source, self.target, adapter)
        self.encoder, self.decoder = self.open("encoder"), self.open("decoder")

    def open(self, part):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        return onnxruntime.InferenceSession(str(self.target / f"{part}.onnx"), options)

    def encode(self, mel):
        return self.encoder.run(None, {"mel": mel[None]})

    def decode(self, tokens, cross, past=None, offset=0):
        empty = numpy.zeros((LAYERS, 1, CONTEXT, WIDTH), numpy.float32)
        keys, values = past or (empty, empty)
        return self.decoder.run(None, {
            "tokens": numpy.array([tokens]), "in_n_layer_self_k_cache": keys, "in_n_layer_self_v_cache": values,
            "n_layer_cross_k": cross[0], "n_layer_cross_v": cross[1], "offset": numpy.array([offset])})

    def farthest(self, outputs, weights):
        """From what these weights say, of the keys and values."""
        reference = Reference(weights)
        heard = reference.encode(self.mel)
        rights = [numpy.split(reference.linear(heard, f"decoder/layer_{i}/attention/linear_1"), 2, axis=1)
                  for i in range(LAYERS)]
        return max(distance(one[0], right) for pair, both in zip(zip(*outputs), rights) for one, right in zip(pair, both))


class ConvertWhisper(SmallWhisper):
    def test_the_encoder_computes_what_the_weights_say(self):
        self.convert()
        self.assertLess(self.farthest(self.encode(self.mel), self.weights), 0.06)

    def test_an_adapter_changes_only_the_english_encoder(self):
        self.convert()
        before = (self.target / "encoder.onnx").read_bytes()
        tensors, changed = make_adapter(self.random, self.weights)
        adapter = self.source / "adapter.safetensors"
        adapter.write_bytes(safetensors(tensors, {"silence_frames": "60"}))
        self.convert(adapter)
        english = self.open("encoder_en")
        outputs = english.run(None, {"mel": self.mel[None]})
        self.assertLess(self.farthest(outputs, changed), 0.06)
        self.assertGreater(self.farthest(outputs, self.weights), 0.2)
        self.assertEqual((self.target / "encoder.onnx").read_bytes(), before)
        self.assertEqual(english.get_modelmeta().custom_metadata_map["silence_frames"], "60")
        self.assertNotIn("silence_frames", self.encoder.get_modelmeta().custom_metadata_map)

    def test_the_decoder_computes_what_the_weights_say(self):
        self.convert()
        reference = Reference(self.weights)
        heard, cross, tokens = reference.encode(self.mel), self.encode(self.mel), [END + 1, END + 2, 40, 41, 17]
        right = reference.logits(tokens, heard)
        text = [i for i in range(END + 1) if i not in SUPPRESSED]
        whole, keys, values = self.decode(tokens, cross)
        self.assertEqual((whole.shape, keys.shape), ((1, len(tokens), len(PIECES)), (LAYERS, 1, len(tokens), WIDTH)))
        self.assertLess(distance(whole[0, -1, text], right[text]), 0.06)
        past, offset = None, 0
        for piece in ([*tokens[:3]], tokens[3:4], tokens[4:]):
            last, *past = self.decode(piece, cross, past, offset)
            offset += len(piece)
        self.assertLess(distance(last[0, -1, text], right[text]), 0.06, "in pieces, with what was handed back")

    def test_a_token_is_the_same_whatever_it_comes_with(self):
        self.convert()
        cross, tokens = self.encode(self.mel), [END + 1, END + 2, 40, 41, 17, 9]
        whole, *_ = self.decode(tokens, cross)
        _, *past = self.decode(tokens[:2], cross)
        others, *_ = self.decode(tokens[2:], cross, past, offset=2)
        alone, *_ = self.decode(tokens[2:3], cross, past, offset=2)
        numpy.testing.assert_allclose(others[0], whole[0, 2:], atol=1e-4)
        numpy.testing.assert_allclose(alone[0, 0], whole[0, 2], atol=1e-4)

    def test_what_must_not_be_said(self):
        self.convert()
        cross = self.encode(self.mel)
        for tokens, offset, allowed in (([END + 1], 0, LANGUAGES), ([END + 1, END + 2], 0, []), ([40], 2, [])):
            logits = self.decode(tokens, cross, offset=offset)[0][0, -1]
            said = {i for i in range(len(PIECES)) if logits[i] > -1e8}
            self.assertEqual(said, {*range(END + 1), *allowed} - {*SUPPRESSED})

    def test_zeros_at_the_end_are_silence(self):
        self.convert()
        padded, silent = (numpy.pad(self.mel, ((0, 0), (0, 20)), constant_values=value)
                          for value in (0, self.mel.max() - 2))
        for one, other in zip(self.encode(padded), self.encode(silent)):
            numpy.testing.assert_array_equal(one, other)

    def test_what_sherpa_onnx_reads(self):
        self.convert()
        read = self.encoder.get_modelmeta().custom_metadata_map
        self.assertEqual((read["n_vocab"], read["n_text_layer"], read["n_text_state"], read["n_mels"]),
                         (str(len(PIECES)), str(LAYERS), str(WIDTH), str(MELS)))
        self.assertEqual(read["sot_sequence"], f"{END + 1},{END + 2},{PIECES.index('<|transcribe|>')}")
        self.assertEqual((read["all_language_codes"], read["is_multilingual"]), ("en,de", "1"))
        lines = (self.target / "tokens.txt").read_text().splitlines()
        self.assertEqual(len(lines), END)
        self.assertEqual(lines[END - 1], f"{base64.b64encode(b' the').decode()} {END - 1}")
        self.write(model_bin(self.weights), languages=[i + 1 for i in LANGUAGES])
        self.convert()
        read = self.encoder.get_modelmeta().custom_metadata_map
        self.assertEqual((read["sot_sequence"], read["all_language_codes"], read["is_multilingual"]),
                         (str(END + 1), "", "0"))

    def test_the_same_bytes_again_and_from_parts(self):
        self.convert()
        first = [path.read_bytes() for path in sorted(self.target.iterdir())]
        data = (self.source / "model.bin").read_bytes()
        (self.source / "model.bin").unlink()
        (self.source / "model.bin.part1").write_bytes(data[:1000])
        (self.source / "model.bin.part2").write_bytes(data[1000:])
        self.convert()
        self.assertEqual(first, [path.read_bytes() for path in sorted(self.target.iterdir())])

    def test_weights_leave_room_for_sums_in_16_bits(self):
        matrix = self.random.normal(0, 1, (5, 7)).astype(numpy.float32)
        matrix[2] = 0
        codes, scales = quantize(matrix)
        self.assertLessEqual(2 * 255 * int(numpy.abs(codes).max()), 32767)
        errors = numpy.abs(codes * scales[:, None] - matrix).max(axis=1)
        self.assertTrue((errors <= scales * 0.501).all())
        self.assertFalse(codes[2].any())

    def test_other_files_are_refused(self):
        data = model_bin(self.weights)
        for wrong, what in ((data[:-40], "ends too early"), (data[:9], "ends too early"), (b"", "ends too early"),
                            (model_bin(self.weights, version=5), "version 5")):
            self.write(wrong)
            with self.assertRaisesRegex(ValueError, what):
                self.convert()
        self.write(data)
        (self.source / "vocabulary.txt").write_text("a\nb\n")
        with self.assertRaises((ValueError, KeyError)):
            self.convert()


if __name__ == "__main__":
    unittest.main()
