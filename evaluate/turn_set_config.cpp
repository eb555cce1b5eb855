#include "evaluate/turn_set_config.h"

#include <string>
#include <utility>
#include <vector>

namespace predgen::evaluate {
namespace {

/// By the names that configurations use.
std::vector<std::pair<std::string, TurnSetKind>> turn_set_kinds() {
  return {
      {"conversations", TurnSetKind::kConversations},
      {"prompts", TurnSetKind::kPrompts},
      {"recorded_asr", TurnSetKind::kRecordedAsr},
      {"mt_bench", TurnSetKind::kMtBench},
      {"gsm8k", TurnSetKind::kGsm8k},
      {"mmlu_pro", TurnSetKind::kMmluPro},
      {"tools", TurnSetKind::kTools},
  };
}

Settings conversation_settings(TurnSetConfig& config) {
  const Settings held_out{
      {"fraction", config.held_out_fraction, between(0, 0.9),
       "above 0: only turns that `predgen data build` keeps out with this fraction and seed"},
      {"seed", config.held_out_seed, "of that"}};
  return {
      {"first_round_only", config.first_round_only, "the first turn of each conversation alone"},
      {"filters",
       only(data::settings_of(config.filters), {"languages", "drop_redacted", "drop_flagged"})},
      {"held_out", held_out}};
}

Settings exam_settings(TurnSetConfig& config) {
  const std::vector<std::pair<std::string, Streams>> streams{{"question", Streams::kQuestion},
                                                             {"prompt", Streams::kPrompt}};
  return {{"streams", config.streams, streams,
           "what the user is assumed to say: the question, or the public graders' whole prompt"},
          Setting("shots", config.shots, between(0, 100),
                  "worked examples: the first of shots_file (mmlu_pro: of the same category)")
              .must([&config] { return (config.shots > 0) != config.shots_file.empty(); },
                    "give a number and \"shots_file\", or neither"),
          {"shots_file", config.shots_file, "where they are"}};
}

Settings tool_settings(TurnSetConfig& config) {
  const std::vector<std::pair<std::string, Half>> halves{
      {"all", Half::kAll}, {"choose", Half::kChoose}, {"report", Half::kReport}};
  return {
      Setting("tools_file", config.tools_file, "the tools that are simulated").needed(),
      {"tool_seconds", config.tool_seconds, between(0, 3600),
       "what a call of any tool takes; 0: what the file says"},
      {"half", config.half, halves, "of rows that belong to one: choose by one, report the other"},
      {"sources", config.sources, "only rows of these sources; empty: of all"}};
}

}  // namespace

Settings settings_of(TurnSetConfig& config) {
  return {{"kind", config.kind, turn_set_kinds(), "what the file holds"},
          Setting("file", config.file, "of conversations, * and ? in the last part name several")
              .needed(),
          {"count", config.count, between(0, 1'000'000),
           "0: every turn, in file order; else drawn with the seed"},
          {"min_characters", config.min_characters, between(1, 1'000'000),
           "shorter prompts, and what continues them, are left out"},
          {"seed", config.seed, "of the draw"}};
}

Settings settings_of_kind(TurnSetConfig& config) {
  if (config.kind == TurnSetKind::kConversations) return conversation_settings(config);
  if (config.kind == TurnSetKind::kTools) return tool_settings(config);
  const bool is_exam = config.kind == TurnSetKind::kGsm8k || config.kind == TurnSetKind::kMmluPro;
  return is_exam ? exam_settings(config) : Settings();
}

}  // namespace predgen::evaluate
