#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/config.h"
#include "evaluate/method.h"
#include "evaluate/turn_sets.h"
#include "voice/make_synthesizer.h"

namespace predgen {

enum class EvalClock { kReal, kVirtual };
enum class EvalCost { kMeasured, kTable };

/// Everything that configs/eval/*.yaml may say.
struct EvalConfig {
  std::filesystem::path model, adapter;  // adapter: only for the methods that use it
  std::filesystem::path chat_template;   // instead of the model's
  std::filesystem::path output;          // only the files that eval writes are replaced
  std::vector<std::string> methods{"baseline", "greedy"};
  std::string system_prompt = "none";  // none, table3 or a text; the same in every method
  TurnSetConfig turns;

  double characters_per_minute = 600;  // of typed turns

  EvalClock clock = EvalClock::kVirtual;
  EvalCost cost = EvalCost::kMeasured;
  double seconds_per_pass = 0.027;      // cost table: one forward pass
  double seconds_to_first_audio = 0.1;  // cost table: from a sentence to its first samples
  VoiceOptions voice;                   // with a voice, answer.wav is the first turn's answer

  TurnConfig turn;  // `work` is the method's
  int64_t jacobi_block_size = 16;
  int64_t pass_tokens = 512;  // of one forward pass; a longer prompt takes several

  std::string device = "auto", dtype = "auto", quantize = "none";
  int64_t threads = 0;
};

EvalConfig read_eval_config(ConfigReader& reader);

}  // namespace predgen
