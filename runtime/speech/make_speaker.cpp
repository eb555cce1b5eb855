#include "runtime/speech/make_speaker.h"

#include "core/error.h"
#include "runtime/speech/threaded_speaker.h"

namespace predgen {

std::unique_ptr<Speaker> make_speaker(Clock& clock, const SpeakerOptions& options,
                                      const std::stop_token& stop) {
  auto* virtual_clock = dynamic_cast<VirtualClock*>(&clock);
  if (!options.voice && !(virtual_clock && options.cost)) return std::make_unique<SilentSpeaker>();
  if (virtual_clock) {
    return std::make_unique<VirtualSpeaker>(
        *virtual_clock,
        VirtualSpeaker::Options{.cost = options.cost,
                                .synthesizer = options.voice,
                                .sink = options.sink,
                                .ahead = options.ahead,
                                .same_device = options.same_device},
        stop);
  }
  PREDGEN_CHECK(options.sink, "a voice in real time needs a sink");
  return std::make_unique<ThreadedSpeaker>(*options.voice, *options.sink, clock, options.ahead,
                                           stop);
}

}  // namespace predgen
