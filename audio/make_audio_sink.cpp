#include "audio/make_audio_sink.h"

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
#include <utility>
#include <vector>

#include "audio/audio_sink.h"
#include "audio/player_sink.h"
#include "audio/resampler.h"
#include "audio/sample_encoding.h"
#include "core/error.h"

namespace predgen {

// A reader that ends becomes an error of write(), not the end of this program.
PcmSink::PcmSink(int descriptor, int sample_rate, std::stop_token stop, const Clock* clock)
    : descriptor_(descriptor),
      sample_rate_(sample_rate),
      system_clock_(stop),
      clock_(clock ? *clock : system_clock_),
      poll_(std::move(stop)) {
  signal(SIGPIPE, SIG_IGN);
}

static_assert(std::endian::native == std::endian::little);

void PcmSink::write(std::span<const float> samples) {
  constexpr int kLook = 20;  // ms, at gives_up_
  const std::vector<int16_t> values = to_pcm16(samples);
  for (auto bytes = std::as_bytes(std::span(values)); !bytes.empty() && !gives_up_;) {
    // Until PIPE_BUF bytes can be written without waiting.
    if (!poll_.wait(descriptor_, POLLOUT, kLook)) continue;
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) throw Error("cannot write audio: {}", std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
    const int64_t count = n / static_cast<ssize_t>(sizeof(int16_t));
    const Lock lock(mutex_);
    num_written_ += count;
    end_ = std::max(end_, clock_.now()) + Seconds(static_cast<double>(count) / sample_rate_);
  }
}

int64_t PcmSink::num_played() const {
  const Lock lock(mutex_);
  const double left = std::max((end_ - clock_.now()).count(), 0.0) * sample_rate_;
  return num_written_ - static_cast<int64_t>(std::ceil(left));
}

namespace {

class NullSink : public InstantSink {
  void take(std::span<const float>) override {}
};

std::unique_ptr<AudioSink> at_rate(std::unique_ptr<AudioSink> sink, int from_rate, int to_rate) {
  if (from_rate == to_rate) return sink;
  return std::make_unique<ResamplingSink>(std::move(sink), from_rate, to_rate);
}

}  // namespace

std::unique_ptr<AudioSink> make_audio_sink(const std::string& target, int sample_rate,
                                           int output_rate, std::stop_token stop,
                                           PlayedSound* played) {
  if (output_rate == 0) output_rate = sample_rate;
  if (target == "none") return std::make_unique<NullSink>();
  if (target == "play") {
    auto player = std::make_unique<PlayerSink>(output_rate, std::move(stop), played);
    const int device_rate = player->sample_rate();
    return at_rate(std::move(player), sample_rate, device_rate);
  }
  if (target == "-") {
    return at_rate(std::make_unique<PcmSink>(STDOUT_FILENO, output_rate, std::move(stop)),
                   sample_rate, output_rate);
  }
  if (target.ends_with(".wav")) {
    return at_rate(std::make_unique<WavSink>(target, output_rate), sample_rate, output_rate);
  }
  throw UserError("audio goes to play, none, - (stdout) or a file that ends in .wav, not to '{}'",
                  target);
}

}  // namespace predgen
