#pragma once

#include "evaluate/turn_sets.h"

namespace predgen::evaluate {

/// Turns with a right answer. The whole prompt (Streams::kPrompt) is that of the public graders:
/// lm-evaluation-harness's gsm8k, TIGER-AI-Lab's evaluate_from_local.py. UserError names the file,
/// the row and what is wrong.
TurnSet read_gsm8k(const TurnSetConfig& config);
TurnSet read_mmlu_pro(const TurnSetConfig& config);

}  // namespace predgen::evaluate
