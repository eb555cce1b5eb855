#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "evaluate/eval_turn.h"

namespace predgen {

/// Where turns come from. kConversations: Lmsys-layout JSONL, earlier rounds are the history.
/// kPrompts: rows {"prompt": text}. kRecordedAsr: {id: [[text so far, seconds], ..]}.
/// kMtBench: FastChat's question.jsonl; a question's turns stand one after the other
/// (EvalTurn::continues).
enum class TurnSetKind { kConversations, kPrompts, kRecordedAsr, kMtBench };

/// The list of kinds, by the names that configurations use.
const std::vector<std::pair<std::string, TurnSetKind>>& turn_set_kinds();

struct TurnSetConfig {
  TurnSetKind kind = TurnSetKind::kPrompts;
  std::filesystem::path file;
  int64_t count = 0;           // 0: every turn, in file order; else drawn with the seed
  int64_t min_characters = 1;  // shorter prompts, and what continues them, do not take part
  int64_t seed = 0;
};

struct TurnSet {
  // In the order of the draw, so a smaller count is a prefix; turns that continue stay together.
  std::vector<EvalTurn> turns;
  std::vector<std::string> skipped;  // "id: why"
};

/// UserError names the file, the row and what is wrong, or says how many turns there are when
/// `count` asks for more.
TurnSet load_turns(const TurnSetConfig& config);

}  // namespace predgen
