#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/setting.h"
#include "data/build_config.h"

namespace predgen::evaluate {

/// Where turns come from. kConversations: JSONL or Parquet that `predgen data build` reads, earlier
/// rounds are the history. kPrompts: rows {"prompt": text} or {"text": text}. kRecordedAsr: what
/// read_recordings() reads. kMtBench: FastChat's question.jsonl; a question's turns follow each
/// other (EvalTurn::continues). kGsm8k, kMmluPro: the published JSONL files; turns have a right
/// answer. kTools: requests for which the model calls simulated tools (read_tool_turns()).
enum class TurnSetKind {
  kConversations,
  kPrompts,
  kRecordedAsr,
  kMtBench,
  kGsm8k,
  kMmluPro,
  kTools
};

/// What the user is assumed to say in a set with right answers.
enum class Streams {
  kQuestion,  // the question and its options; an instruction is in the system message, examples are
              // earlier rounds
  kPrompt     // the public graders' whole prompt: instruction, examples and the cue at its end
};

/// A half of a set: settings are chosen by one, and the other one is reported.
enum class Half { kAll, kChoose, kReport };

struct TurnSetConfig {
  TurnSetKind kind = TurnSetKind::kPrompts;
  std::filesystem::path file{};
  int64_t count = 0, min_characters = 1, seed = 0;

  // Of conversations.
  bool first_round_only = false;
  data::FilterConfig filters{};  // languages, redacted and flagged ones
  double held_out_fraction = 0;  // above 0: only those that `predgen data build` keeps out
  int64_t held_out_seed = 0;     // of its training data with this fraction and seed

  // Of sets with right answers.
  Streams streams = Streams::kQuestion;
  int64_t shots = 0;
  std::filesystem::path shots_file{};

  // Of sets with tools.
  std::filesystem::path tools_file{};
  double tool_seconds = 0;
  Half half = Half::kAll;
  std::vector<std::string> sources{};
};

/// The section `turns`: what all kinds of sets have.
Settings settings_of(TurnSetConfig& config);
/// And what only this kind has; keys of others count as unknown.
Settings settings_of_kind(TurnSetConfig& config);

}  // namespace predgen::evaluate
