#include "audio/make_audio_source.h"

#include <unistd.h>

#include <utility>

#include "audio/audio_file_source.h"
#include "audio/audio_microphone.h"
#include "audio/audio_pipe_source.h"

namespace predgen {
namespace {

const std::string kNamed = "mic:";

}  // namespace

bool is_microphone(const std::string& from) { return from == "mic" || from.starts_with(kNamed); }

std::unique_ptr<AudioSource> make_audio_source(const std::string& from, int raw_rate, Clock& clock,
                                               std::stop_token stop) {
  if (is_microphone(from)) {
    const std::string device = from == "mic" ? "" : from.substr(kNamed.size());
    return open_microphone(device, kRecogniserRate, clock, std::move(stop));
  }
  if (from == "-") {
    return std::make_unique<AudioPipeSource>(STDIN_FILENO, raw_rate, clock, std::move(stop));
  }
  return std::make_unique<AudioFileSource>(from, clock);
}

}  // namespace predgen
