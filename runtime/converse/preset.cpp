#include "runtime/converse/preset.h"

#include "core/error.h"

namespace predgen {
namespace {

SpeculationConfig eager(bool only_if_cheap) {
  return {.num_candidates = 12,
          .tree_tokens = 128,
          .num_branches = 8,
          .only_if_cheap = only_if_cheap,
          .in_parts = true};
}

}  // namespace

void Preset::apply_to(SessionConfig& config) const {
  config.speculation = speculation;
  config.generator.sources = sources;
  if (first_round_tokens > 0) config.turn.first_round_tokens = first_round_tokens;
  if (later_round_tokens > 0) config.turn.later_round_tokens = later_round_tokens;
  config.turn.split_mode = split_mode.value_or(config.turn.split_mode);
  config.turn.waits_for_pauses = waits_for_pauses;
}

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{
      {.name = "default",
       .help = "the last draft is verified and continued; where it fails, its rest and the "
               "conversation propose how to go on",
       .speculation = {.in_parts = true},
       .sources = {"ngram"}},
      {.name = "paper",
       .help =
           "the last draft alone, with 30 tokens at the first transcript and 10 at each later "
           "one, and sentences that end at any . ? or ! (--system-prompt table3 is the paper's, "
           "too)",
       .first_round_tokens = 30,
       .later_round_tokens = 10,
       .split_mode = SplitMode::kPaper},
      {.name = "economy",
       .help = "fewer passes while you speak: a draft grows by 3 tokens at each transcript, and "
               "eight drafts are kept",
       .speculation = {.num_candidates = 8, .in_parts = true},
       .sources = {"ngram"},
       .first_round_tokens = 3,
       .later_round_tokens = 3},
      {.name = "eager",
       .help = "default, and in idle time other answers are prepared",
       .speculation = eager(/*only_if_cheap=*/false),
       .sources = {"ngram"}},
      {.name = "auto",
       .help = "eager where wide passes are cheap, else default; drafts wait until you pause while "
               "that has been soon enough in this conversation",
       .speculation = eager(/*only_if_cheap=*/true),
       .sources = {"ngram"},
       .waits_for_pauses = true},
  };
  return all;
}

const Preset& find_preset(const std::string& name) {
  std::string names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names += (names.empty() ? "" : ", ") + preset.name;
  }
  throw UserError("there is no preset '{}': choose one of {}", name, names);
}

}  // namespace predgen
