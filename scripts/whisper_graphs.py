"""Whisper's encoder and decoder as sherpa-onnx runs them: ONNX graphs with matrices in 8 bits. For convert_whisper.py,
whose Whisper is the `model` here.

The graphs do what sherpa-onnx does not do itself:
* It fills the end of the sound with zeros. Whisper knows silence as the lowest value of its features, 2 below the
  loudest one (8 decades, of which 4 are one unit); with zeros it invents words, or leaves some out.
* It forbids no tokens. Whisper must not write marks for sounds that are not speech, or special tokens except the end.
  A language is allowed where it is asked for: after a prompt of one token.
* It hands the keys and values back as it got them.

Shapes: T frames of sound, A = T/2 positions of the encoder, N new tokens, P past ones, D width, L layers of the
decoder, V tokens.
"""
import numpy

from onnx_file import CONTRIB, FLOAT, INT64, UINT8, Graph, value_info

FORBIDDEN = numpy.float32(-1e9)
# The largest code of a weight. CPUs without VNNI add two products of codes in 16 bits, where 2 * 255 * 64 just fits;
# codes up to 127 would saturate there, which costs more than the lost bit.
LIMIT = 64


def quantize(matrix):
    """[rows, columns] as int8 with a scale for each row: matrix ~ codes * scales."""
    largest = numpy.abs(matrix).max(axis=1)
    scales = numpy.where(largest > 0, largest / numpy.float32(LIMIT), numpy.float32(1))
    return numpy.rint(matrix / scales[:, None]).astype(numpy.int8), scales


class Layers(Graph):
    """The layers that encoder and decoder have in common, on values [1, positions, D]."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.rounded = {}

    def floats(self, name, array):
        return self.constant(name, array.astype(numpy.float32))

    def weight(self, name):
        return self.floats(name, self.model.get(name))

    def matmul(self, x, name, matrix):
        """x times the transpose of `matrix` [out, in]: x is rounded to 8 bits on the fly, and products are summed as
        integers. ONNX Runtime fuses this into one operator."""
        codes, scales = quantize(matrix)
        return self.matmul_codes(x, self.constant(name + "/codes", codes.T), self.constant(name + "/scales", scales))

    def matmul_codes(self, x, codes, scales):
        if x not in self.rounded:
            self.rounded[x] = self.op("DynamicQuantizeLinear", x, outputs=3)
        rounded, scale, zero = self.rounded[x]
        sums = self.op("Cast", self.op("MatMulInteger", rounded, codes, zero), to=FLOAT)
        return self.op("Mul", sums, self.op("Mul", scale, scales))

    def linear(self, x, name, rows=slice(None), factor=1.0):
        """The layer `name`, or some rows of its matrix, times `factor`."""
        part = f"{name}/{rows.start or 0}"
        y = self.matmul(x, part, self.model.get(name + "/weight")[rows] * numpy.float32(factor))
        bias = self.model.get(name + "/bias")[rows] * numpy.float32(factor)
        return self.op("Add", y, self.floats(part + "/bias", bias)) if bias.any() else y  # keys have none

    def norm(self, x, name):
        return self.op("LayerNormalization", x, self.weight(name + "/gamma"), self.weight(name + "/beta"),
                       axis=-1, epsilon=1e-5)

    def query_key_value(self, x, name):
        """The three parts of a matrix [3 D, D]; queries are scaled for the softmax."""
        d = self.model.width
        return [self.linear(x, name, slice(i * d, (i + 1) * d), factor)
                for i, factor in enumerate((self.query_scale(), 1.0, 1.0))]

    def query_scale(self):
        return (self.model.width // self.model.heads) ** -0.5

    def attend_to_all(self, query, key, value):
        return self.op("MultiHeadAttention", query, key, value, domain=CONTRIB, num_heads=self.model.heads, scale=1.0)

    def feed_forward(self, x, name):
        inner = self.op("Gelu", self.linear(self.norm(x, name + "/layer_norm"), name + "/linear_0"))
        return self.linear(inner, name + "/linear_1")

    def add(self, x, y):
        return self.op("Add", x, y)

    def layer(self, values, index):
        """values [L, ..] of one layer."""
        return self.op("Gather", values, self.number(index))

    def stack(self, values, name):
        """One value of each layer as [L, 1, positions, D], an output of the graph."""
        self.op("Concat", *(self.op("Unsqueeze", value, self.ints(0)) for value in values), name=name, axis=0)


def save_encoder(model, path):
    """mel [1, mels, T] -> the keys and values of the decoder's attention to the sound, [L, 1, A, D] each."""
    g = Layers(model)
    silence = g.op("Sub", g.op("ReduceMax", "mel", keepdims=0), g.number(2.0))
    x = g.op("Where", g.op("Equal", "mel", g.number(0.0)), silence, "mel")
    for name, stride in (("encoder/conv1", 1), ("encoder/conv2", 2)):
        x = g.op("Gelu", g.op("Conv", x, g.weight(name + "/weight"), g.weight(name + "/bias"),
                              kernel_shape=[3], pads=[1, 1], strides=[stride]))
    x = g.op("Transpose", x, perm=[0, 2, 1])
    length = g.op("Shape", x, start=1, end=2)
    places = g.op("Slice", g.weight("encoder/position_encodings/encodings"), g.ints(0), length, g.ints(0))
    x = g.add(x, places)
    for i in range(model.encoder_layers):
        name = f"encoder/layer_{i}"
        parts = g.query_key_value(g.norm(x, name + "/self_attention/layer_norm"), name + "/self_attention/linear_0")
        x = g.add(x, g.linear(g.attend_to_all(*parts), name + "/self_attention/linear_1"))
        x = g.add(x, g.feed_forward(x, name + "/ffn"))
    x = g.norm(x, "encoder/layer_norm")
    names = [f"decoder/layer_{i}/attention/linear_1" for i in range(model.decoder_layers)]
    g.stack([g.linear(x, name, slice(0, model.width)) for name in names], "n_layer_cross_k")
    g.stack([g.linear(x, name, slice(model.width, 2 * model.width)) for name in names], "n_layer_cross_v")
    shape = [model.decoder_layers, 1, "A", model.width]
    g.save(path, [value_info("mel", FLOAT, [1, model.num_mels, "T"])],
           [value_info("n_layer_cross_k", FLOAT, shape), value_info("n_layer_cross_v", FLOAT, shape)], model.metadata())


class Decoder(Layers):
    """tokens [1, N] at `offset` [1], keys and values [L, 1, .., D] of earlier tokens and of the sound -> the logits
    [1, N, V], keys and values [L, 1, P + N, D]. A token's logits do not depend on the other tokens of the pass: each
    token is rounded by itself."""

    def __init__(self, model):
        super().__init__(model)
        self.end = self.op("Add", "offset", self.op("Shape", "tokens", start=1, end=2))
        self.zero = self.ints(0)
        # The embeddings, which are the matrix of the logits as well: [D, V], a scale for each token.
        codes, scales = quantize(model.get("decoder/embeddings/weight"))
        self.codes = self.constant("embeddings/codes", codes.T)
        self.scales = self.constant("embeddings/scales", scales)

    def embed(self):
        codes = self.op("Cast", self.op("Gather", self.codes, "tokens", axis=1), to=FLOAT)  # [D, 1, N]
        scales = self.op("Unsqueeze", self.op("Gather", self.scales, "tokens"), self.ints(2))
        words = self.op("Mul", self.op("Transpose", codes, perm=[1, 2, 0]), scales)
        places = self.weight("decoder/position_encodings/encodings")
        return self.add(words, self.op("Slice", places, "offset", self.end, self.zero))

    def round_each(self, x):
        """Each of x [1, N, ..] in 8 bits around 128: codes [1, N, ..], scales [1, N, 1]."""
        largest = self.op("ReduceMax", self.op("Abs", x), self.ints(-1))
        scales = self.op("Div", self.op("Max", largest, self.number(1e-9)), self.number(127.0))
        codes = self.op("Add", self.op("Round", self.op("Div", x, scales)), self.number(128.0))
        return self.op("Cast", codes, to=UINT8), scales

    def matmul_codes(self, x, codes, scales):
        if x not in self.rounded:
            self.rounded[x] = self.round_each(x)
        rounded, sizes = self.rounded[x]
        middle = self.constant("middle", numpy.array(128, numpy.uint8))
        sums = self.op("Cast", self.op("MatMulInteger", rounded, codes, middle), to=FLOAT)
        # In this order: ONNX Runtime would turn the other one into an operator that has one size for all tokens.
        return self.op("Mul", self.op("Mul", sums, scales), sizes)

    def mask(self):
        """[N, P + N]: what is added to the scores, so that no token sees a later one."""
        offset, end = (self.op("Squeeze", x, self.zero) for x in ("offset", self.end))
        keys = self.op("Range", self.number(0), end, self.number(1))
        queries = self.op("Unsqueeze", self.op("Range", offset, end, self.number(1)), self.ints(1))
        return self.op("Where", self.op("Greater", keys, queries), self.number(float(FORBIDDEN)), self.number(0.0))

    def heads(self, x, order):
        split = self.op("Reshape", x, self.ints(0, 0, self.model.heads, self.model.width // self.model.heads))
        return self.op("Transpose", split, perm=order)

    def attend_to_past(self, query, key, value, mask):
        scores = self.op("MatMul", self.heads(query, [0, 2, 1, 3]), self.heads(key, [0, 2, 3, 1]))
        shares = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        mixed = self.op("MatMul", shares, self.heads(value, [0, 2, 1, 3]))
        return self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), self.ints(0, 0, self.model.width))

    def with_past(self, cache, index, new):
        past = self.op("Slice", self.layer(cache, index), self.zero, "offset", self.ints(1))
        return self.op("Concat", past, new, axis=1)

    def logits(self, x):
        never = numpy.zeros(self.model.num_tokens, numpy.float32)
        never[self.model.suppressed] = FORBIDDEN
        penalty = self.constant("forbidden", never)
        if self.model.languages:
            asked = never.copy()
            asked[self.model.languages] = 0
            is_first = self.op("Equal", self.end, self.ints(1))
            penalty = self.op("Where", is_first, self.constant("forbidden_at_first", asked), penalty)
        normed = self.norm(x, "decoder/layer_norm")
        self.op("Add", self.matmul_codes(normed, self.codes, self.scales), penalty, name="logits")

    def build(self):
        x, mask, keys, values = self.embed(), self.mask(), [], []
        for i in range(self.model.decoder_layers):
            name = f"decoder/layer_{i}"
            normed = self.norm(x, name + "/self_attention/layer_norm")
            query, key, value = self.query_key_value(normed, name + "/self_attention/linear_0")
            keys.append(self.with_past("in_n_layer_self_k_cache", i, key))
            values.append(self.with_past("in_n_layer_self_v_cache", i, value))
            heard = self.attend_to_past(query, keys[-1], values[-1], mask)
            x = self.add(x, self.linear(heard, name + "/self_attention/linear_1"))
            query = self.linear(self.norm(x, name + "/attention/layer_norm"), name + "/attention/linear_0",
                                factor=self.query_scale())
            heard = self.attend_to_all(query, self.layer("n_layer_cross_k", i), self.layer("n_layer_cross_v", i))
            x = self.add(x, self.linear(heard, name + "/attention/linear_2"))
            x = self.add(x, self.feed_forward(x, name + "/ffn"))
        self.logits(x)
        self.stack(keys, "out_n_layer_self_k_cache")
        self.stack(values, "out_n_layer_self_v_cache")


def save_decoder(model, path):
    g = Decoder(model)
    g.build()

    def cache(name, length):
        return value_info(name, FLOAT, [model.decoder_layers, 1, length, model.width])

    inputs = [value_info("tokens", INT64, [1, "N"]), cache("in_n_layer_self_k_cache", "C"),
              cache("in_n_layer_self_v_cache", "C"), cache("n_layer_cross_k", "A"), cache("n_layer_cross_v", "A"),
              value_info("offset", INT64, [1])]
    outputs = [value_info("logits", FLOAT, [1, "N", model.num_tokens]), cache("out_n_layer_self_k_cache", "E"),
               cache("out_n_layer_self_v_cache", "E")]
    g.save(path, inputs, outputs, {})
