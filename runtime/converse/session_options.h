#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/setting.h"
#include "runtime/converse/session.h"

namespace predgen {

/// What the commands that hold conversations let a user choose. Engines are borrowed.
struct SessionOptions {
  std::string verifier = "greedy";
  int64_t top_k = 3, judged_sentences = 1;
  bool preempts = false;  // InputTimeWork::kPreempt instead of drafts
  std::string decoder = "ar";
  Engine* draft_model = nullptr;                      // null: none
  std::shared_ptr<const AnswerStore> past_answers{};  // to draft from; null: none
  std::shared_ptr<const EndReadout> end_readout{};    // SessionConfig
  std::string preset = "default", system_prompt = "auto";
  bool has_voice = false;  // answers are spoken
  bool thinks = false, let_repeat = false;
  std::optional<SamplingConfig> sampling{};
  int64_t max_new_tokens = 256, max_context = 8192, pass_tokens = 512;
  int64_t turn_draft_tokens = 0;
};

Settings settings_of(SessionOptions& options);
/// Those of a turn that not every conversation offers.
Settings settings_of(TurnConfig& turn);

/// "off", and verifier_names().
std::vector<std::string> verifier_choices();

/// The configuration for `options`. Without drafts the preset's sources of drafts do not help to
/// decode the answer either. Pass costs are measured on `engine` where they matter. UserError for
/// a preset that does not exist.
SessionConfig make_session_config(const SessionOptions& options, Engine& engine);

}  // namespace predgen
