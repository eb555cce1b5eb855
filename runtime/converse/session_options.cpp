#include "runtime/converse/session_options.h"

#include "runtime/converse/preset.h"
#include "runtime/converse/system_prompt.h"

namespace predgen {

std::vector<std::string> verifier_choices() {
  std::vector<std::string> choices{"off"};
  choices.insert(choices.end(), verifier_names().begin(), verifier_names().end());
  return choices;
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
    config.generator.sources.push_back("model");
  }
  if (config.wants_prices(engine.model())) measure_prices(config.generator, engine);
  config.thinks = options.thinks;
  config.sampling = options.sampling;
  config.end_readout = options.end_readout;
  config.turn.work = work;
  config.turn.max_new_tokens = options.max_new_tokens;
  config.turn.turn_draft_tokens = options.turn_draft_tokens;
  return config;
}

}  // namespace predgen
