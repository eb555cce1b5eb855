#include "cli/sampling_flags.h"

#include "core/error.h"

namespace predgen {

void SamplingFlags::add_to(CLI::App& command, const char* top_k_name) {
  command.add_option("--temperature", temperature, "draw tokens instead of the likeliest");
  command.add_option(top_k_name, top_k, "draw among the k likeliest tokens; 0: all");
  command.add_option("--top-p", top_p,
                     "draw among the likeliest tokens that together have probability p");
  command.add_option("--min-p", min_p,
                     "draw among tokens at least p times as likely as the likeliest");
  command.add_option("--repetition-penalty", repetition_penalty,
                     "in sampling: above 1, tokens that stood before become less likely");
  command.add_option("--seed", seed, "of the draws")->capture_default_str();
}

std::optional<SamplingConfig> SamplingFlags::parse(const std::filesystem::path& folder) const {
  const bool samples = temperature || top_k || top_p || min_p;
  if (!samples || temperature == 0.0) {
    if (repetition_penalty) {
      throw UserError("--repetition-penalty: belongs to sampling; give --temperature too");
    }
    return std::nullopt;
  }
  const GenerationDefaults defaults = read_generation_defaults(folder);
  if (!defaults.not_honoured.empty()) {
    throw UserError("{}/generation_config.json: \"{}\" is not supported in sampling: remove it",
                    folder.string(), defaults.not_honoured);
  }
  SamplingConfig config;
  const auto choose = [](auto flag, auto in_file, auto& value) {
    value = flag.value_or(in_file.value_or(value));
  };
  choose(repetition_penalty, defaults.repetition_penalty, config.repetition_penalty);
  choose(temperature, defaults.temperature, config.temperature);
  choose(top_k, defaults.top_k, config.top_k);
  choose(top_p, defaults.top_p, config.top_p);
  choose(min_p, defaults.min_p, config.min_p);
  config.seed = seed;
  config.validate();
  return config;
}

}  // namespace predgen
