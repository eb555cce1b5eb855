#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "audio/audio_sink.h"
#include "runtime/speech/speaker.h"
#include "runtime/speech/virtual_speaker.h"
#include "voice/voice.h"

namespace predgen {

/// What it points to is borrowed by the speaker.
struct SpeakerOptions {
  SpeechSynthesizer* voice = nullptr;  // null: none
  AudioSink* sink = nullptr;           // a voice in real time needs one
  AheadBuffer ahead{};
  std::optional<SpeechCost> cost{};  // on a virtual clock: a cost instead of measured time
  bool same_device = false;          // on a virtual clock: voice and model take turns
};

/// The speaker that goes with the clock: threads in real time, a timeline on a virtual clock, and
/// silence where there is neither a voice nor a cost. After a stop its waits throw Interrupted.
std::unique_ptr<Speaker> make_speaker(Clock& clock, const SpeakerOptions& options,
                                      const std::stop_token& stop);

}  // namespace predgen
