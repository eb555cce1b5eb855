#pragma once

#include <stop_token>
#include <string>

#include "cli/model_setup.h"

namespace predgen::cli {

struct GgufExportOptions {
  const ModelOptions& model;
  std::string output;  // a file that does not exist yet
  bool with_logits = true;
  double max_logit_difference = 0.0;  // 0: any
  bool json = false;
};

/// Writes a checkpoint, with an adapter merged into it, as a GGUF file for llama.cpp and predgen,
/// reads it back, and reports how far it is from its source. On UserError no file is left.
void export_gguf(const GgufExportOptions& options, const std::stop_token& stop);

}  // namespace predgen::cli
