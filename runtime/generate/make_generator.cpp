#include "runtime/generate/make_generator.h"

#include <fmt/ranges.h>

#include "core/error.h"
#include "runtime/generate/autoregressive_generator.h"
#include "runtime/generate/jacobi_generator.h"

namespace predgen {

const std::vector<std::string>& generator_names() {
  static const std::vector<std::string> names{"ar", "jacobi"};
  return names;
}

std::unique_ptr<Generator> make_generator(const GeneratorConfig& config, Engine& engine) {
  if (config.name == "ar") {
    return std::make_unique<AutoregressiveGenerator>(engine, config.sampling);
  }
  if (config.name == "jacobi") {
    if (config.sampling) throw UserError("the jacobi decoder is greedy: use ar for sampling");
    return std::make_unique<JacobiGenerator>(engine, config.block_size, config.seed);
  }
  throw UserError("unknown decoder '{}': choose one of {}", config.name,
                  fmt::join(generator_names(), ", "));
}

}  // namespace predgen
