#pragma once

#include <filesystem>
#include <string>

#include "model/model_config.h"
#include "tensors/gguf_writer.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {

/// What write_gguf() is told.
struct GgufExport {
  const ModelConfig& config;
  const TokenizerFiles* tokenizer = nullptr;  // null: none
  std::string name;                           // of the model, for people
  const GgufType& type;                       // of matrices; embeddings and a head of its own have
                                              // 8 bits where that is Q4_0, norms and biases F32
};

/// The metadata and the list of tensors that llama.cpp wants of such a model. UserError for what
/// llama.cpp cannot run, or not in this type.
GgufContents gguf_contents(const GgufExport& what);

/// Writes them as one file. `rows`: the weights by their Hugging Face names, as TensorRows.
void write_gguf(const std::filesystem::path& file, const GgufExport& what, const TensorRows& rows);

}  // namespace predgen
