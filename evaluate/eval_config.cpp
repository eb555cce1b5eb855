#include "evaluate/eval_config.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {

EvalConfig read_eval_config(ConfigReader& reader) {
  EvalConfig config;
  reader.required("model", config.model);
  reader.optional("adapter", config.adapter);
  reader.optional("chat_template", config.chat_template);
  reader.required("output", config.output);
  reader.optional("methods", config.methods);
  reader.optional("system_prompt", config.system_prompt);

  ConfigReader turns = reader.section("turns");
  turns.choice("kind", config.turns.kind, turn_set_kinds());
  turns.required("file", config.turns.file);
  turns.optional("count", config.turns.count, int64_t{0}, int64_t{1'000'000});
  turns.optional("min_characters", config.turns.min_characters, int64_t{1}, int64_t{1'000'000});
  turns.optional("seed", config.turns.seed);

  ConfigReader input = reader.section("input");
  input.optional("characters_per_minute", config.characters_per_minute, 1.0, 1e6);

  ConfigReader clock = reader.section("clock");
  clock.choice<EvalClock>("kind", config.clock,
                          {{"real", EvalClock::kReal}, {"virtual", EvalClock::kVirtual}});
  clock.choice<EvalCost>("cost", config.cost,
                         {{"measured", EvalCost::kMeasured}, {"table", EvalCost::kTable}});
  clock.optional("seconds_per_pass", config.seconds_per_pass, 0.0, 1e3);
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
  generation.optional("pass_tokens", config.pass_tokens, int64_t{1}, int64_t{1'000'000});
  generation.optional("jacobi_block_size", config.jacobi_block_size, int64_t{2}, int64_t{1024});

  reader.optional("device", config.device);
  reader.optional("dtype", config.dtype);
  reader.optional("quantize", config.quantize);
  reader.optional("threads", config.threads, int64_t{0}, int64_t{4096});

  if (config.methods.empty()) reader.problem("methods", "name at least one");
  for (size_t i = 0; i < config.methods.size(); ++i) {
    try {
      const Method method = parse_method(config.methods[i]);
      if (method.adapter && config.adapter.empty()) {
        reader.problem("methods", fmt::format("'{}' needs the key 'adapter'", method.name));
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
