#include "voice/hibari/hibari_options.h"

#include "core/model_names.h"

namespace predgen {

Settings settings_of(HibariOptions& options) {
  return {{"model", options.model,
           "folder of hibari.onnx and vocab.json; empty: that of `predgen models get hibari`"},
          {"speed", options.settings.speed, between(kSlowestHibari, kFastestHibari), "of speech"},
          {"seed", options.settings.seed, "of the breath and hiss in the sound"}};
}

std::filesystem::path hibari_folder() { return models_folder() / "hibari"; }

}  // namespace predgen
