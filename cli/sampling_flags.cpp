#include "cli/sampling_flags.h"

#include "core/error.h"

namespace predgen::cli {

void SamplingFlags::add_to(CLI::App& command, const char* top_k_name) {
  command.add_option("--temperature", temperature, "draw tokens instead of the likeliest");
  command.add_option(top_k_name, top_k, "draw among the k likeliest tokens; 0: all");
  command.add_option("--top-p", top_p,
                     "draw among the likeliest tokens that together have probability p");
  command.add_option("--min-p", min_p,
                     "draw among tokens at least p times as likely as the likeliest");
  command.add_option("--repetition-penalty", repetition_penalty,
                     "above 1: tokens that stood before become less likely");
  command.add_option("--seed", seed, "of the draws")->capture_default_str();
}

std::optional<SamplingConfig> SamplingFlags::parse(const GenerationSettings& settings) const {
  const GenerationDefaults defaults = read_generation_defaults(settings);
  const std::optional<SamplingConfig> config = choose_sampling(*this, defaults);
  if (config && config->temperature > 0 && !defaults.not_honoured.empty()) {
    throw UserError("{}: \"{}\" is not supported in sampling: remove it", settings.where,
                    defaults.not_honoured);
  }
  return config;
}

}  // namespace predgen::cli
