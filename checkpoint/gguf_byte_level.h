#pragma once

#include "checkpoint/gguf_vocabulary.h"
#include "tensors/gguf_metadata.h"
#include "text/tokenize/tokenizer_json.h"

namespace predgen {

/// The tokenizer.json that a file with tokenizer.ggml.model "gpt2" was converted from: a byte-level
/// BPE. tokenizer.ggml.pre names the family, whose rules for splitting words are not in the file.
TokenizerJson read_gguf_byte_level(const GgufMetadata& metadata, const GgufVocabulary& vocabulary);

/// The same of "gemma4": a BPE of whole texts whose spaces are U+2581, with tokens of bytes for
/// characters that have none.
TokenizerJson read_gguf_gemma4(const GgufMetadata& metadata, const GgufVocabulary& vocabulary);
/// Whether these are the fields of such a tokenizer.json.
bool is_gguf_gemma4(const Json& fields);

}  // namespace predgen
