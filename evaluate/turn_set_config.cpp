#include "evaluate/turn_set_config.h"

#include <string>
#include <utility>
#include <vector>

namespace predgen::evaluate {
namespace {

void read_conversation_keys(ConfigReader& turns, TurnSetConfig& config) {
  turns.optional("first_round_only", config.first_round_only);
  ConfigReader filters = turns.section("filters");
  filters.optional("languages", config.filters.languages);
  filters.optional("drop_redacted", config.filters.drop_redacted);
  filters.optional("drop_flagged", config.filters.drop_flagged);
  ConfigReader held_out = turns.section("held_out");
  held_out.optional("fraction", config.held_out_fraction, 0.0, 0.9);
  held_out.optional("seed", config.held_out_seed);
}

void read_exam_keys(ConfigReader& turns, TurnSetConfig& config) {
  turns.choice<Streams>("streams", config.streams,
                        {{"question", Streams::kQuestion}, {"prompt", Streams::kPrompt}});
  turns.optional("shots", config.shots, int64_t{0}, int64_t{100});
  turns.optional("shots_file", config.shots_file);
  if ((config.shots > 0) == config.shots_file.empty()) {
    turns.problem("shots", "give a number and \"shots_file\", or neither");
  }
}

/// By the names that configurations use.
std::vector<std::pair<std::string, TurnSetKind>> turn_set_kinds() {
  return {
      {"conversations", TurnSetKind::kConversations},
      {"prompts", TurnSetKind::kPrompts},
      {"recorded_asr", TurnSetKind::kRecordedAsr},
      {"mt_bench", TurnSetKind::kMtBench},
      {"gsm8k", TurnSetKind::kGsm8k},
      {"mmlu_pro", TurnSetKind::kMmluPro},
  };
}

}  // namespace

TurnSetConfig read_turn_set_config(ConfigReader turns) {
  TurnSetConfig config;
  turns.choice("kind", config.kind, turn_set_kinds());
  turns.required("file", config.file);
  turns.optional("count", config.count, int64_t{0}, int64_t{1'000'000});
  turns.optional("min_characters", config.min_characters, int64_t{1}, int64_t{1'000'000});
  turns.optional("seed", config.seed);
  // A key of another kind counts as unknown.
  if (config.kind == TurnSetKind::kConversations) read_conversation_keys(turns, config);
  if (config.kind == TurnSetKind::kGsm8k || config.kind == TurnSetKind::kMmluPro) {
    read_exam_keys(turns, config);
  }
  return config;
}

}  // namespace predgen::evaluate
