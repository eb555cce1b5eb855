#include "voice/dac/dac_weights.h"

#include "model/weights/weight_check.h"

namespace predgen {

DacWeights::DacWeights(const std::filesystem::path& folder, at::Device device)
    : config_(DacConfig::load(folder)), stored_(folder), device_(device) {
  check_weights(
      dac_weight_layout(config_), stored_.names(),
      [this](const std::string& name) { return stored_.tensor(name); }, folder.string(),
      "a DAC codec of this config.json");
}

at::Tensor DacWeights::tensor(const std::string& name) const {
  return stored_.load(name, device_, at::kFloat);
}

}  // namespace predgen
