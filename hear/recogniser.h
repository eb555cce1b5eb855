#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audio/audio_source.h"

namespace predgen {

/// Voice activity, with or without words. Samples are counted within the utterance.
struct HeardVoice {
  bool is_active = false;       // somebody is speaking
  int64_t since = 0;            // first sample of the current speech, else of the last
  int64_t until = 0;            // after the last sample of that speech so far
  bool is_in_words = false;     // the text covers all of it
  std::optional<double> end{};  // how likely the turn is over, by the sound of what was said last
  // Samples that this covers; nullopt: all so far. In a pause it is told every 100 ms.
  std::optional<int64_t> heard{};
};

/// What a recogniser has heard of one part of an utterance, between two pauses. A later one with
/// the same number replaces it.
struct RecognisedSegment {
  std::string text{};
  int64_t number = 0;
  bool is_over = false;               // the user has paused
  std::optional<HeardVoice> voice{};  // nullopt: not reported by this recogniser
};

/// Is told what was heard. Called by a thread of the recogniser; must not throw.
class RecogniserHandler {
 public:
  virtual ~RecogniserHandler() = default;

  virtual void on_segment(int64_t utterance, const RecognisedSegment& segment) = 0;
  /// All segments of the utterance were told.
  virtual void on_end(int64_t utterance) = 0;
  /// Whatever was not told is lost; sound added from now on starts afresh. `why` continues "the
  /// recogniser".
  virtual void on_failure(const std::string& why) = 0;
};

/// Turns one user's sound into words, utterance by utterance, each with a number that the caller
/// increments. No call blocks. Thread-safe.
class Recogniser {
 public:
  virtual ~Recogniser() = default;

  /// Adds sound to an utterance, at kRecogniserRate. False: too much is queued already; it was not
  /// taken.
  virtual bool add(int64_t utterance, std::vector<float> samples) = 0;
  /// The utterance has no more sound; on_end() follows.
  virtual void finish(int64_t utterance) = 0;
  /// The utterance's words are no longer wanted; some may still be told.
  virtual void drop(int64_t utterance) = 0;
};

/// The handler is borrowed.
using MakeRecogniser = std::function<std::unique_ptr<Recogniser>(RecogniserHandler& handler)>;

}  // namespace predgen
