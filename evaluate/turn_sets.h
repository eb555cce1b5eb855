#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/eval_config.h"
#include "evaluate/eval_turn.h"
#include "evaluate/simulated_tools.h"

namespace predgen::evaluate {

/// Each row of a JSONL file that is not blank; `where` is "file:row" for errors. UserError for a
/// missing file and for a row that is not JSON.
void for_each_row(const std::filesystem::path& file,
                  const std::function<void(const Json& row, const std::string& where)>& use);

struct TurnSet {
  // In the order of the draw, so a smaller count is a prefix; turns that continue stay together.
  std::vector<EvalTurn> turns;
  std::vector<std::string> skipped;    // "id: why", or how many and why
  std::vector<SimulatedTool> tools{};  // that the model may call
};

/// UserError names the file, the row and what is wrong, or says how many turns there are when
/// `count` asks for more.
TurnSet load_turns(const TurnSetConfig& config);

/// Turns with a right answer. The whole prompt (Streams::kPrompt) is that of the public graders:
/// lm-evaluation-harness's gsm8k, TIGER-AI-Lab's evaluate_from_local.py. UserError names the file,
/// the row and what is wrong.
TurnSet read_gsm8k(const TurnSetConfig& config);
TurnSet read_mmlu_pro(const TurnSetConfig& config);

}  // namespace predgen::evaluate
