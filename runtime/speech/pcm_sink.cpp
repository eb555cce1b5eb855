#include "runtime/speech/pcm_sink.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/speech/pcm16.h"

namespace predgen {

// A reader that ends is an error of write(), and not the end of this program.
PcmSink::PcmSink(int descriptor, std::stop_token stop)
    : descriptor_(descriptor), poll_(std::move(stop)) {
  signal(SIGPIPE, SIG_IGN);
}

static_assert(std::endian::native == std::endian::little);

void PcmSink::take(std::span<const float> samples) {
  const std::vector<int16_t> values = to_pcm16(samples);
  for (auto bytes = std::as_bytes(std::span(values)); !bytes.empty();) {
    poll_.wait(descriptor_, POLLOUT);  // until PIPE_BUF bytes can be written without waiting
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (n > 0) {
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      throw Error("cannot write audio: {}", std::strerror(errno));
    }
  }
}

}  // namespace predgen
