#pragma once

#include <stop_token>
#include <string>

#include "cli/model_setup.h"

namespace predgen::cli {

struct GgufExportOptions {
  const ModelOptions& model;
  std::string output;  // a file that is not there yet
  bool with_logits = true;
  double max_logit_difference = 0.0;  // 0: any
  bool json = false;
};

/// Writes a checkpoint, with an adapter merged into it, as a GGUF file for llama.cpp and predgen,
/// reads it back, and says how far it is from what it was made of. UserError leaves nothing.
void export_gguf(const GgufExportOptions& options, const std::stop_token& stop);

}  // namespace predgen::cli
