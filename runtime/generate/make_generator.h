#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/generate/generator.h"
#include "runtime/price/pass_price.h"

namespace predgen {

struct GeneratorConfig {
  std::string name = "ar";             // one of generator_names()
  int64_t block_size = 16;             // jacobi: the window at most
  std::vector<std::string> sources{};  // of drafts, among draft_source_names(), the cheapest first
  int64_t draft_width = 16;            // ar with sources: tokens that a pass checks at most
  // Of passes that check 0, 1, .. tokens, of both at least so many, if known (DraftWidth).
  std::vector<double> pass_seconds{};
  uint64_t seed = 0;  // jacobi: the random refill
  // The source model: its engine, borrowed, and what a pass of it costs in passes of the model.
  Engine* draft_model = nullptr;
  double draft_price = 1;
};

const std::vector<std::string>& generator_names();
const std::vector<std::string>& draft_source_names();

/// Measures pass_seconds and, with a draft model, draft_price.
void measure_prices(GeneratorConfig& config, Engine& engine);
/// The same by a cost table: what a pass of the model and one of the draft model cost.
void set_prices(GeneratorConfig& config, const PassPrice& pass, const PassPrice& draft_pass);

/// The list of generators. Borrows the engines. UserError for an unknown name lists the known ones.
std::unique_ptr<Generator> make_generator(const GeneratorConfig& config, Engine& engine);

}  // namespace predgen
