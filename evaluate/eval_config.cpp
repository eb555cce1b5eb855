#include "evaluate/eval_config.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {

EvalConfig read_eval_config(ConfigReader& reader) {
  EvalConfig config;
  reader.required("model", config.model);
  reader.optional("adapter", config.adapter);
  reader.optional("judge_adapter", config.judge_adapter);
  reader.optional("draft_model", config.draft_model);
  reader.optional("chat_template", config.chat_template);
  reader.required("output", config.output);
  reader.optional("methods", config.methods);
  reader.optional("system_prompt", config.system_prompt);

  config.turns = read_turn_set_config(reader.section("turns"));

  reader.optional("training_data", config.training_data);

  ConfigReader input = reader.section("input");
  input.optional("characters_per_minute", config.characters_per_minute, 1.0, 1e6);

  ConfigReader clock = reader.section("clock");
  clock.choice<EvalClock>("kind", config.clock,
                          {{"real", EvalClock::kReal}, {"virtual", EvalClock::kVirtual}});
  clock.choice<EvalCost>("cost", config.cost,
                         {{"measured", EvalCost::kMeasured}, {"table", EvalCost::kTable}});
  clock.optional("seconds_per_pass", config.seconds_per_pass, 0.0, 1e3);
  if (clock.has("seconds_per_draft_pass")) {
    clock.optional("seconds_per_draft_pass", config.seconds_per_draft_pass, 1e-9, 1e3);
    if (config.cost != EvalCost::kTable) {
      clock.problem("seconds_per_draft_pass", "is for a cost table; else it is measured");
    }
  }
  clock.optional("seconds_to_first_audio", config.seconds_to_first_audio, 0.0, 1e3);
  if (config.clock == EvalClock::kReal && config.cost == EvalCost::kTable) {
    clock.problem("cost", "a cost table needs the virtual clock");
  }

  ConfigReader speech = reader.section("speech");
  speech.choice<VoiceKind>("voice", config.voice.kind, voice_kinds());
  if (speech.has("espeak")) {
    ConfigReader espeak = speech.section("espeak");
    config.voice.espeak = read_espeak_options(espeak);
  }
  if (config.voice.kind == VoiceKind::kZonos || speech.has("zonos")) {
    ConfigReader zonos = speech.section("zonos");
    config.voice.zonos = read_zonos_options(zonos);
  }

  ConfigReader generation = reader.section("generation");
  generation.choice<SplitMode>("split", config.turn.split_mode,
                               {{"natural", SplitMode::kNatural}, {"paper", SplitMode::kPaper}});
  generation.optional("max_draft_tokens", config.turn.max_draft_tokens, int64_t{1},
                      int64_t{100'000});
  generation.optional("first_round_tokens", config.turn.first_round_tokens, int64_t{0},
                      int64_t{100'000});
  generation.optional("later_round_tokens", config.turn.later_round_tokens, int64_t{0},
                      int64_t{100'000});
  generation.optional("max_new_tokens", config.turn.max_new_tokens, int64_t{1}, int64_t{100'000});
  generation.optional("judged_sentences", config.judged_sentences, int64_t{1}, int64_t{100});
  generation.optional("candidates", config.candidates, int64_t{0}, int64_t{1000});
  generation.optional("tree_tokens", config.tree_tokens, int64_t{0}, int64_t{100'000});
  generation.optional("branches", config.branches, int64_t{0}, int64_t{1000});
  generation.optional("next_words", config.next_words, int64_t{0}, int64_t{1000});
  generation.optional("draft_width", config.draft_width, int64_t{1}, int64_t{1024});
  generation.optional("pass_tokens", config.pass_tokens, int64_t{1}, int64_t{1'000'000});
  generation.optional("jacobi_block_size", config.jacobi_block_size, int64_t{2}, int64_t{1024});

  if (reader.has("judge")) {
    config.judge = read_judge_config(reader.section("judge"));
    if (config.judge.pairs &&
        std::ranges::find(config.methods, "baseline") == config.methods.end()) {
      reader.problem("judge",
                     "\"pairs\" compares with the method 'baseline', which is not among "
                     "\"methods\"");
    }
    if (config.judge.cache.empty()) config.judge.cache = config.output / "judge_cache";
  }

  reader.optional("device", config.device);
  reader.optional("dtype", config.dtype);
  reader.optional("quantize", config.quantize);
  reader.optional("width_invariant", config.width_invariant);
  reader.optional("threads", config.threads, int64_t{0}, int64_t{4096});

  if (config.methods.empty()) reader.problem("methods", "name at least one");
  for (size_t i = 0; i < config.methods.size(); ++i) {
    try {
      const Method method = parse_method(config.methods[i]);
      if (method.adapter && config.adapter.empty()) {
        reader.problem("methods", fmt::format("'{}' needs the key 'adapter'", method.name));
      }
      if (method.judge && config.judge_adapter.empty()) {
        reader.problem("methods", fmt::format("'{}' needs the key 'judge_adapter'", method.name));
      }
      if (method.draft_model && config.draft_model.empty()) {
        reader.problem("methods", fmt::format("'{}' needs the key 'draft_model'", method.name));
      }
    } catch (const UserError& error) {
      reader.problem("methods", error.what());
    }
    if (std::count(config.methods.begin(), config.methods.end(), config.methods[i]) > 1) {
      reader.problem("methods", fmt::format("'{}' is named twice", config.methods[i]));
      break;
    }
  }
  return config;
}

}  // namespace predgen
