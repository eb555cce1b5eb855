#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/converse/session.h"

namespace predgen {

/// How much work speculation may cost: settings that belong together.
struct Preset {
  std::string name{};
  std::string help{};
  SpeculationConfig speculation{};
  std::vector<std::string> sources{};  // of drafts, as make_generator names them
  int64_t first_round_tokens = 0, later_round_tokens = 0;  // of TurnConfig; 0: unchanged
  std::optional<SplitMode> split_mode{};                   // nullopt: unchanged
  bool waits_for_pauses = false;                           // of TurnConfig

  void apply_to(SessionConfig& config) const;
};

/// default: one draft, until its first sentence is whole, with n-grams of the draft before it;
/// paper: without them, in the paper's rounds and with its sentences (arXiv 2506.15556, section 4);
/// economy: fewer passes while the user speaks; eager: fewest after it; auto: by what passes cost
/// and the conversation's pauses.
const std::vector<Preset>& presets();
/// UserError for an unknown name.
const Preset& find_preset(const std::string& name);

}  // namespace predgen
