#pragma once

#include "tensors/gguf_metadata.h"
#include "text/token_ids.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {

/// Whether the file says anything about a tokenizer.
bool has_gguf_tokenizer(const GgufMetadata& metadata);

/// The tokenizer, chat template and stop tokens of a GGUF file ("tokenizer.ggml.*"), in the terms
/// of a Hugging Face folder: with the ids of the tokenizer that the file was converted from.
/// UserError naming the file and the key that is missing, damaged or of a kind that is not known.
TokenizerFiles read_gguf_tokenizer(const GgufMetadata& metadata);

/// What ends an answer: the tokens that the file names so ("eos", "eot", "eom"), then control
/// tokens of a text that ends answers in some family, as in llama.cpp. None if there is no
/// tokenizer.
TokenIds gguf_stop_tokens(const GgufMetadata& metadata);

}  // namespace predgen
