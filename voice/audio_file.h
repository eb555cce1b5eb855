#pragma once

#include <filesystem>

#include "voice/waveform.h"

namespace predgen {

/// A whole sound file of any rate and number of channels: WAV, FLAC, Ogg, what libsndfile reads.
/// UserError if it is missing, empty or not sound.
Waveform read_audio_file(const std::filesystem::path& file);

}  // namespace predgen
