#pragma once

#include <cstdint>

#include "tensors/gguf_metadata.h"
#include "tensors/gguf_writer.h"
#include "text/token_ids.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {

/// Adds the tokenizer, the chat template and the special tokens ("tokenizer.ggml.*") of a model
/// with `vocab_size` embedding rows, for read_gguf_tokenizer() to read. UserError for a tokenizer
/// that llama.cpp has no name for.
void add_gguf_tokenizer(const TokenizerFiles& files, int64_t vocab_size, GgufContents& contents);

/// Whether the file says anything about a tokenizer.
bool has_gguf_tokenizer(const GgufMetadata& metadata);

/// The tokenizer, chat template and stop tokens of a GGUF file ("tokenizer.ggml.*"), as a Hugging
/// Face folder would give them: with the ids of the tokenizer that the file was converted from.
/// UserError naming the file and the key that is missing, damaged or of an unknown kind.
TokenizerFiles read_gguf_tokenizer(const GgufMetadata& metadata);

/// The tokens that end an answer: those the file names ("eos", "eot", "eom"), then control
/// tokens whose text ends answers in some family, as in llama.cpp. None if there is no
/// tokenizer.
TokenIds gguf_stop_tokens(const GgufMetadata& metadata);

}  // namespace predgen
