#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

namespace predgen {

/// What stands before the sound of a WAV file.
struct WavHead {
  std::string bytes;  // as they should be
  int64_t begin = 0;  // of the sound in the file
};

/// The head of a WAV file whose own is wrong: its sizes were never filled in, the file is cut off,
/// or a chunk before the sound lacks its padding. nullopt: it is right, or no WAV file's. `length`:
/// of the file, in bytes.
std::optional<WavHead> mended_wav_head(std::istream& file, int64_t length);

}  // namespace predgen
