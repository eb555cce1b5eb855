#include "runtime/converse/session_options.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/files.h"
#include "text/utf8.h"

namespace predgen {

Settings settings_of(SessionOptions& options) {
  std::vector<std::string> names;
  std::string costs = "what speculation may cost";
  for (const Preset& known : presets()) {
    names.push_back(known.name);
    costs += "\n" + known.name + ": " + known.help;
  }
  return {{"verifier", options.verifier, verifier_choices(),
           "what keeps a draft: greedy (exact), topk, reflection; off: nothing is drafted while "
           "the user speaks"},
          {"top_k", options.top_k, between(1, 1000), "with the verifier topk"},
          {"judged_sentences", options.judged_sentences, between(1, 100),
           "with the verifier reflection: how much of a draft the model may keep at once"},
          decoder_setting(options.decoder),
          {"preset", options.preset, names, costs},
          {"system_prompt", options.system_prompt,
           "a text, @FILE, none, spoken (for short answers without lists), table3 (the paper's), "
           "or auto: spoken with a voice, else none"},
          {"think", options.thinks,
           "let a model think before it answers, if it has that choice (Qwen3, SmolLM3); thoughts "
           "are neither shown nor spoken"},
          {"let_repeat", options.let_repeat,
           "do not end an answer that repeats itself: a token 10 times in a row, or 8 tokens or a "
           "sentence three times"},
          max_new_tokens_setting(options.max_new_tokens),
          {"max_context", options.max_context, at_least(1),
           "tokens of conversation to keep room for; the model may have fewer positions"},
          {"pass_tokens", options.pass_tokens, at_least(1),
           "tokens of one forward pass; a longer prompt takes several, and new words are seen "
           "between them"},
          {"turn_draft_tokens", options.turn_draft_tokens, at_least(0),
           "drafted while a user speaks, at most; 0: no limit"}};
}

Settings settings_of(TurnConfig& turn) {
  const std::vector<std::pair<std::string, SplitMode>> splits{{"natural", SplitMode::kNatural},
                                                              {"paper", SplitMode::kPaper}};
  return {
      {"split", turn.split_mode, splits, "how answers become sentences; paper: at any . ? or !"},
      {"max_draft_tokens", turn.max_draft_tokens, between(1, 100'000), "of the whole draft"},
      {"first_round_tokens", turn.first_round_tokens, between(0, 100'000),
       "new ones of a draft at a turn's first transcript; 0: any number"},
      {"later_round_tokens", turn.later_round_tokens, between(0, 100'000),
       "new ones at each later transcript; 0: any number"},
      max_new_tokens_setting(turn.max_new_tokens)};
}

std::vector<std::string> verifier_choices() {
  std::vector<std::string> choices{"off"};
  choices.insert(choices.end(), verifier_names().begin(), verifier_names().end());
  return choices;
}

bool should_yield_to_words(const PassCosts& costs) {
  return costs.is_known() && costs.of(1) >= Seconds(0.01);
}

SessionConfig make_session_config(const SessionOptions& options, Engine& engine) {
  const bool is_off = options.verifier == "off";
  const InputTimeWork work = options.preempts ? InputTimeWork::kPreempt
                             : is_off         ? InputTimeWork::kCascade
                                              : InputTimeWork::kSpeculate;
  SessionConfig config;
  config.verifier = {.name = is_off ? "greedy" : options.verifier,
                     .top_k = options.top_k,
                     .judged_sentences = options.judged_sentences};
  config.generator.name = options.decoder;
  config.system_prompt = system_prompt_text(options.system_prompt, options.has_voice);
  config.max_context = options.max_context;
  find_preset(options.preset).apply_to(config);
  config.turn.speaks_clauses = options.has_voice && config.turn.split_mode == SplitMode::kNatural;
  if (work != InputTimeWork::kSpeculate) config.generator.sources.clear();
  if (options.past_answers) {
    config.generator.past_answers = options.past_answers;
    config.generator.sources.push_back("past_answers");
  }
  if (options.draft_model) {
    config.generator.draft_model = options.draft_model;
    config.generator.sources.emplace_back(draft_source_of(*options.draft_model));
  }
  if (config.wants_costs(engine.model())) measure_costs(config.generator, engine);
  config.thinks = options.thinks;
  config.sampling = options.sampling;
  config.end_readout = options.end_readout;
  config.turn.work = work;
  config.turn.yields_to_words = engine.model().kv_layout().options.device().is_cpu() &&
                                should_yield_to_words(config.generator.costs);
  config.turn.max_new_tokens = options.max_new_tokens;
  config.turn.turn_draft_tokens = options.turn_draft_tokens;
  return config;
}

namespace {

SpeculationConfig eager(bool only_if_cheap) {
  return {.num_candidates = 12,
          .tree_tokens = 128,
          .num_branches = 8,
          .only_if_cheap = only_if_cheap,
          .in_parts = true};
}

}  // namespace

void Preset::apply_to(SessionConfig& config) const {
  config.speculation = speculation;
  config.generator.sources = sources;
  if (first_round_tokens > 0) config.turn.first_round_tokens = first_round_tokens;
  if (later_round_tokens > 0) config.turn.later_round_tokens = later_round_tokens;
  config.turn.split_mode = split_mode.value_or(config.turn.split_mode);
  config.turn.waits_for_pauses = waits_for_pauses;
}

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{
      {.name = "default",
       .help = "the last draft is verified and continued; where it fails, its rest and the "
               "conversation propose how to go on",
       .speculation = {.in_parts = true},
       .sources = {"ngram"}},
      {.name = "paper",
       .help =
           "the last draft alone, with 30 tokens at the first transcript and 10 at each later "
           "one, and sentences that end at any . ? or ! (--system-prompt table3 is the paper's, "
           "too)",
       .first_round_tokens = 30,
       .later_round_tokens = 10,
       .split_mode = SplitMode::kPaper},
      {.name = "economy",
       .help = "fewer passes while you speak: a draft grows by 3 tokens at each transcript, and "
               "eight drafts are kept",
       .speculation = {.num_candidates = 8, .in_parts = true},
       .sources = {"ngram"},
       .first_round_tokens = 3,
       .later_round_tokens = 3},
      {.name = "eager",
       .help = "default, and in idle time other answers are prepared",
       .speculation = eager(/*only_if_cheap=*/false),
       .sources = {"ngram"}},
      {.name = "auto",
       .help = "eager where wide passes are cheap, else default; drafts wait until you pause while "
               "that has been soon enough in this conversation",
       .speculation = eager(/*only_if_cheap=*/true),
       .sources = {"ngram"},
       .waits_for_pauses = true},
  };
  return all;
}

const Preset& find_preset(const std::string& name) {
  std::string names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names += (names.empty() ? "" : ", ") + preset.name;
  }
  throw UserError("there is no preset '{}': choose one of {}", name, names);
}

namespace {

const std::pair<const char*, const char*> kNamed[] = {
    {"none", ""},
    {"spoken",
     "You are a helpful assistant. Answer in plain words, in one to three short sentences."},
    {"table3",
     "The instruction provided by the user may be truncated. In such cases, respond based on your "
     "best guess of the incomplete instruction. Do not complain about incomplete prompts."}};

bool is_one_word(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

std::string system_prompt_text(const std::string& setting) {
  std::vector<std::string> names;
  for (const auto& [name, text] : kNamed) {
    if (setting == name) return text;
    names.emplace_back(name);
  }
  if (setting.starts_with('@')) {
    std::string text = read_file(setting.substr(1));
    require_utf8(text, setting.substr(1));
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  if (!setting.empty() && is_one_word(setting)) {
    throw UserError("system prompt \"{}\": no such name ({}); a text has more than one word",
                    setting, suggest(setting, names));
  }
  return setting;
}

std::string system_prompt_text(const std::string& setting, bool has_voice) {
  return system_prompt_text(setting == "auto" ? (has_voice ? "spoken" : "none") : setting);
}

}  // namespace predgen
