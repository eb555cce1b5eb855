#include "audio/make_audio_sink.h"

#include <unistd.h>

#include <utility>

#include "audio/instant_sink.h"
#include "audio/pcm_sink.h"
#include "audio/player_sink.h"
#include "audio/resampling_sink.h"
#include "audio/wav_sink.h"
#include "core/error.h"

namespace predgen {
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
