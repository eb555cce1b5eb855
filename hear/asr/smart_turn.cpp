#include "hear/asr/smart_turn.h"

#include <algorithm>

#include "core/error.h"

namespace predgen::ears {

SmartTurn::SmartTurn(const std::filesystem::path& file) : model_(file, {.keeps_plans = true}) {
  try {
    probability(std::vector<float>(kRate));
  } catch (const Error& error) {
    throw UserError("{} is no smart-turn model: {}", file.string(), error.what());
  }
}

double SmartTurn::probability(std::span<const float> sound) {
  constexpr int64_t kWindowSound = Ear::kTurnSound;
  const auto latest = sound.last(std::min(sound.size(), static_cast<size_t>(kWindowSound)));
  const std::vector<float> picture = log_mel_(normalized_window(latest, kWindowSound));
  const int64_t num_columns = std::ssize(picture) / log_mel_.num_bands();
  const auto outputs = model_.run({{.name = "input_features",
                                    .shape = {1, log_mel_.num_bands(), num_columns},
                                    .floats = picture}},
                                  {"logits"}, {});
  if (outputs[0].values.size() != 1) throw UserError("it gives more than one number");
  // It is a probability already, despite its name.
  return std::clamp<double>(outputs[0].values[0], 0, 1);
}

}  // namespace predgen::ears
