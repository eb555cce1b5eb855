#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "audio/audio_source.h"

namespace predgen {

/// Whether make_audio_source() takes `from` for a microphone.
bool is_microphone(const std::string& from);

/// "mic", "mic:" plus a part of a device's name, "-" (raw 16-bit mono samples on standard input) or
/// a sound file. `raw_rate`: of raw samples, in Hz. The clock, which is borrowed, paces sound that
/// was recorded before, and waits for a microphone's. UserError for what cannot be opened; a source
/// that waits throws Interrupted after a stop.
std::unique_ptr<AudioSource> make_audio_source(const std::string& from, int raw_rate, Clock& clock,
                                               std::stop_token stop);

}  // namespace predgen
