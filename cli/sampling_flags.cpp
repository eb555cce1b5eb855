#include "cli/sampling_flags.h"

#include "cli/setting_flags.h"
#include "core/error.h"

namespace predgen::cli {

void SamplingFlags::add_to(CLI::App& command, const char* top_k_name) {
  Settings settings =
      only(settings_of(*this), {"temperature", "top_k", "top_p", "min_p", "repetition_penalty"});
  settings[1] = settings[1].as(top_k_name);
  add_flags(command, unbounded(settings));
  add_flags(command, {{"seed", seed, "of the draws"}});
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
