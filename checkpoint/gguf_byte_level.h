#pragma once

#include "checkpoint/gguf_vocabulary.h"
#include "tensors/gguf_metadata.h"
#include "text/tokenize/tokenizer_json.h"

namespace predgen {

/// The tokenizer.json that a file with tokenizer.ggml.model "gpt2" was converted from: a byte-level
/// BPE. tokenizer.ggml.pre names the family, whose rules for splitting words are not in the file.
TokenizerJson read_gguf_byte_level(const GgufMetadata& metadata, const GgufVocabulary& vocabulary);

}  // namespace predgen
