#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/generate/generator.h"
#include "runtime/generate/sampler.h"

namespace predgen {

struct GeneratorConfig {
  std::string name = "ar";                   // one of generator_names()
  int64_t block_size = 16;                   // jacobi: the window
  uint64_t seed = 0;                         // jacobi: the random refill
  std::optional<SamplingConfig> sampling{};  // ar only; nothing: greedy
};

const std::vector<std::string>& generator_names();

/// The list of generators. Borrows the engine. UserError for an unknown name lists the known ones.
std::unique_ptr<Generator> make_generator(const GeneratorConfig& config, Engine& engine);

}  // namespace predgen
