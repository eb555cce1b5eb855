#pragma once

#include <memory>
#include <string>

#include "runtime/speech/audio_sink.h"

namespace predgen {

/// "play", "none" or the name of a .wav file; UserError for anything else.
std::unique_ptr<AudioSink> make_audio_sink(const std::string& target, int sample_rate);

}  // namespace predgen
