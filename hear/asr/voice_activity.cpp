#include "hear/asr/voice_activity.h"

namespace predgen::ears {
namespace {

// As Silero's own: a continuing voice may be less certain than a beginning one.
constexpr double kVoice = 0.5, kStillVoice = 0.35;

}  // namespace

void VoiceActivity::add(double probability) {
  heard_ += kWindow;
  const bool is_voice = probability >= (is_active_ || run_ > 0 ? kStillVoice : kVoice);
  if (is_active_ && is_voice) {
    until_ = heard_;
    phrase_voice_ += kWindow;
  } else if (is_voice) {
    run_ += kWindow;
    if (run_ >= (is_phrase_ ? kGoOn : kBegin)) {
      if (!is_phrase_) {
        since_ = heard_ - run_;
        phrase_voice_ = 0;
      }
      is_phrase_ = is_active_ = true;
      until_ = heard_;
      phrase_voice_ += run_;
      run_ = 0;
    }
  } else {
    run_ = 0;
    if (silence() >= kPause) is_active_ = false;
    // A possible return of the voice keeps the phrase open until it is decided.
    if (silence() >= kOver) is_phrase_ = false;
  }
}

}  // namespace predgen::ears
