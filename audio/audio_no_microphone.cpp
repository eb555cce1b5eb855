#include "audio/audio_microphone.h"
#include "core/error.h"

namespace predgen {

std::vector<std::string> microphone_names() { return {}; }

std::unique_ptr<AudioSource> open_microphone(const std::string&, int, Clock&, std::stop_token) {
  throw UserError(
      "this predgen was built without a microphone: build it with -DPREDGEN_MICROPHONE=ON, or give "
      "a sound file, or - for raw samples, such as those of arecord");
}

}  // namespace predgen
