#include "voice/hibari/hibari_options.h"

#include <limits>

#include "core/model_names.h"

namespace predgen {

HibariOptions read_hibari_options(ConfigReader& reader) {
  HibariOptions options;
  reader.optional("model", options.model);
  reader.optional("speed", options.settings.speed, kSlowestHibari, kFastestHibari);
  int64_t seed = 0;
  reader.optional("seed", seed, int64_t{0}, std::numeric_limits<int64_t>::max());
  options.settings.seed = static_cast<uint64_t>(seed);
  return options;
}

std::filesystem::path hibari_folder() { return models_folder() / "hibari"; }

}  // namespace predgen
