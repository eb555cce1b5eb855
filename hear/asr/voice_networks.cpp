#include "hear/asr/voice_networks.h"

#include <algorithm>
#include <array>
#include <memory>

#include "core/error.h"

namespace predgen::ears {
namespace {

constexpr int64_t kContext = 64;     // samples before a window, which the model needs, too
constexpr int64_t kState = 2 * 128;  // what it remembers

struct Memory {
  std::vector<float> input = std::vector<float>(kContext + kWindow);
  std::vector<float> state = std::vector<float>(kState);
};

double hear(const OnnxSession& model, Memory& memory, std::span<const float> window) {
  std::copy(memory.input.end() - kContext, memory.input.end(), memory.input.begin());
  std::ranges::copy(window, memory.input.begin() + kContext);
  constexpr std::array<int64_t, 1> kHertz{kRate};
  const auto outputs =
      model.run({{.name = "input", .shape = {1, kContext + kWindow}, .floats = memory.input},
                 {.name = "state", .shape = {2, 1, kState / 2}, .floats = memory.state},
                 {.name = "sr", .shape = {}, .integers = kHertz}},
                {"output", "stateN"}, {});
  const std::span<const float> voice = outputs[0].values, state = outputs[1].values;
  if (voice.size() != 1 || state.size() != kState) {
    throw UserError("the voice activity model is not Silero's: its outputs have another size");
  }
  memory.state.assign(state.begin(), state.end());
  return voice[0];
}

}  // namespace

Silero::Silero(const std::filesystem::path& file) : model_(file, {.keeps_plans = true}) {
  try {
    hearers()()(std::vector<float>(kWindow));
  } catch (const Error& error) {
    throw UserError("{} is no Silero model: {}", file.string(), error.what());
  }
}

MakeHearVoice Silero::hearers() {
  return [this]() -> HearVoice {
    return [this, memory = std::make_shared<Memory>()](std::span<const float> window) {
      return hear(model_, *memory, window);
    };
  };
}

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
