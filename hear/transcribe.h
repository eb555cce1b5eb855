#pragma once

#include <functional>
#include <string>
#include <vector>

#include "audio/sound_file.h"
#include "core/error.h"
#include "hear/recogniser.h"

namespace predgen {

/// What was said between two pauses.
struct HeardPart {
  std::string text;
  double begin = 0, end = 0;  // seconds of the sound
};

/// What was heard in a recording, and how long it is.
struct Transcription {
  std::vector<HeardPart> parts{};
  double seconds = 0;

  std::string text() const;
};

/// The recogniser has failed.
class RecogniserError : public Error {
 public:
  using Error::Error;
};

/// Has a recogniser hear a recording, faster than it was spoken if it can, and no further ahead
/// than it follows. `on_part` is called in this thread for each part as it becomes known. `goes_on`
/// is asked now and then; false: what is known by then is returned. UserError for sound that is
/// broken, or longer than 4 hours; RecogniserError.
Transcription transcribe(SoundInMemory& sound, const MakeRecogniser& make_recogniser,
                         const std::function<void(const HeardPart& part)>& on_part,
                         const std::function<bool()>& goes_on);

}  // namespace predgen
