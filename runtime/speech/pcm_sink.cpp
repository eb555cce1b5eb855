#include "runtime/speech/pcm_sink.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/interrupt.h"

namespace predgen {

static_assert(std::endian::native == std::endian::little);

void PcmSink::write(std::span<const float> samples) {
  std::vector<int16_t> values(samples.size());
  std::ranges::transform(samples, values.begin(), [](float sample) {
    return static_cast<int16_t>(std::lrint(std::clamp(sample * 32768.0f, -32768.0f, 32767.0f)));
  });
  for (auto bytes = std::as_bytes(std::span(values)); !bytes.empty();) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n > 0) {
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (errno == EINTR) {
      throw_if_interrupted();
    } else {
      throw Error("cannot write audio: {}", std::strerror(errno));
    }
  }
}

}  // namespace predgen
