#pragma once

#include <filesystem>
#include <string>

#include "model/model_config.h"
#include "tensors/gguf_writer.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {

/// The input of write_gguf().
struct GgufExport {
  const ModelConfig& config;
  const TokenizerFiles* tokenizer = nullptr;  // null: none
  std::string name;                           // of the model, for people
  const GgufType& type;                       // of matrices; embeddings and a head of its own have
                                              // 8 bits where that is Q4_0, norms and biases F32
};

/// The metadata and the list of tensors that llama.cpp expects of such a model. UserError if
/// llama.cpp cannot run it, or not in this type.
GgufContents gguf_contents(const GgufExport& what);

/// Writes metadata and tensors as one file. `rows`: the weights by their Hugging Face names.
void write_gguf(const std::filesystem::path& file, const GgufExport& what, const TensorRows& rows);

}  // namespace predgen
