#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace predgen {

constexpr int kRecogniserRate = 16000;  // Hz

/// What the sound says of the voice, with words or without. Samples are those of the utterance.
struct HeardVoice {
  bool is_active = false;       // somebody is speaking
  int64_t since = 0;            // the sample with which that, or what was said last, began
  int64_t until = 0;            // behind the last sample of it so far
  bool is_in_words = false;     // the text has all of it
  std::optional<double> end{};  // how likely the turn is over, by the sound of what was said last
  // Samples that this is about; nothing: all so far. In a pause it is told every 100 ms.
  std::optional<int64_t> heard{};
};

/// What a recogniser has heard of one part of an utterance, between two pauses. Later ones of the
/// same number replace it.
struct RecognisedSegment {
  std::string text{};
  int64_t number = 0;
  bool is_over = false;               // the user has paused
  std::optional<HeardVoice> voice{};  // nothing: the recogniser does not tell
};

/// Who is told what was heard. Called by a thread of the recogniser; must not throw.
class RecogniserHandler {
 public:
  virtual ~RecogniserHandler() = default;

  virtual void on_segment(int64_t utterance, const RecognisedSegment& segment) = 0;
  /// All of its segments were told.
  virtual void on_end(int64_t utterance) = 0;
  /// All that was not told is lost; what is added from now on begins anew. `why` goes on from
  /// "the recogniser".
  virtual void on_failure(const std::string& why) = 0;
};

/// Makes words of the sound of one user, an utterance after the other, each with a number that
/// the caller counts up. Nothing of it waits. Thread-safe.
class Recogniser {
 public:
  virtual ~Recogniser() = default;

  /// More of an utterance, at kRecogniserRate. False: too much of it waits already; it was not
  /// taken.
  virtual bool add(int64_t utterance, std::vector<float> samples) = 0;
  /// There is no more of it; on_end() follows.
  virtual void finish(int64_t utterance) = 0;
  /// Nobody wants to know any more what it is; some of it may still be told.
  virtual void drop(int64_t utterance) = 0;
};

/// The handler is borrowed.
using MakeRecogniser = std::function<std::unique_ptr<Recogniser>(RecogniserHandler& handler)>;

}  // namespace predgen
