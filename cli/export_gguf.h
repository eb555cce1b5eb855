#pragma once

#include <ATen/ATen.h>

#include <stop_token>
#include <string>

#include "checkpoint/merged_weights.h"
#include "cli/model_setup.h"
#include "core/json.h"

namespace predgen::cli {

struct LogitCheck {
  at::Device device = at::kCPU;
  double max_difference = 0.0;  // 0: `share`
  double share = 0.0;           // of the largest logit, or of 1
};

/// How far the logits of a written model are from those of base and adapter, for a report.
/// UserError if they are further apart than allowed.
Json check_logits(const MergedWeights& merged, const ModelWeights& stored, const LogitCheck& check,
                  const std::stop_token& stop);

/// Prints a line about it. `origin`: what they were compared with.
void print_logits(const Json& logits, const char* origin);

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
