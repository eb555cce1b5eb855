#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "hear/turn_recogniser.h"
#include "serve/api_error.h"
#include "serve/realtime/line_format.h"
#include "serve/realtime/turn_detection.h"

namespace predgen::serve {

/// A turn that was spoken, as an item of the conversation.
struct SpokenTurn : RecognisedTurn {
  std::string item{};
  bool responds = false;
};

/// Receives what was recognised. Called by any thread, one call at a time.
class SpeechListener {
 public:
  virtual ~SpeechListener() = default;

  /// First words. `milliseconds`: of all sound so far.
  virtual void on_speech(const std::string& item, int64_t milliseconds, bool interrupts) = 0;
  /// All words of the turn so far.
  virtual void on_words(const std::string& words) = 0;
  virtual void on_turn(const SpokenTurn& turn) = 0;
  /// The turn in progress is lost, with those that were committed.
  virtual void on_lost(const ApiError& error) = 0;
};

/// The input_audio_buffer of a conversation: TurnRecogniser in the words of the API, with an item
/// for each turn. Thread-safe, but sound comes, and its format changes, in one thread.
class SoundIn : private RecognisedTurnHandler {
 public:
  /// Borrows all; the listener must not hold its lock while it calls this.
  SoundIn(const MakeRecogniser& make_recogniser, Clock& clock, SpeechListener& listener);

  void detect_turns(const TurnDetection& detection);
  /// TurnRecogniser::set_on_pause().
  void set_on_pause(std::function<void(const std::string& words)> on_pause) {
    turns_.set_on_pause(std::move(on_pause));
  }
  /// Of the sound from now on.
  void set_format(const LineFormat& format);
  /// Any number of bytes in that format, in base64. ApiError for anything else.
  void append(const std::string& base64);
  /// SpeechListener::on_turn() follows. ApiError if there is no sound, or it was lost.
  void commit();
  /// Forgets the turn in progress.
  void clear();
  /// TurnRecogniser::expect_end().
  void expect_end(const std::string& words, double probability) {
    turns_.expect_end(words, probability);
  }

 private:
  /// The turn whose beginning was reported last.
  struct Item {
    int64_t turn;
    std::string id;
  };

  void on_speech(int64_t number, int64_t milliseconds) override;
  void on_words(const std::string& words) override { listener_.on_words(words); }
  void on_turn(const RecognisedTurn& turn) override;
  void on_lost(const SoundError& why) override;

  /// SoundErrors become ApiErrors.
  void add(std::span<const float> samples);

  SpeechListener& listener_;
  std::optional<LineDecoder> decoder_;
  std::atomic<bool> creates_response_ = true, interrupts_response_ = true;
  std::optional<Item> item_;  // used by handler calls, one at a time
  TurnRecogniser turns_;      // last: its threads use the others
};

}  // namespace predgen::serve
