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

/// TurnConfig::yields_to_words, for a model on a CPU with these costs: where a token takes 10 ms or
/// more, a draft takes as long as the decode that it would slow down, or longer.
bool should_yield_to_words(const PassCosts& costs);

/// The configuration for `options`. Without drafts the preset's sources of drafts do not help to
/// decode the answer either. Pass costs are measured on `engine` where they matter. UserError for
/// a preset that does not exist.
SessionConfig make_session_config(const SessionOptions& options, Engine& engine);

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

/// The system message that a setting means: "none" is empty, "spoken" asks for answers to be
/// heard, "table3" is the text of Table 3 of arXiv 2506.15556, which keeps a model from complaining
/// about unfinished questions, "@FILE" what a file holds; anything else is the text itself.
/// UserError for a single word that is none of these names, and for a file that cannot be read.
std::string system_prompt_text(const std::string& setting);

/// The same, but "auto" is "spoken" if `has_voice`, else "none".
std::string system_prompt_text(const std::string& setting, bool has_voice);

}  // namespace predgen
