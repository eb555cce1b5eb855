#include "runtime/speech/pcm_sink.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
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
namespace {

/// Until at least PIPE_BUF bytes can be written without waiting; a slow reader holds up nobody who
/// presses Ctrl-C.
void wait_until_writable(int descriptor) {
  constexpr int kMilliseconds = 50;
  pollfd wanted{.fd = descriptor, .events = POLLOUT, .revents = 0};
  while (poll(&wanted, 1, kMilliseconds) == 0) throw_if_interrupted();
  throw_if_interrupted();
}

}  // namespace

// A reader that ends is an error of write(), and not the end of this program.
PcmSink::PcmSink(int descriptor) : descriptor_(descriptor) { signal(SIGPIPE, SIG_IGN); }

static_assert(std::endian::native == std::endian::little);

void PcmSink::write(std::span<const float> samples) {
  std::vector<int16_t> values(samples.size());
  std::ranges::transform(samples, values.begin(), [](float sample) {
    return static_cast<int16_t>(std::lrint(std::clamp(sample * 32768.0f, -32768.0f, 32767.0f)));
  });
  for (auto bytes = std::as_bytes(std::span(values)); !bytes.empty();) {
    wait_until_writable(descriptor_);
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (n > 0) {
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      throw Error("cannot write audio: {}", std::strerror(errno));
    }
  }
}

}  // namespace predgen
