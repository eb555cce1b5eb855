#include "evaluate/eval_config.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "evaluate/run_price.h"

namespace predgen::evaluate {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

void refuse_twice(ConfigReader& reader, const std::string& key,
                  const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::count(names, name) == 1) continue;
    reader.problem(key, fmt::format("'{}' is named twice", name));
    return;
  }
}

/// Sets EvalConfig::prices: `cost` is the short form of a single one.
void read_prices(ConfigReader& clock, EvalConfig& config) {
  const std::vector<std::string> measured{"wall_clock"}, table{"given"};
  if (clock.has("cost") || !clock.has("prices")) {
    clock.choice("cost", config.prices, {{"measured", measured}, {"table", table}});
  }
  const bool by_table = config.prices == table;
  clock.optional("prices", config.prices);
  if (clock.has("prices") && clock.has("cost") && (!by_table || has(config.prices, "wall_clock"))) {
    clock.problem("cost", "leave it out: the prices say it ('wall_clock' is the measured one)");
  }
  if (config.prices.empty()) clock.problem("prices", "name at least one");
  for (const std::string& name : config.prices) {
    if (has(price_names(), name)) continue;
    clock.problem("prices", fmt::format("there is no price '{}'; use {}", name,
                                        fmt::join(price_names(), ", ")));
  }
  refuse_twice(clock, "prices", config.prices);
  if (config.clock == EvalClock::kReal && config.prices != measured) {
    clock.problem(clock.has("prices") ? "prices" : "cost", "a cost table needs the virtual clock");
  }
  clock.optional("seconds_per_pass", config.seconds_per_pass, 0.0, 1e3);
  clock.optional("seconds_per_token", config.seconds_per_token, 0.0, 1e3);
  if (clock.has("seconds_per_draft_pass")) {
    clock.optional("seconds_per_draft_pass", config.seconds_per_draft_pass, 1e-9, 1e3);
    if (!has(config.prices, "given")) {
      clock.problem("seconds_per_draft_pass", "is of the price 'given', which is not asked for");
    }
  }
  clock.optional("priced_parameters", config.priced_parameters, 0.0, 1e13);
  clock.optional("seconds_to_first_audio", config.seconds_to_first_audio, 0.0, 1e3);
  clock.optional("seconds_per_character", config.seconds_per_character, 0.0, 1e3);
}

void read_models(ConfigReader& reader, EvalConfig& config) {
  if (reader.has("models")) {
    reader.optional("models", config.models);
    if (config.models.empty()) reader.problem("models", "name at least one folder");
    if (reader.has("model")) reader.problem("model", "leave it out, or add it to 'models'");
  } else {
    reader.required("model", config.models.emplace_back());
  }
  reader.optional("adapter", config.adapter);
  reader.optional("draft_model", config.draft_model);
  reader.optional("past_answers", config.past_answers);
  if (config.models.size() < 2) return;
  for (const char* key : {"adapter", "draft_model", "past_answers"}) {
    if (reader.has(key)) reader.problem(key, "goes with one model, but there are several");
  }
}

void read_speech(ConfigReader speech, EvalConfig& config) {
  speech.choice<VoiceKind>("voice", config.voice.kind, voice_kinds());
  if (speech.has("espeak")) {
    ConfigReader espeak = speech.section("espeak");
    config.voice.espeak = read_espeak_options(espeak);
  }
  if (speech.has("hibari")) {
    ConfigReader hibari = speech.section("hibari");
    config.voice.hibari = read_hibari_options(hibari);
  }
  if (config.voice.kind == VoiceKind::kPiper || speech.has("piper")) {
    ConfigReader piper = speech.section("piper");
    config.voice.piper = read_piper_options(piper);
  }
  if (config.voice.kind == VoiceKind::kZonos || speech.has("zonos")) {
    ConfigReader zonos = speech.section("zonos");
    config.voice.zonos = read_zonos_options(zonos);
  }
  speech.optional("same_device", config.same_device);
  if (config.same_device && config.clock == EvalClock::kReal) {
    speech.problem("same_device", "needs the virtual clock; in real time the devices decide");
  }
  if (config.same_device && config.voice.kind == VoiceKind::kNone &&
      has(config.prices, "wall_clock")) {
    speech.problem("same_device", "by the wall clock there is no speech without a voice");
  }
}

void read_generation(ConfigReader generation, EvalConfig& config) {
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
  generation.optional("draft_width", config.draft_width, int64_t{1}, int64_t{1024});
  generation.optional("pass_tokens", config.pass_tokens, int64_t{1}, int64_t{1'000'000});
  generation.optional("jacobi_block_size", config.jacobi_block_size, int64_t{2}, int64_t{1024});
}

/// Their names are known, and what they need is there.
void check_methods(ConfigReader& reader, const EvalConfig& config) {
  if (config.methods.empty()) reader.problem("methods", "name at least one");
  for (const std::string& name : config.methods) {
    try {
      const Method method = parse_method(name);
      const auto need = [&](bool needed, const char* key, const std::filesystem::path& path) {
        if (!needed || !path.empty()) return;
        reader.problem("methods", fmt::format("'{}' needs the key '{}'", name, key));
      };
      need(method.adapter, "adapter", config.adapter);
      need(method.draft_model, "draft_model", config.draft_model);
      need(method.past_answers, "past_answers", config.past_answers);
      if (method.characters_per_minute > 0 && config.turns.kind == TurnSetKind::kRecordedAsr) {
        reader.problem("methods", fmt::format("'{}': recorded turns are not typed", name));
      }
    } catch (const UserError& error) {
      reader.problem("methods", error.what());
    }
  }
  refuse_twice(reader, "methods", config.methods);
}

}  // namespace

EvalConfig read_eval_config(ConfigReader& reader) {
  if (reader.has("judge")) {
    throw UserError(
        "\"judge\" is no section any more: take it out, and grade the finished run with "
        "predgen-judge (scripts/judge.py of the sources; docs/quality.md)");
  }
  EvalConfig config;
  read_models(reader, config);
  reader.optional("chat_template", config.chat_template);
  reader.required("output", config.output);
  reader.optional("methods", config.methods);
  reader.optional("system_prompt", config.system_prompt);

  config.turns = read_turn_set_config(reader.section("turns"));

  reader.optional("training_data", config.training_data);

  ConfigReader input = reader.section("input");
  input.optional("characters_per_minute", config.characters_per_minute, 1.0, 1e6);
  input.optional("end_of_turn_wait", config.end_of_turn_wait, 0.0, 10.0);

  ConfigReader clock = reader.section("clock");
  clock.choice<EvalClock>("kind", config.clock,
                          {{"real", EvalClock::kReal}, {"virtual", EvalClock::kVirtual}});
  read_prices(clock, config);

  read_speech(reader.section("speech"), config);
  read_generation(reader.section("generation"), config);

  reader.optional("device", config.device);
  reader.optional("dtype", config.dtype);
  reader.optional("quantize", config.quantize);
  reader.optional("width_invariant", config.width_invariant);
  reader.optional("threads", config.threads, int64_t{0}, int64_t{4096});

  reader.optional("workers", config.workers, int64_t{1}, int64_t{1024});
  if (config.workers > 1 && has(config.prices, "wall_clock")) {
    reader.problem("workers", "several would slow each other by the wall clock: use other prices");
  }

  check_methods(reader, config);
  return config;
}

bool any_method(const EvalConfig& config, bool Method::*part) {
  return std::ranges::any_of(config.methods,
                             [&](const std::string& name) { return parse_method(name).*part; });
}

}  // namespace predgen::evaluate
