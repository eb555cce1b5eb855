#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/setting.h"
#include "evaluate/method.h"
#include "evaluate/turn_set_config.h"
#include "runtime/converse/session_options.h"
#include "runtime/converse/tool_round_options.h"
#include "voice/make_voice.h"

namespace predgen::evaluate {

enum class EvalClock { kReal, kVirtual };

/// Everything that configs/eval/*.yaml may say; settings_of() says what it means.
struct EvalConfig {
  std::vector<std::filesystem::path> models;  // one at least; each is run by each cost
  std::filesystem::path adapter, draft_model, past_answers, chat_template, output;
  std::vector<std::string> methods{"baseline", "greedy"};
  std::string system_prompt = "none";  // the same in every method
  TurnSetConfig turns;
  std::vector<std::string> training_data;

  double characters_per_minute = 600, end_of_turn_wait = 0;

  EvalClock clock = EvalClock::kVirtual;
  std::vector<std::string> costs{"wall_clock"};  // of cost_names(); each is a run of its own
  double seconds_per_pass = 0.027, seconds_per_token = 0, seconds_per_draft_pass = 0;
  double cost_parameters = 0, seconds_to_first_audio = 0.1, seconds_per_character = 0;
  VoiceOptions voice;  // with a voice, answer.wav is the first turn's answer
  bool same_device = false;

  TurnConfig turn;         // `work` is the method's
  SessionOptions session;  // judged_sentences and pass_tokens of it
  ToolRoundOptions tools;  // early_calls of methods with early calls alone
  int64_t candidates = 0, tree_tokens = 0, branches = 0;
  int64_t draft_width = 16, jacobi_block_size = 16;

  std::string device = "auto", dtype = "auto", quantize = "none";
  int64_t threads = 0, workers = 1;
};

/// All but the keys of one kind of turns, and of voices.
Settings settings_of(EvalConfig& config);
EvalConfig read_eval_config(ConfigReader& reader);

/// Whether any of the methods has `part`: &Method::adapter, ..
bool any_method(const EvalConfig& config, bool Method::*part);

}  // namespace predgen::evaluate
