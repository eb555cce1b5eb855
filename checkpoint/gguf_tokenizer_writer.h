#pragma once

#include <cstdint>

#include "tensors/gguf_writer.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {

/// Adds the tokenizer, the chat template and the special tokens ("tokenizer.ggml.*") of a model
/// with `vocab_size` embedding rows, for read_gguf_tokenizer() to read. UserError for a tokenizer
/// that llama.cpp has no name for.
void add_gguf_tokenizer(const TokenizerFiles& files, int64_t vocab_size, GgufContents& contents);

}  // namespace predgen
