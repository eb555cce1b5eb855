#include "audio/echo/echo_canceller.h"

#include <speex/speex_echo.h>
#include <speex/speex_preprocess.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "audio/echo/echo_reference.h"
#include "core/error.h"

namespace predgen {
namespace {

constexpr float kFullScale = 32'768;

void to_integers(std::span<const float> samples, std::span<spx_int16_t> frame) {
  PREDGEN_CHECK(samples.size() == frame.size(), "a frame has {} samples", samples.size());
  std::ranges::transform(samples, frame.begin(), [](float sample) {
    return static_cast<spx_int16_t>(
        std::lround(std::clamp(sample * kFullScale, -kFullScale, kFullScale - 1)));
  });
}

}  // namespace

bool has_echo_canceller() { return true; }

struct EchoCanceller::State {
  template <auto kDestroy>
  struct Destroy {
    template <typename T>
    void operator()(T* state) const {
      kDestroy(state);
    }
  };
  using Frame = std::array<spx_int16_t, kFrame>;
  // The second one reads the first one's estimates.
  std::unique_ptr<SpeexEchoState, Destroy<speex_echo_state_destroy>> echo;
  std::unique_ptr<SpeexPreprocessState, Destroy<speex_preprocess_state_destroy>> rest;
  Frame heard{}, played{}, cleaned{};
  std::array<float, kFrame> output{};
};

EchoCanceller::EchoCanceller() : state_(std::make_unique<State>()) {
  int rate = EchoReference::kRate;
  state_->echo.reset(speex_echo_state_init(kFrame, kFilter));
  state_->rest.reset(speex_preprocess_state_init(kFrame, rate));
  if (!state_->echo || !state_->rest) throw Error("no memory for the echo canceller");
  speex_echo_ctl(state_->echo.get(), SPEEX_ECHO_SET_SAMPLING_RATE, &rate);
  speex_preprocess_ctl(state_->rest.get(), SPEEX_PREPROCESS_SET_ECHO_STATE, state_->echo.get());
}

EchoCanceller::~EchoCanceller() = default;

std::span<const float> EchoCanceller::process(std::span<const float> heard,
                                              std::span<const float> played) {
  State& state = *state_;
  to_integers(heard, state.heard);
  to_integers(played, state.played);
  speex_echo_cancellation(state.echo.get(), state.heard.data(), state.played.data(),
                          state.cleaned.data());
  speex_preprocess_run(state.rest.get(), state.cleaned.data());
  std::ranges::transform(state.cleaned, state.output.begin(), [](spx_int16_t sample) {
    return static_cast<float>(sample) / kFullScale;
  });
  return state.output;
}

}  // namespace predgen
