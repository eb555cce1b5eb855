#include "audio/echo/echo_canceller.h"
#include "core/error.h"

namespace predgen {

bool has_echo_canceller() { return false; }

struct EchoCanceller::State {};

EchoCanceller::EchoCanceller() {
  throw UserError(
      "this predgen was built without an echo canceller: build it with -DPREDGEN_ECHO=ON where "
      "libspeexdsp-dev is installed");
}

EchoCanceller::~EchoCanceller() = default;

std::span<const float> EchoCanceller::process(std::span<const float> heard,
                                              std::span<const float>) {
  return heard;
}

}  // namespace predgen
