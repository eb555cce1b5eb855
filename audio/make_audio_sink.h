#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "audio/audio_sink.h"
#include "audio/played_sound.h"

namespace predgen {

/// "play", "none", "-" (raw 16-bit samples on stdout) or the name of a .wav file; UserError for
/// anything else. Rates in Hz: of the samples that will be written, and of the file or stream,
/// where 0 means the samples' own. For a loudspeaker that does not play `sample_rate`, sound is
/// resampled. A sink that waits throws Interrupted after a stop. `played`: begins if this is a
/// loudspeaker, and outlives it; null: not needed.
std::unique_ptr<AudioSink> make_audio_sink(const std::string& target, int sample_rate,
                                           int output_rate, std::stop_token stop,
                                           PlayedSound* played = nullptr);

}  // namespace predgen
