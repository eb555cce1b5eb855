"""Writes the seeds that are made by hand: one folder for each target of targets.cpp. Files named
bad_* must be refused. What fuzzing finds is added beside them under a name that says what it was.

usage: make_seeds.py FOLDER      (tests/fuzz/seeds)
"""
import json
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])


def write(target, name, contents):
    if isinstance(contents, dict | list):
        contents = json.dumps(contents, ensure_ascii=False)
    if isinstance(contents, str):
        contents = contents.encode()
    (folder / target).mkdir(parents=True, exist_ok=True)
    (folder / target / name).write_bytes(contents)


def container(header, data=b""):
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# safetensors
every_type = {"__metadata__": {"format": "pt"}}
offset = 0
for dtype, size in [("I64", 8), ("F64", 8), ("F32", 4), ("I32", 4), ("BF16", 2), ("F16", 2), ("I16", 2), ("I8", 1),
                    ("U8", 1), ("BOOL", 1)]:
    every_type[dtype.lower()] = tensor(dtype, [2, 1], offset, offset + 2 * size)
    offset += 2 * size
write("safetensors", "every_type", container(every_type, bytes(offset)))
write("safetensors", "scalar_and_empty", container({"a": tensor("F32", [], 0, 4), "b": tensor("F32", [0, 3], 4, 4)}, bytes(4)))
write("safetensors", "nothing", container({}))
write("safetensors", "bad_hole", container({"a": tensor("F32", [1], 4, 8)}, bytes(8)))
write("safetensors", "bad_overflow", container({"a": tensor("F64", [2**61, 2**61], 0, 8)}, bytes(8)))
write("safetensors", "bad_length", struct.pack("<Q", 2**63) + b"{}")
write("safetensors", "bad_twice", container(b'{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},'
                                            b'"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}', b"x"))
write("safetensors", "bad_deep", container(b'{"a":' + b"[" * 4000 + b"]" * 4000 + b"}"))
write("safetensors", "bad_empty_and_huge", container({"a": tensor("F32", [2**62, 0, 2**62], 0, 0)}))


def packed(parts):
    """Of parts with name, type, shape and bytes."""
    header, data = {}, b""
    for name, dtype, sizes, values in parts:
        header[name] = tensor(dtype, sizes, len(data), len(data) + len(values))
        data += values
    return container(header, data)


def nf4(state, more=(), absmax=("F32", bytes(range(4)) * 4)):
    text = json.dumps({"quant_type": "nf4", "blocksize": 16, "shape": [2, 32], **state}).encode()
    return packed([("w", "U8", [32, 1], bytes(range(32))), ("w.absmax", absmax[0], [4], absmax[1]),
                   ("w.quant_map", "F32", [16], bytes(64)),
                   ("w.quant_state.bitsandbytes__nf4", "U8", [len(text)], text), *more])


write("safetensors", "nf4", nf4({}))
write("safetensors", "nf4_nested", nf4({"nested_blocksize": 4, "nested_offset": 0.5},
                                       [("w.nested_absmax", "F32", [1], bytes(4)),
                                        ("w.nested_quant_map", "F32", [256], bytes(1024))], ("U8", bytes(range(4)))))
write("safetensors", "bad_nf4_block", nf4({"blocksize": 2**62}))
write("safetensors", "bad_nf4_shape", nf4({"shape": [2**62, 32]}))
write("safetensors", "mxfp4", packed([("w_blocks", "U8", [2, 1, 16], bytes(range(32))), ("w_scales", "U8", [2, 1], b"\x7f\xff")]))
write("safetensors", "bad_mxfp4", packed([("w_blocks", "U8", [2, 1, 16], bytes(32)), ("w_scales", "U8", [1, 2], bytes(2))]))

# model.safetensors.index.json, beside a.safetensors (x, y) and b.safetensors (z)
whole = {"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"}
write("safetensors_index", "two_shards", {"metadata": {"total_size": 15}, "weight_map": whole})
write("safetensors_index", "bad_elsewhere", {"weight_map": whole | {"z": "../b.safetensors"}})
write("safetensors_index", "bad_unlisted", {"weight_map": {"x": "a.safetensors"}})
write("safetensors_index", "bad_no_map", {"weight_map": ["a.safetensors"]})


# GGUF
def gguf_text(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_list(kind, values):
    return struct.pack("<IQ", kind, len(values)) + b"".join(values)


def gguf(keys=(), tensors=(), data=b"", version=3, counts=None):
    """Keys: (name, type, value); tensors: (name, sizes, innermost first, type, offset)."""
    num_tensors, num_keys = counts or (len(tensors), len(keys))
    head = b"GGUF" + struct.pack("<IQQ", version, num_tensors, num_keys)
    for name, kind, value in keys:
        head += gguf_text(name) + struct.pack("<I", kind) + value
    for name, sizes, kind, place in tensors:
        head += gguf_text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, place)
    return head + bytes(-len(head) % 32) + data


numbers = [(0, "B", 255), (1, "b", -1), (2, "H", 3), (3, "h", -3), (4, "I", 32), (5, "i", -32), (6, "f", 0.5), (7, "?", True),
           (10, "Q", 2**64 - 1), (11, "q", -1), (12, "d", 1e300)]
every_value = [(f"k{kind}", kind, struct.pack("<" + letter, value)) for kind, letter, value in numbers]
every_value += [(f"l{kind}", 9, gguf_list(kind, [struct.pack("<" + letter, value)] * 3)) for kind, letter, value in numbers]
every_value += [("general.architecture", 8, gguf_text("llama")),
                ("tokenizer.ggml.tokens", 9, gguf_list(8, [gguf_text("<s>"), gguf_text(""), gguf_text("hé")]))]
every_block, offset = [], 0
for name, kind, values, size in [("F32", 0, 1, 4), ("F16", 1, 1, 2), ("BF16", 30, 1, 2), ("Q4_0", 2, 32, 18), ("Q4_1", 3, 32, 20),
                                 ("Q5_0", 6, 32, 22), ("Q5_1", 7, 32, 24), ("Q8_0", 8, 32, 34), ("Q2_K", 10, 256, 84),
                                 ("Q3_K", 11, 256, 110), ("Q4_K", 12, 256, 144), ("Q5_K", 13, 256, 176), ("Q6_K", 14, 256, 210),
                                 ("IQ4_NL", 20, 32, 18), ("IQ4_XS", 23, 256, 136), ("MXFP4", 39, 32, 17)]:
    every_block.append((name, [values, 2], kind, offset))
    offset += (2 * size + 31) // 32 * 32
blocks = bytes(place * 37 % 251 for place in range(offset))
one = ("a", [8], 0, 0)
write("gguf", "every_value", gguf(every_value))
write("gguf", "every_type", gguf(tensors=every_block, data=blocks))
write("gguf", "version_2", gguf(tensors=[one], data=bytes(32), version=2))
write("gguf", "packed_vector_and_cube", gguf(tensors=[("a", [64], 8, 0), ("b", [32, 1, 2, 1], 8, 96)], data=bytes(192)))
write("gguf", "nothing", gguf())
write("gguf", "bad_big_endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0))
write("gguf", "bad_version", gguf(version=1))
write("gguf", "bad_counts", gguf(counts=(2**63, 2**63)))
write("gguf", "bad_list_length", gguf([("a", 9, struct.pack("<IQ", 8, 2**60))]))
write("gguf", "bad_list_of_lists", gguf([("a", 9, struct.pack("<IQ", 9, 1) + gguf_list(0, [b"x"]))]))
write("gguf", "bad_twice", gguf([("a", 0, b"1"), ("a", 0, b"1")]))
write("gguf", "bad_alignment", gguf([("general.alignment", 4, struct.pack("<I", 0))], [one], bytes(32)))
write("gguf", "bad_large_alignment", gguf([("general.alignment", 10, struct.pack("<Q", 2**62))], [one], bytes(32)))
write("gguf", "bad_overflow", gguf(tensors=[("a", [2**32, 2**31], 0, 0)], data=bytes(32)))
write("gguf", "bad_offset", gguf(tensors=[("a", [8], 0, 2**64 - 32)], data=bytes(32)))
write("gguf", "bad_overlap", gguf(tensors=[one, ("b", [8], 0, 0)], data=bytes(32)))
write("gguf", "bad_type", gguf(tensors=[("a", [256], 16, 0)], data=bytes(96)))
write("gguf", "bad_truncated", gguf(tensors=[one], data=bytes(31)))
write("gguf", "bad_part", gguf([("split.count", 2, struct.pack("<H", 3)), ("split.no", 2, bytes(2))]))

# tokenizer.json
pieces = {"type": "BPE", "unk_token": "?", "fuse_unk": True, "byte_fallback": False,
          "merges": [["h", "i"], "▁ hi"], "vocab": {"?": 0, "▁": 1, "h": 2, "i": 3, "hi": 4, "▁hi": 5, "1": 6}}
spaces = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                                           {"type": "ByteFallback"}, {"type": "Fuse"},
                                           {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
added = [{"id": 7, "content": "<s>", "special": True}, {"id": 8, "content": "</s>", "lstrip": True, "rstrip": True},
         {"id": 9, "content": "hé", "normalized": True, "single_word": True}]
metaspace = {"added_tokens": added, "normalizer": None, "decoder": spaces, "model": pieces,
             "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
             "post_processor": {"type": "TemplateProcessing", "single": [
                 {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                 "special_tokens": {"<s>": {"id": "<s>", "ids": [7], "tokens": ["<s>"]}}}}
prepend = metaspace | {"pre_tokenizer": None, "post_processor": {"type": "Sequence", "processors": [
    {"type": "ByteLevel"}, {"type": "RobertaProcessing", "cls": ["<s>", 7], "sep": ["</s>", 8]}]}, "normalizer": {
    "type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "NFKC"}, {"type": "NFD"},
                                        {"type": "Replace", "pattern": {"Regex": " +"}, "content": "▁"}]}}
printable = [byte for byte in range(256) if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174]
letters = {byte: chr(byte) for byte in printable}
letters |= {byte: chr(256 + place) for place, byte in enumerate(b for b in range(256) if b not in letters)}
byte_level = {"added_tokens": [{"id": 258, "content": "<|im_end|>", "special": True}],
              "normalizer": {"type": "NFC"}, "decoder": {"type": "ByteLevel"},
              "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                  {"type": "Digits", "individual_digits": True},
                  {"type": "Split", "pattern": {"Regex": "(?i:'s|'t)|\\p{N}{1,3}| ?[^\\s\\p{L}]+|\\p{L}+|\\s+(?!\\S)|\\s+"},
                   "behavior": "Isolated", "invert": False},
                  {"type": "Split", "pattern": {"String": "a"}, "behavior": "MergedWithNext", "invert": True},
                  {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}]},
              "model": {"type": "BPE", "ignore_merges": True, "merges": [["h", "i"], ["Ġ", "hi"]],
                        "vocab": {letters[byte]: byte for byte in range(256)} | {"hi": 256, "Ġhi": 257}}}
write("tokenizer_json", "metaspace", metaspace)
write("tokenizer_json", "prepend", prepend)
write("tokenizer_json", "byte_level", byte_level)


def change(base, **fields):
    return json.loads(json.dumps(base)) | fields


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}


write("tokenizer_json", "bad_huge_id", change(metaspace, added_tokens=[{"id": 2**31 - 1, "content": "<s>"}]))
write("tokenizer_json", "bad_deep_normalizer", json.dumps(metaspace | {"normalizer": None}).replace(
    '"normalizer": null', '"normalizer": ' + '{"type":"Sequence","normalizers":[' * 2000 + "]}" * 2000))
write("tokenizer_json", "bad_costly_pattern", change(metaspace, pre_tokenizer=split("(((a+)+)+)+[^a ]")))
write("tokenizer_json", "bad_half_characters", change(metaspace, pre_tokenizer=split("\\C")))
write("tokenizer_json", "bad_pattern", change(metaspace, pre_tokenizer=split("(" * 300)))
write("tokenizer_json", "bad_merge", change(metaspace, model=pieces | {"merges": [["h", "x"]]}))
write("tokenizer_json", "bad_model", {"model": {"type": "Unigram", "vocab": []}})

# tokenizer_config.json, beside a small tokenizer.json
chat = "{% for m in messages %}{{ '<s>' + m['role'] + ': ' + m['content'] + '</s>' }}{% endfor %}{% if add_generation_prompt %}{{ '<s>assistant: ' }}{% endif %}"
write("tokenizer_config", "chat", {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": chat,
                                   "additional_special_tokens": ["▁hi"], "add_bos_token": True})
write("tokenizer_config", "named_template", {"chat_template": [{"name": "tool", "template": "x"}, {"name": "default", "template": chat}],
                                             "added_tokens_decoder": {"6": {"content": "<s>", "special": True}}})
write("tokenizer_config", "bad_id", {"added_tokens_decoder": {"six": {"content": "x"}}})
write("tokenizer_config", "bad_template", {"chat_template": "{% for %}"})
write("tokenizer_config", "bad_token", {"chat_template": chat, "eos_token": 7})

# tokenizer.model: protobuf by hand


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def part(number, contents):
    return varint(number << 3 | 2) + varint(len(contents)) + contents


def number(field, value):
    return varint(field << 3) + varint(value)


def sentencepiece(names, model_type=2, normalizer=b""):
    model = b""
    for place, (name, kind) in enumerate(names):
        model += part(1, part(1, name.encode()) + varint(2 << 3 | 5) + struct.pack("<f", -place) + number(3, kind))
    normalizer = part(1, b"identity") + number(3, 1) + number(4, 0) + number(5, 1) + normalizer
    return model + part(2, number(3, model_type) + number(35, len(names) > 256)) + part(3, normalizer)


names = [("<unk>", 2), ("<s>", 3), ("</s>", 3), ("▁hi", 1), ("hi", 1), ("▁", 1), ("h", 1), ("i", 1)]
every_byte = [(f"<0x{byte:02X}>", 6) for byte in range(256)]
write("tokenizer_model", "bpe", sentencepiece(names))
write("tokenizer_model", "bpe_bytes", sentencepiece(names[:3] + every_byte + names[3:]))
write("tokenizer_model", "unigram", sentencepiece(names, model_type=1))
write("tokenizer_model", "bad_truncated", sentencepiece(names)[:40])
write("tokenizer_model", "bad_text", "not a model")
write("tokenizer_model", "bad_charsmap", sentencepiece(names, normalizer=part(2, struct.pack("<I", 8) + b"\xff" * 9)))

# the tokenizer of a GGUF file
def gguf_value(value):
    """Its number of GGUF's for the kind, and its bytes."""
    if isinstance(value, bool):
        return 7, struct.pack("<B", value)
    if isinstance(value, int):
        return 5, struct.pack("<i", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, list):
        kind = gguf_value(value[0])[0]
        return 9, struct.pack("<IQ", kind, len(value)) + b"".join(gguf_value(each)[1] for each in value)
    text = value if isinstance(value, bytes) else value.encode()
    return 8, struct.pack("<Q", len(text)) + text


def gguf_tokenizer(**fields):
    pairs = {"tokenizer.chat_template": "{% for m in messages %}{{ m.role + m.content }}{% endfor %}"}
    pairs |= {f"tokenizer.ggml.{key}": value for key, value in fields.items()}
    file = b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs))
    for key, value in pairs.items():
        kind, contents = gguf_value(value)
        file += struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + contents
    return file + bytes(-len(file) % 32)


letters = [chr(byte) for byte in range(33, 127)] + ["Ġ", "Ċ", "hi", "Ġhi", "1", "12", "Ã", "©", "Ã©"]
words = {"model": "gpt2", "pre": "qwen2", "merges": ["h i", "Ġ hi", "Ã ©"], "eos_token_id": 1,
         "tokens": ["<s>", "</s>", "<t>"] + list(dict.fromkeys(letters)),
         "token_type": [3, 3, 4] + [1] * len(dict.fromkeys(letters))}
pieces = {"model": "llama", "pre": "default", "tokens": [piece for piece, _ in names] + ["  ", "<t>"],
          "token_type": [kind for _, kind in names] + [4, 4], "scores": [float(-score) for score in range(len(names) + 2)]}
for name, fields in [("words", words), ("llama3", words | {"pre": "llama-bpe", "bos_token_id": 0}),
                     ("pieces", pieces), ("no_space", pieces | {"add_space_prefix": False}),
                     ("piece_bytes", pieces | {key: pieces[key][:3] + extra + pieces[key][3:] for key, extra in (
                         ("tokens", [piece for piece, _ in every_byte]), ("token_type", [6] * 256), ("scores", [-9.0] * 256))}),
                     ("bad_model", words | {"model": "bert"}), ("bad_pre", words | {"pre": "falcon"}),
                     ("bad_merge", words | {"merges": ["h z"]}), ("bad_pair", words | {"merges": ["hi"]}),
                     ("bad_types", words | {"token_type": [1]}), ("bad_type", pieces | {"token_type": [9] * len(pieces["tokens"])}),
                     ("bad_id", words | {"eos_token_id": 2**31 - 1}), ("bad_utf8", words | {"tokens": [b"\xff"] + words["tokens"][1:]}),
                     ("twice", words | {"tokens": ["</s>"] + words["tokens"][1:]}),
                     ("bad_scores", pieces | {"scores": [float("nan")] * len(pieces["tokens"])}),
                     ("bad_unknown", pieces | {"unknown_token_id": 3})]:
    write("gguf_tokenizer", name, gguf_tokenizer(**fields))

# config.json
sizes = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "torch_dtype": "bfloat16"}
llama = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "rope_theta": 1e4} | sizes
write("config", "llama3", llama | {"attention_bias": True, "rope_scaling": {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32}})
write("config", "yarn", llama | {"rope_scaling": {"type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1}})
write("config", "linear", llama | {"rope_parameters": {"rope_type": "linear", "rope_theta": 5e5, "factor": 2.0}})
write("config", "qwen2", sizes | {"architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True, "sliding_window": 8,
                                  "max_window_layers": 2, "tie_word_embeddings": True})
write("config", "qwen3", sizes | {"model_type": "qwen3", "head_dim": 8, "layer_types": ["full_attention"] * 3})
write("config", "mistral", sizes | {"model_type": "mistral", "sliding_window": None, "head_dim": 6})
write("config", "olmo2", sizes | {"model_type": "olmo2"})
write("config", "olmo3", sizes | {"model_type": "olmo3", "sliding_window": 8, "rope_scaling": {
    "rope_type": "yarn", "factor": 4.0}})
write("config", "ministral3", sizes | {"model_type": "ministral3", "head_dim": 8, "rope_parameters": {
    "rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6, "mscale": 1.0, "mscale_all_dim": 1.0,
    "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 16}})
write("config", "smollm3", sizes | {"model_type": "smollm3", "no_rope_layers": [1, 0, 1]})
experts = {"num_experts_per_tok": 2, "moe_intermediate_size": 12}
write("config", "qwen3_moe", sizes | experts | {"model_type": "qwen3_moe", "head_dim": 8, "num_experts": 5, "norm_topk_prob": True,
                                                "decoder_sparse_step": 2, "mlp_only_layers": [1]})
write("config", "gpt_oss", sizes | {"model_type": "gpt_oss", "head_dim": 8, "num_local_experts": 5, "num_experts_per_tok": 2,
                                    "sliding_window": 8, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "truncate": False}})
qwen3_5 = sizes | {"model_type": "qwen3_5_text", "head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                   "linear_key_head_dim": 6, "linear_value_head_dim": 4, "rope_parameters": {"rope_theta": 1e6, "partial_rotary_factor": 0.25}}
write("config", "qwen3_5", qwen3_5 | {"full_attention_interval": 3, "attention_bias": True})
write("config", "qwen3_5_moe", qwen3_5 | experts | {
    "model_type": "qwen3_5_moe_text", "layer_types": ["linear_attention", "full_attention", "linear_attention"], "num_experts": 5,
    "shared_expert_intermediate_size": 10})
write("config", "lfm2", sizes | {"model_type": "lfm2", "full_attn_idxs": [1], "conv_L_cache": 4, "conv_bias": True, "norm_eps": 1e-5,
                                 "block_ffn_dim_multiplier": 1.5, "block_multiple_of": 16})
write("config", "lfm2_moe", sizes | experts | {"model_type": "lfm2_moe", "layer_types": ["conv", "full_attention", "conv"], "num_experts": 5,
                                               "num_dense_layers": 1, "use_expert_bias": True, "routed_scaling_factor": 2.0})
write("config", "bad_delta_heads", qwen3_5 | {"linear_num_value_heads": 5})
write("config", "bad_experts", sizes | experts | {"model_type": "qwen3_moe", "num_experts": 1})
write("config", "bad_no_attention", sizes | {"model_type": "lfm2", "full_attn_idxs": []})
gemma3 = sizes | {"model_type": "gemma3_text", "query_pre_attn_scalar": 8, "sliding_window": 8}
write("config", "gemma3", gemma3 | {"sliding_window_pattern": 2, "rope_local_base_freq": 1e4, "rope_theta": 1e6, "head_dim": 8,
                                    "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "final_logit_softcapping": 30.0})
write("config", "gemma3_version_5", gemma3 | {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
      "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default"}}})
write("config", "bad_many_layers", llama | {"num_hidden_layers": 2**30})
write("config", "bad_sizes", llama | {"vocab_size": 2**30, "hidden_size": 2**30, "intermediate_size": 2**30})
write("config", "bad_stretch", llama | {"rope_scaling": {"type": "linear", "factor": 1e300}})
write("config", "bad_head_dim", llama | {"head_dim": 2**30})
write("config", "bad_list", [])
write("config", "bad_deep", '{"architectures":' * 3000 + "1" + "}" * 3000)

# adapter_config.json
adapter = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "lora_dropout": 0.05, "target_modules": ["q_proj", "down_proj"],
           "bias": "none", "use_rslora": True}
write("adapter_config", "list", adapter | {"rank_pattern": {"^model.layers.0.*q_proj": 4}, "alpha_pattern": {"down_proj": 32}})
write("adapter_config", "regex", adapter | {"target_modules": r".*\.(q|k)_proj", "exclude_modules": ["layers.0.self_attn.q_proj"]})
write("adapter_config", "all_linear", adapter | {"target_modules": "all-linear"})
write("adapter_config", "layers", adapter | {"layers_to_transform": [0, 11], "layers_pattern": "layers"})
write("adapter_config", "bad_dora", adapter | {"use_dora": True})
write("adapter_config", "bad_rank", adapter | {"rank_pattern": {"q_proj": 1e300}})
write("adapter_config", "bad_costly_pattern", adapter | {"target_modules": "((([a-z0-9._]+)+)+)+[!?]"})
write("adapter_config", "bad_nested_pattern", adapter | {"target_modules": "(" * 20000 + ")" * 20000})

# chat templates
system = "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}"
write("chat_template", "chatml", "{% for m in messages %}{{ '<s>' + m.role + '\\n' + m.content + '</s>\\n' }}{% endfor %}"
                                 "{% if add_generation_prompt %}{{ '<s>assistant\\n' }}{% endif %}")
write("chat_template", "trimmed", system + "{%- for m in rest -%}{%- if loop.last or not m.content %}{{ m.content | trim }}</s>"
                                  "{%- else %} [{{ loop.index0 }}] {{ m['content'].strip() }}</s>{% endif -%}{%- endfor -%}")
write("chat_template", "functions", "{% macro turn(role, text='') %}<s>{{ role|upper }}: {{ text|default('none', true) }}</s>{% endmacro %}"
                                    "{% set ns = namespace(count=0) %}{% for m in messages %}{% set ns.count = ns.count + 1 %}"
                                    "{{ turn(m.role, text=m['content'][:20] ~ ns.count) }}{% endfor %}"
                                    "{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|join(', ')|tojson(indent=2) }}"
                                    "{{ strftime_now('%Y') if 3 is divisibleby 3 else 7 % 2 }}{{ range(3)|list|sort(reverse=true)|length }}")
write("chat_template", "bad_syntax", "{% for m in messages %}")
write("chat_template", "bad_raised", "{{ raise_exception('no roles here') }}")
write("chat_template", "bad_endless_macro", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}")
write("chat_template", "bad_huge_range", "{% for i in range(9999999999) %}x{% endfor %}")
write("chat_template", "bad_huge_repetition", "{{ 'x' * 99999999999 }}")
write("chat_template", "bad_doubling", "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}")
write("chat_template", "bad_nesting", "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}")
write("chat_template", "bad_long_sum", "{{ " + "1+" * 8000 + "1 }}")
write("chat_template", "bad_division", "{{ 1 is divisibleby(0) }}")
write("chat_template", "bad_quadratic_time", "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}")
write("chat_template", "bad_marks", "{% for m in messages %}{{ m.content | replace('2', 'x') }}{% endfor %}")
write("chat_template", "bad_shared", "{% set x = [1] %}" + "{% set x = [x, x] %}" * 60 + "{{ x }}")
write("chat_template", "cut_token", "{% for m in messages %}{{ m.content[:5] }}{% endfor %}")
write("chat_template", "bad_self", "{% set x = [1] %}{{ x.append(x) }}{{ x }}")

# HTTP, up to the client's last byte
post = b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\n"
write("http", "two_requests", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" + post + b"Content-Length: 4\r\n\r\nbody")
write("http", "chunks", post + b"Transfer-Encoding: chunked\r\n\r\n4;a=b\r\nbody\r\n0\r\nTrailer: x\r\n\r\n")
write("http", "expects", post + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
write("http", "events", b"GET /events?x HTTP/1.0\r\nConnection: keep-alive\r\n\r\nHEAD / HTTP/1.1\r\n\r\n")
write("http", "bad_header", b"GET / HTTP/1.1\r\nA: " + b"a" * 3000)
write("http", "bad_length", post + b"Content-Length: 99999999999999999999\r\n\r\n")
write("http", "bad_two_lengths", post + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody")
write("http", "bad_large", post + b"Content-Length: 3000\r\n\r\n" + b"a" * 3000)
write("http", "bad_tls", bytes([22, 3, 1, 0, 200, 1, 0, 0]))


# WebSockets, behind the handshake
def frame(payload, opcode=1, last=True, mask=b"mask", masked=True):
    length = len(payload)
    head = bytes([opcode | (128 if last else 0)])
    if length < 126:
        head += bytes([length | (128 if masked else 0)])
    else:
        head += bytes([126 | (128 if masked else 0)]) + struct.pack(">H", length)
    if not masked:
        return head + payload
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


write("web_socket", "messages", frame(b"{}") + frame(b"a" * 300) + frame(b"", 9) + frame(b"close") + frame(b"\x03\xe8", 8))
write("web_socket", "pieces", frame(b"he", last=False) + frame(b"ping", 9) + frame(b"llo", 0) + frame(b"\x00", 2))
write("web_socket", "bad_unmasked", frame(b"{}", masked=False))
write("web_socket", "bad_utf8", frame(b"\xff"))
write("web_socket", "bad_large", frame(b"a" * 3000))
write("web_socket", "bad_length", b"\x81\xff" + struct.pack(">Q", 2**63) + b"mask")
write("web_socket", "bad_go_on", frame(b"llo", 0))

# bodies of requests
messages = [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]}]
tool = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}
call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}
write("request", "chat", {"model": "m", "messages": messages, "max_tokens": 4, "stop": ["x", "yz"], "temperature": 0.5,
                          "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 3, "repetition_penalty": 1.1, "n": 1})
write("request", "stream", {"model": "m", "messages": messages, "stream": True, "stream_options": {"include_usage": True},
                            "logprobs": True, "top_logprobs": 3})
write("request", "tools", {"model": "m", "tools": [tool], "tool_choice": "auto", "parallel_tool_calls": False, "messages": messages + [
    {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "1"}]})
write("request", "ids", {"model": "m", "prompt": [1, 2, 3], "logprobs": 2, "max_tokens": 3})
write("request", "text", {"model": "m", "prompt": "hi", "stop": "o", "echo": False, "user": "u"})
write("request", "bad_id", {"model": "m", "prompt": [9999999]})
write("request", "beyond_context", {"model": "m", "messages": messages, "max_tokens": 300})
write("request", "bad_sampling", {"model": "m", "messages": messages, "temperature": 1e300})
write("request", "bad_deep", b'{"model": "m", "messages": ' + b"[" * 300 + b"]" * 300 + b"}")
write("request", "unknown_field", {"model": "m", "messages": messages, "colour": "red"})


def lines(*events):
    return "".join((event if isinstance(event, str) else json.dumps(event)) + "\n" for event in events)


# who asks, for which host
write("access", "address", "127.0.0.1:8080\nhttp://127.0.0.1:8080\n")
write("access", "localhost", "localhost:8080\n")
write("access", "key", "predgen.example\n\nBearer the only key\n")
write("access", "protocol", "[::1]:8080\n\n\nrealtime, openai-insecure-api-key.the only key\n")
write("access", "bad_name", "evil.example:8080\n")
write("access", "bad_origin", "127.0.0.1:8080\nhttp://evil.example\nBearer the only key\n")
write("access", "bad_name_of_both", "evil.example\nhttp://evil.example\nBearer the only ke\n")

# messages of speech services
write("transcripts", "plain", lines({"text": "hi", "time": 1.5}, {"text": "hi there", "revision": 2, "end_of_turn": True}))
write("transcripts", "flux", lines({"type": "Connected"}, *({"type": "TurnInfo", "event": event, "turn_index": 0, "transcript": "hi"}
                                   for event in ("StartOfTurn", "Update", "EagerEndOfTurn", "TurnResumed", "EndOfTurn"))))
result = {"type": "Results", "is_final": True, "speech_final": False, "channel": {"alternatives": [{"transcript": "hi"}]}}
write("transcripts", "deepgram", lines({"type": "Metadata"}, result, result | {"speech_final": True}, {"type": "UtteranceEnd"}))
write("transcripts", "assembly", lines({"type": "Begin"}, {"type": "Turn", "turn_order": 0, "end_of_turn": True, "transcript": "hi",
                                                           "turn_is_formatted": False}))
write("transcripts", "sherpa", lines({"text": "hi", "segment": 0, "is_final": False}, {"text": "you", "segment": 1, "is_final": True}, "Done!"))
write("transcripts", "rtvi", lines({"label": "rtvi-ai", "type": "user-started-speaking"}, {"label": "rtvi-ai", "type": "user-transcription",
      "data": {"text": "hi", "final": True}}, {"label": "rtvi-ai", "type": "user-stopped-speaking"}))
write("transcripts", "bad_text", lines({"text": 5}))
write("transcripts", "bad_segment", lines({"text": "", "segment": 1e300}))

# events of a realtime conversation (conversation_targets.cpp says what other lines mean)
said = {"type": "conversation.item.create", "item": {"id": "a", "type": "message", "role": "user",
                                                     "content": [{"type": "input_text", "text": "hello"}]}}
more = {"type": "session.update", "session": {"type": "realtime", "instructions": "Be brief.", "output_modalities": ["text"],
        "max_output_tokens": 9, "tools": [{"type": "function", "name": "f", "parameters": {}}], "tool_choice": "auto",
        "predgen": {"events": ["speculation", "sentence", "metrics"], "speculation": True}}}
sound = {"type": "input_audio_buffer.append", "audio": "AAAA" * 1700}
by_hand = {"type": "session.update", "session": {"audio": {"input": {"turn_detection": None}}}}
write("realtime", "message", lines(more, said, {"type": "response.create"}, "", {"type": "conversation.item.retrieve", "item_id": "a"},
                                   {"type": "conversation.item.delete", "item_id": "a"}))
write("realtime", "words", lines(more, {"type": "predgen.transcript.update", "text": "one", "revision": 1},
                                 {"type": "predgen.transcript.update", "text": "one two", "revision": 2, "end_of_turn": True}, ""))
write("realtime", "service", lines({"type": "TurnInfo", "event": "Update", "turn_index": 0, "transcript": "hi"},
                                   {"type": "TurnInfo", "event": "EndOfTurn", "turn_index": 0, "transcript": "hi you"}, "", "-"))
write("realtime", "voice", lines("~", said, {"type": "response.create", "response": {"metadata": {"a": "b"}}}, ""))
write("realtime", "sound", lines(sound, '>{"text": "hello", "segment": 0, "is_final": false}', sound,
                                 '>{"text": "hello", "segment": 0, "is_final": true}', *[sound] * 7, ""))
write("realtime", "commit", lines(by_hand, *[sound] * 2, {"type": "input_audio_buffer.commit"}, {"type": "response.create"},
                                  '>{"text": "hello", "segment": 0, "is_final": true}', ".", ""))
write("realtime", "function", lines(more, said, {"type": "conversation.item.create", "item": {
    "type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"}}, {"type": "conversation.item.create", "item": {
        "type": "function_call_output", "call_id": "c", "output": "1"}}, {"type": "response.create"}, ""))
write("realtime", "bad_lost", lines(sound, '>{"text": "hello", "segment": 0}', "!", sound, "+", "+", sound))
write("realtime", "bad_cancel", lines(said, {"type": "response.create"}, {"type": "response.cancel"}, "", {"type": "response.cancel"}))
write("realtime", "bad_truncate", lines(said, {"type": "conversation.item.truncate", "item_id": "a", "content_index": 0, "audio_end_ms": 1}))
write("realtime", "bad_late_sound", lines("-", sound, said, {"type": "response.create"}))
write("realtime", "bad_deep", lines("[" * 300))


# Wyoming, behind the length of what comes at a time
def wyoming(step, *events):
    text = bytes([step - 1])
    for kind, data, payload in events:
        data = json.dumps(data).encode()
        text += json.dumps({"type": kind, "data_length": len(data), "payload_length": len(payload)}).encode() + b"\n" + data + payload
    return text


here = {"context": {"conversation_id": "x"}}
write("wyoming", "turns", wyoming(7, ("describe", {}, b""), ("transcript", {"text": "hi"} | here, b""),
                                  ("transcript", {"text": "you"} | here, b"")))
write("wyoming", "pieces", wyoming(256, ("transcript-start", here, b""), ("transcript-chunk", {"text": "hi"}, b""),
                                   ("transcript-chunk", {"text": " you"}, b""), ("transcript-stop", {}, b"")))
write("wyoming", "voice", wyoming(99, ("synthesize", {"text": "One. Two.", "voice": {"name": "otto"}}, b""), ("synthesize-start", {}, b""),
                                  ("synthesize-chunk", {"text": "Three."}, b""), ("synthesize-stop", {}, b""), ("ping", {"text": "x"}, b"")))
write("wyoming", "bad_length", b"\xff" + json.dumps({"type": "x", "data_length": 99999}).encode() + b"\n")
write("wyoming", "bad_line", b"\xff" + b"a" * 2000)
write("wyoming", "bad_sound", wyoming(7, ("audio-chunk", {"rate": 1}, b"sound")))
write("wyoming", "bad_order", wyoming(256, ("transcript-chunk", {"text": "hi"}, b"")))
