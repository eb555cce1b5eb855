#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/config.h"
#include "evaluate/judge/judge_config.h"
#include "evaluate/method.h"
#include "evaluate/turn_set_config.h"
#include "voice/make_synthesizer.h"

namespace predgen {

enum class EvalClock { kReal, kVirtual };
enum class EvalCost { kMeasured, kTable };

/// Everything that configs/eval/*.yaml may say.
struct EvalConfig {
  std::filesystem::path model, adapter;  // adapter: only for the methods that use it
  std::filesystem::path judge_adapter;   // likewise
  std::filesystem::path draft_model;     // likewise; of the same tokenizer
  std::filesystem::path chat_template;   // instead of the model's
  std::filesystem::path output;          // only the files that eval writes are replaced
  std::vector<std::string> methods{"baseline", "greedy"};
  std::string system_prompt = "none";  // none, table3 or a text; the same in every method
  TurnSetConfig turns;
  std::vector<std::string> training_data;  // files; turns that stand in them are shown apart
  JudgeConfig judge;                       // of the answers

  double characters_per_minute = 600;  // of typed turns

  EvalClock clock = EvalClock::kVirtual;
  EvalCost cost = EvalCost::kMeasured;
  double seconds_per_pass = 0.027;      // cost table: one forward pass
  double seconds_per_draft_pass = 0;    // cost table: one of the draft model; 0: by its bytes
  double seconds_to_first_audio = 0.1;  // cost table: from a sentence to its first samples
  VoiceOptions voice;                   // with a voice, answer.wav is the first turn's answer

  TurnConfig turn;               // `work` is the method's
  int64_t judged_sentences = 1;  // of the method reflection
  // Of the methods whose preset has several candidates, branches or next words; 0: what it says.
  int64_t candidates = 0, tree_tokens = 0, branches = 0, next_words = 0;
  int64_t draft_width = 16;  // tokens of n-grams or a draft model that a pass checks
  int64_t jacobi_block_size = 16;
  int64_t pass_tokens = 512;  // of one forward pass; a longer prompt takes several

  std::string device = "auto", dtype = "auto", quantize = "none";
  bool width_invariant = false;  // see Transformer::set_width_invariant()
  int64_t threads = 0;
};

EvalConfig read_eval_config(ConfigReader& reader);

}  // namespace predgen
