#pragma once

#include <cstdint>

namespace predgen::ears {

constexpr int kRate = 16000;      // Hz
constexpr int64_t kWindow = 512;  // samples that get one probability: 32 ms

/// Detects when somebody speaks, from the probability of voice in successive windows of sound. A
/// phrase is what is said between two silences of kOver. It is active except in pauses: those are
/// noticed at once, so that what was said can be processed while it may yet go on.
class VoiceActivity {
 public:
  static constexpr int64_t kPause = kWindow;   // samples of silence: few gaps in words have that
  static constexpr int64_t kOver = kRate / 2;  // that end a phrase
  static constexpr int64_t kBegin =
      3 * kWindow;  // samples of voice that begin one: a click has less
  static constexpr int64_t kGoOn = 2 * kWindow;  // that end a pause

  /// The next window.
  void add(double probability);

  bool is_active() const { return is_active_; }
  bool is_phrase() const { return is_phrase_; }
  int64_t since() const { return since_; }  // the sample with which the last phrase began
  int64_t until() const { return until_; }  // after the last one of voice; 0: there was none
  int64_t silence() const { return heard_ - until_; }     // samples after it
  int64_t phrase_voice() const { return phrase_voice_; }  // samples of voice in the phrase

 private:
  int64_t heard_ = 0;  // samples
  int64_t run_ = 0;    // samples of voice in a row, before it is active
  bool is_active_ = false, is_phrase_ = false;
  int64_t since_ = 0, until_ = 0, phrase_voice_ = 0;
};

}  // namespace predgen::ears
