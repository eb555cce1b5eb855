#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/config.h"
#include "evaluate/method.h"
#include "evaluate/turn_set_config.h"
#include "voice/make_voice.h"

namespace predgen::evaluate {

enum class EvalClock { kReal, kVirtual };

/// Everything that configs/eval/*.yaml may say.
struct EvalConfig {
  std::vector<std::filesystem::path> models;  // one at least; each is run by each price
  std::filesystem::path adapter;              // only for the methods that use it
  std::filesystem::path draft_model;  // only for the methods that use it; has the model's tokenizer
  std::filesystem::path past_answers;   // to draft from; only for the methods that use them
  std::filesystem::path chat_template;  // instead of the model's
  std::filesystem::path output;         // only the files that eval writes are replaced
  std::vector<std::string> methods{"baseline", "greedy"};
  std::string system_prompt = "none";  // none, table3 or a text; the same in every method
  TurnSetConfig turns;
  std::vector<std::string> training_data;  // files; turns found in them are shown apart

  double characters_per_minute = 600;  // of typed turns
  double end_of_turn_wait = 0;  // seconds from the last word until the turn is known to be over

  EvalClock clock = EvalClock::kVirtual;
  std::vector<std::string> prices{"wall_clock"};  // of price_names(); each is a run of its own
  double seconds_per_pass = 0.027;                // price given: one forward pass, ..
  double seconds_per_token = 0;                   // .. and more for each token of it
  double seconds_per_draft_pass = 0;              // .. one of the draft model; 0: by its bytes
  double priced_parameters = 0;  // rooflines: of a bf16 model this large; 0: the one that runs
  double seconds_to_first_audio = 0.1;  // not by the wall clock: from a sentence to first samples,
  double seconds_per_character = 0;     // and from there to its end
  VoiceOptions voice;                   // with a voice, answer.wav is the first turn's answer
  bool same_device = false;             // voice and model take turns on one device

  TurnConfig turn;               // `work` is the method's
  int64_t judged_sentences = 1;  // of the method reflection
  // For methods whose preset has several candidates or branches; 0: the preset's.
  int64_t candidates = 0, tree_tokens = 0, branches = 0;
  int64_t draft_width = 16;  // tokens of n-grams or a draft model that a pass checks
  int64_t jacobi_block_size = 16;
  int64_t pass_tokens = 512;  // of one forward pass; a longer prompt takes several

  std::string device = "auto", dtype = "auto", quantize = "none";
  bool width_invariant = false;  // see Transformer::set_width_invariant()
  int64_t threads = 0;
  int64_t workers = 1;  // turns at a time, each with that many threads and its own weights
};

EvalConfig read_eval_config(ConfigReader& reader);

/// Whether any of the methods has `part`: &Method::adapter, ..
bool any_method(const EvalConfig& config, bool Method::*part);

}  // namespace predgen::evaluate
