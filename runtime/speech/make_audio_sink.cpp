#include "runtime/speech/make_audio_sink.h"

#include "core/error.h"
#include "runtime/speech/player_sink.h"
#include "runtime/speech/wav_sink.h"

namespace predgen {
namespace {

class NullSink : public AudioSink {
 public:
  void write(std::span<const float>) override {}
  void clear() override {}
  void drain() override {}
};

}  // namespace

std::unique_ptr<AudioSink> make_audio_sink(const std::string& target, int sample_rate) {
  if (target == "play") return std::make_unique<PlayerSink>(sample_rate);
  if (target == "none") return std::make_unique<NullSink>();
  if (target.ends_with(".wav")) return std::make_unique<WavSink>(target, sample_rate);
  throw UserError("audio goes to play, none or a file that ends in .wav, not to '{}'", target);
}

}  // namespace predgen
