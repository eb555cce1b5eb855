#include "evaluate/eval_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/config.h"
#include "core/error.h"
#include "evaluate/run_cost.h"
#include "model/load_options.h"
#include "runtime/generate/make_generator.h"

namespace predgen::evaluate {
namespace {

/// By the names that configurations use.
std::vector<std::pair<std::string, TurnSetKind>> turn_set_kinds() {
  return {
      {"conversations", TurnSetKind::kConversations},
      {"prompts", TurnSetKind::kPrompts},
      {"recorded_asr", TurnSetKind::kRecordedAsr},
      {"mt_bench", TurnSetKind::kMtBench},
      {"gsm8k", TurnSetKind::kGsm8k},
      {"mmlu_pro", TurnSetKind::kMmluPro},
      {"tools", TurnSetKind::kTools},
  };
}

Settings conversation_settings(TurnSetConfig& config) {
  const Settings held_out{
      {"fraction", config.held_out_fraction, between(0, 0.9),
       "above 0: only turns that `predgen data build` keeps out with this fraction and seed"},
      {"seed", config.held_out_seed, "of that"}};
  return {
      {"first_round_only", config.first_round_only, "the first turn of each conversation alone"},
      {"filters",
       only(data::settings_of(config.filters), {"languages", "drop_redacted", "drop_flagged"})},
      {"held_out", held_out}};
}

Settings exam_settings(TurnSetConfig& config) {
  const std::vector<std::pair<std::string, Streams>> streams{{"question", Streams::kQuestion},
                                                             {"prompt", Streams::kPrompt}};
  return {{"streams", config.streams, streams,
           "what the user is assumed to say: the question, or the public graders' whole prompt"},
          Setting("shots", config.shots, between(0, 100),
                  "worked examples: the first of shots_file (mmlu_pro: of the same category)")
              .must([&config] { return (config.shots > 0) != config.shots_file.empty(); },
                    "give a number and \"shots_file\", or neither"),
          {"shots_file", config.shots_file, "where they are"}};
}

Settings tool_settings(TurnSetConfig& config) {
  const std::vector<std::pair<std::string, Half>> halves{
      {"all", Half::kAll}, {"choose", Half::kChoose}, {"report", Half::kReport}};
  return {
      Setting("tools_file", config.tools_file, "the tools that are simulated").needed(),
      {"tool_seconds", config.tool_seconds, between(0, 3600),
       "what a call of any tool takes; 0: what the file says"},
      {"half", config.half, halves, "of rows that belong to one: choose by one, report the other"},
      {"sources", config.sources, "only rows of these sources; empty: of all"}};
}

}  // namespace

Settings settings_of(TurnSetConfig& config) {
  return {{"kind", config.kind, turn_set_kinds(), "what the file holds"},
          Setting("file", config.file, "of conversations, * and ? in the last part name several")
              .needed(),
          {"count", config.count, between(0, 1'000'000),
           "0: every turn, in file order; else drawn with the seed"},
          {"min_characters", config.min_characters, between(1, 1'000'000),
           "shorter prompts, and what continues them, are left out"},
          {"seed", config.seed, "of the draw"}};
}

Settings settings_of_kind(TurnSetConfig& config) {
  if (config.kind == TurnSetKind::kConversations) return conversation_settings(config);
  if (config.kind == TurnSetKind::kTools) return tool_settings(config);
  const bool is_exam = config.kind == TurnSetKind::kGsm8k || config.kind == TurnSetKind::kMmluPro;
  return is_exam ? exam_settings(config) : Settings();
}

namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

std::string named_twice(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::count(names, name) > 1) return fmt::format("'{}' is named twice", name);
  }
  return "";
}

/// `cost` is the short form of a single cost.
void read_costs(ConfigReader& clock, EvalConfig& config) {
  clock.accept_old_name("prices", "costs");
  clock.accept_old_name("priced_parameters", "cost_parameters");
  const std::vector<std::string> measured{"wall_clock"}, table{"given"};
  if (clock.has("cost") || !clock.has("costs")) {
    clock.choice("cost", config.costs, {{"measured", measured}, {"table", table}});
  }
  const bool by_table = config.costs == table;
  clock.optional("costs", config.costs);
  if (clock.has("costs") && clock.has("cost") && (!by_table || has(config.costs, "wall_clock"))) {
    clock.problem("cost", "leave it out: the costs say it ('wall_clock' is the measured one)");
  }
  if (config.costs.empty()) clock.problem("costs", "name at least one");
  for (const std::string& name : config.costs) {
    if (has(cost_names(), name)) continue;
    clock.problem(
        "costs", fmt::format("there is no cost '{}'; use {}", name, fmt::join(cost_names(), ", ")));
  }
  if (config.clock == EvalClock::kReal && config.costs != measured) {
    clock.problem(clock.has("costs") ? "costs" : "cost", "a cost table needs the virtual clock");
  }
}

Settings clock_settings(EvalConfig& config) {
  const std::vector<std::pair<std::string, EvalClock>> clocks{{"real", EvalClock::kReal},
                                                              {"virtual", EvalClock::kVirtual}};
  const Setting::Special costs{[&config](ConfigReader& clock) { read_costs(clock, config); },
                               value_yaml(config.costs)};
  const Setting::Special per_draft_pass{
      [&config](ConfigReader& clock) {
        if (!clock.has("seconds_per_draft_pass")) return;
        clock.optional("seconds_per_draft_pass", config.seconds_per_draft_pass, 1e-9, 1e3);
        if (has(config.costs, "given")) return;
        clock.problem("seconds_per_draft_pass", "is of the cost 'given', which is not asked for");
      },
      "null"};
  return {{"kind", config.clock, clocks, "whether turns take the time that they take here"},
          Setting("costs", costs,
                  "what passes cost, each in a run of its own: wall_clock, given, this_machine, or "
                  "a card; cost: measured or table is short for wall_clock or given alone")
              .checked([&config] { return named_twice(config.costs); }),
          {"seconds_per_pass", config.seconds_per_pass, between(0, 1e3),
           "cost given: one forward pass"},
          {"seconds_per_token", config.seconds_per_token, between(0, 1e3),
           "and more for each token of it"},
          {"seconds_per_draft_pass", per_draft_pass,
           "and one of the draft model; absent: by the bytes that it reads"},
          {"cost_parameters", config.cost_parameters, between(0, 1e13),
           "cards: of a bf16 model this large; 0: the one that runs"},
          {"seconds_to_first_audio", config.seconds_to_first_audio, between(0, 1e3),
           "not by the wall clock: from a sentence to its first samples"},
          {"seconds_per_character", config.seconds_per_character, between(0, 1e3),
           "and from there to its end"}};
}

Settings speech_settings(EvalConfig& config) {
  return {{"voice", config.voice.kind, voice_kinds(),
           "which voice speaks; its own settings are in a section of its name"},
          Setting("same_device", config.same_device, "voice and model take turns on one device")
              .must([&config] { return !config.same_device || config.clock != EvalClock::kReal; },
                    "needs the virtual clock; in real time the devices decide")
              .must(
                  [&config] {
                    return !config.same_device || config.voice.kind != VoiceKind::kNone ||
                           !has(config.costs, "wall_clock");
                  },
                  "by the wall clock there is no speech without a voice")};
}

Settings generation_settings(EvalConfig& config) {
  return together(
      {settings_of(config.turn),
       only(settings_of(config.session), {"judged_sentences"}),
       {{"candidates", config.candidates, between(0, 1000),
         "of methods that verify several answers; 0: the preset's"},
        {"tree_tokens", config.tree_tokens, between(0, 100'000), "of their tree; 0: the preset's"},
        {"branches", config.branches, between(0, 1000),
         "other answers of methods that prepare some; 0: the preset's"},
        {"draft_width", config.draft_width, between(1, 1024),
         "tokens of n-grams or a draft model that a pass checks"}},
       only(settings_of(config.session), {"pass_tokens"}),
       {{"jacobi_block_size", config.jacobi_block_size, between(2, 1024), "of Jacobi decoding"}}});
}

void read_models(ConfigReader& reader, EvalConfig& config) {
  if (reader.has("models")) {
    reader.optional("models", config.models);
    if (config.models.empty()) reader.problem("models", "name at least one folder");
    if (reader.has("model")) reader.problem("model", "leave it out, or add it to 'models'");
  } else {
    reader.required("model", config.models.emplace_back());
  }
  if (config.models.size() < 2) return;
  for (const char* key : {"adapter", "draft_model", "past_answers"}) {
    if (reader.has(key)) reader.problem(key, "goes with one model, but there are several");
  }
}

/// Settings of voices that are chosen, or named.
void read_voices(ConfigReader speech, EvalConfig& config) {
  for (const auto& [name, kind] : voice_kinds()) {
    for (const auto& [voice, settings] : settings_by_voice(config.voice)) {
      if (voice != name || (config.voice.kind != kind && !speech.has(name))) continue;
      ConfigReader section = speech.section(name);
      read_settings(section, settings);
    }
  }
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
      const bool has_tools = config.turns.kind == TurnSetKind::kTools;
      if ((method.early || method.grammar) && !has_tools) {
        reader.problem("methods", fmt::format("'{}' needs turns.kind: tools", name));
      }
      if (method.characters_per_minute > 0 && config.turns.kind == TurnSetKind::kRecordedAsr) {
        reader.problem("methods", fmt::format("'{}': recorded turns are not typed", name));
      }
    } catch (const UserError& error) {
      reader.problem("methods", error.what());
    }
  }
}

}  // namespace

Settings settings_of(EvalConfig& config) {
  const Setting::Special models{[&config](ConfigReader& reader) { read_models(reader, config); },
                                "null"};
  const Settings input{{"characters_per_minute", config.characters_per_minute, between(1, 1e6),
                        "of turns that are typed"},
                       {"end_of_turn_wait", config.end_of_turn_wait, between(0, 10),
                        "seconds from the last word until the turn is known to be over"}};
  return together(
      {{{"model", models,
         "a folder, a GGUF file or a name of `predgen models`; or models, a list, one after "
         "another"},
        adapter_setting(config.adapter)},
       draft_settings(config.draft_model, config.past_answers),
       {chat_template_setting(config.chat_template),
        Setting("output", config.output, "folder; only the files that eval writes are replaced")
            .needed(),
        Setting("methods", config.methods, "see docs/evaluation.md").checked([&config] {
          return named_twice(config.methods);
        }),
        {"system_prompt", config.system_prompt, "none, table3 (the paper's) or a text"},
        {"turns", settings_of(config.turns)},
        {"training_data", config.training_data, "files; turns found in them are shown apart"},
        {"input", input},
        {"clock", clock_settings(config)},
        {"speech", speech_settings(config)},
        {"tools", only(settings_of(config.tools), {"tool_rounds", "act_within", "early_calls",
                                                   "early_stable", "early_seconds", "early_age"})},
        {"generation", generation_settings(config)},
        device_setting(config.device),
        dtype_setting(config.dtype),
        quantize_setting(config.quantize),
        threads_setting(config.threads),
        Setting("workers", config.workers, between(1, 1024),
                "turns at a time, each with that many threads and its own weights")
            .must([&config] { return config.workers == 1 || !has(config.costs, "wall_clock"); },
                  "several would slow each other by the wall clock: use other costs")}});
}

EvalConfig read_eval_config(ConfigReader& reader) {
  if (reader.has("judge")) {
    throw UserError(
        "\"judge\" is no section any more: take it out, and grade the finished run with "
        "predgen-judge (scripts/judge.py of the sources; docs/quality.md)");
  }
  EvalConfig config;
  read_settings(reader, settings_of(config));
  ConfigReader turns = reader.section("turns");
  read_settings(turns, settings_of_kind(config.turns));
  read_voices(reader.section("speech"), config);
  check_methods(reader, config);
  return config;
}

bool any_method(const EvalConfig& config, bool Method::*part) {
  return std::ranges::any_of(config.methods,
                             [&](const std::string& name) { return parse_method(name).*part; });
}

}  // namespace predgen::evaluate
