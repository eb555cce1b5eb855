#include "hear/asr/silero.h"

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

double hear(OnnxModel& model, Memory& memory, std::span<const float> window) {
  std::copy(memory.input.end() - kContext, memory.input.end(), memory.input.begin());
  std::ranges::copy(window, memory.input.begin() + kContext);
  constexpr std::array<int64_t, 1> kHertz{kRate};
  auto outputs = model.run({{"input", {1, kContext + kWindow}, memory.input},
                            {"state", {2, 1, kState / 2}, memory.state},
                            {"sr", {}, {}, kHertz}},
                           {"output", "stateN"});
  if (outputs[0].size() != 1 || outputs[1].size() != kState) {
    throw UserError("the voice activity model is not Silero's: its outputs have another size");
  }
  memory.state = std::move(outputs[1]);
  return outputs[0][0];
}

}  // namespace

Silero::Silero(const std::filesystem::path& file) : model_(file) {
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

}  // namespace predgen::ears
