#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/language_model.h"
#include "runtime/cost/pass_costs.h"
#include "text/tokenizer.h"

namespace predgen {

/// What of drafts runs while others are answered: none; all of it; as much as predgen serve lets
/// (Engine::yield_speculation).
enum class Drafting { kNone, kAlways, kAutomatic };

/// People who talk to sessions of one engine, in virtual time.
struct TrafficConfig {
  int64_t people = 1;
  int64_t turns = 5;              // of each
  double seconds_between = 6;     // from an answer's end to the next turn: exponential, its mean
  double words_per_minute = 150;  // that are spoken, each heard at its end
  Drafting drafting = Drafting::kAutomatic;
  bool shares_passes = true;  // false: each request has passes of its own
  std::string preset = "default";
  int64_t max_new_tokens = 64;
  uint64_t seed = 0;
};

struct TrafficResult {
  std::vector<double> first_sentences;      // seconds from the last word; ascending
  std::vector<std::string> texts;           // of every turn, by person
  int64_t num_drafted = 0, num_wasted = 0;  // tokens
  int64_t num_passes = 0, num_sequences = 0;
  double busy_seconds = 0, seconds = 0;  // of passes; of all

  /// q in [0,1]; 0 if there is no first sentence.
  double first_sentence(double q) const;
  /// Of another run, too.
  void add(const TrafficResult& other);
};

/// What the model costs, and says.
struct ServedModel {
  std::shared_ptr<const LanguageModel> model;
  const Tokenizer& tokenizer;
  PassCosts costs;
};

/// Its figures are the same on every machine and each time, as long as the model says the same.
/// What a person says, and when, depends on the seed and on what the answers took. `prompts` is not
/// empty.
TrafficResult simulate_traffic(const ServedModel& model, const std::vector<std::string>& prompts,
                               const TrafficConfig& config);

}  // namespace predgen
