#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/setting.h"
#include "runtime/cost/pass_costs.h"
#include "runtime/generate/answer_store.h"
#include "runtime/generate/generator.h"

namespace predgen {

struct GeneratorConfig {
  std::string name = "ar";             // one of generator_names()
  int64_t block_size = 16;             // jacobi: the largest window
  std::vector<std::string> sources{};  // of drafts, among draft_source_names(), the cheapest first
  int64_t draft_width = 16;            // ar with sources or masks: most tokens of both per pass
  bool uses_masks = true;              // ar: the model's mask tokens, if it has some
  PassCosts costs{};                   // they decide how much a pass checks (DraftWidth)
  uint64_t seed = 0;                   // jacobi: the random refill
  Engine* draft_model = nullptr;       // of the sources model and own; borrowed
  std::shared_ptr<const AnswerStore> past_answers{};  // of the source past_answers
};

const std::vector<std::string>& generator_names();
const std::vector<std::string>& draft_source_names();

Setting decoder_setting(std::string& name);
Setting max_new_tokens_setting(int64_t& tokens);

/// What `draft_model` is called if it is the model's own MTP layer (ModelConfig::mtp()).
constexpr const char* kOwnLayer = "own";
/// The draft source that it is for: kOwnLayer, or "model".
const char* draft_source_of(const Engine& draft_model);

/// What to draft from. Text: a string, or a path.
template <typename Text>
Settings draft_settings(Text& draft_model, Text& past_answers) {
  return {{"draft_model", draft_model,
           "a smaller model with the same tokenizer, given as the model is, which drafts what each "
           "pass then checks, or Gemma 4's assistant; or own: the MTP layer that Qwen3.5 comes "
           "with; the text stays the same"},
          {"past_answers", past_answers,
           "answers that the model gave before, to draft from: the folder of a data set, or a file "
           "of conversations as `data build` reads it; the text stays the same"}};
}

/// Measures the costs of all passes that these generators make, a draft model's, too.
void measure_costs(GeneratorConfig& config, Engine& engine);

/// The list of generators. Borrows the engines. UserError for an unknown name lists the known ones.
std::unique_ptr<Generator> make_generator(const GeneratorConfig& config, Engine& engine);

}  // namespace predgen
