#include "hear/asr/ear.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "hear/asr/heard_text.h"

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

namespace {

constexpr int64_t kInFront = kRate / 2;        // of a segment: the beginning of its first word
constexpr int64_t kFirstDecode = kRate / 4;    // samples of voice before the first one
constexpr int64_t kJudgeAfter = 2 * kWindow;   // samples of a pause
constexpr int64_t kJudgedPause = 5 * kWindow;  // that the judge wants to hear; it may have to come
constexpr int64_t kSettled = 4 * kWindow;      // samples of a pause: its words are all
constexpr int64_t kTold = kRate / 10;          // samples of a pause, after which it is told again
constexpr int64_t kToldPause = 4 * kRate;   // samples; the length of a longer one is not reported
constexpr int64_t kOtherTurn = 2 * kRate;   // samples of silence that separate turns
constexpr int64_t kMostPeriod = 2 * kRate;  // samples of new sound between two decodes
constexpr size_t kMostSegments = 4;         // that wait for their words

// The probability from which on a partial's last word is told. With a higher one, the last words of
// a turn are known later (docs/speech.md, "Two recognisers").
constexpr double kTellLast = 0.3;

/// The sound ends within a word, for which recognisers invent another one.
bool ends_in_doubt(const DecodeJob& job, const Decoded& decoded) {
  return job.need == Need::kPartial && !decoded.certainties.empty() &&
         decoded.certainties.back() < kTellLast;
}

/// Unless it is the only one: that somebody speaks is to be known.
std::string without_last_word(const std::string& text) {
  const std::string_view all = trimmed(text);
  return std::string(all.substr(0, all.find_last_of(' ')));
}

}  // namespace

Ear::Ear(HearVoice hear_voice, const DecoderPace& pace)
    : hear_voice_(std::move(hear_voice)), pace_(pace) {}

void Ear::add(std::span<const float> samples) {
  sound_.insert(sound_.end(), samples.begin(), samples.end());
  while (heard() - judged_ >= kWindow) {
    hear_window(std::span(sound_).subspan(static_cast<size_t>(judged_ - begin_), kWindow));
  }
  forget_old_sound();
}

void Ear::hear_window(std::span<const float> window) {
  const bool was_phrase = activity_.is_phrase(), was_active = activity_.is_active();
  const int64_t voiced_until = activity_.until();
  const int64_t voice = was_phrase ? activity_.phrase_voice() : 0;
  activity_.add(hear_voice_(window));
  judged_ += kWindow;
  if (activity_.is_active() && !was_active) {
    end_.reset();
    is_end_judged_ = false;
    if (activity_.since() - voiced_until > kOtherTurn) turn_begin_ = activity_.since() - kInFront;
  }
  if (activity_.is_active() && open() == nullptr) open_segment();
  Segment* const segment = open();
  if (segment == nullptr) return;
  segment->until = activity_.until();
  segment->voice += activity_.phrase_voice() - voice;
  const bool is_too_long = judged_ - segment->begin >= pace_.longest;
  if (!activity_.is_phrase() || is_too_long) close(*segment, judged_);
}

Ear::Segment* Ear::open() {
  return segments_.empty() || segments_.back().is_closed ? nullptr : &segments_.back();
}

void Ear::open_segment() {
  const int64_t past = segments_.empty() ? told_until_ : segments_.back().end;
  const int64_t begin = std::max(past, judged_ - VoiceActivity::kBegin - kInFront);
  segments_.push_back({.number = next_number_++, .begin = begin});
  // Words of the oldest segment that there was no time to decode are lost.
  if (segments_.size() > kMostSegments && !decoding_until_) {
    segments_.front().decoded = judged_;
    segments_.front().is_sure = true;  // there is no time for a second decode either
  }
}

void Ear::close(Segment& segment, int64_t end) {
  segment.is_closed = true;
  segment.end = end;
}

void Ear::finish() {
  if (heard() > judged_) add(std::vector<float>(static_cast<size_t>(judged_ + kWindow - heard())));
  if (Segment* const segment = open()) close(*segment, judged_);
  is_finished_ = true;
}

bool Ear::Segment::is_covered(int64_t lag) const {
  return decoded >= until + lag || (is_closed && decoded >= end);
}

Need Ear::need() const {
  if (segments_.empty() || decoding_until_) return Need::kNothing;
  const Segment& next = segments_.front();
  if (next.is_whole(pace_.lag)) return Need::kNothing;
  if (next.is_closed) return Need::kFinal;
  // At most half of the time goes into partials.
  const bool has_more = judged_ - next.decoded >= std::clamp(2 * cost_, pace_.period, kMostPeriod);
  if (!activity_.is_active()) {
    const bool is_new = next.decoded < next.until + VoiceActivity::kPause;
    return is_new || !next.is_sure || has_more ? Need::kPause : Need::kNothing;
  }
  const bool is_worth_it = next.decoded < 0 ? next.voice >= kFirstDecode : has_more;
  return is_worth_it ? Need::kPartial : Need::kNothing;
}

DecodeJob Ear::begin_decode() {
  const Segment& next = segments_.front();
  const Need need = next.is_closed          ? Need::kFinal
                    : activity_.is_active() ? Need::kPartial
                                            : Need::kPause;
  is_careful_ = need != Need::kPartial && next.is_covered(pace_.lag) && !next.is_sure;
  decoding_until_ = is_careful_ ? next.decoded : next.is_closed ? next.end : judged_;
  return {.segment = next.number,
          .need = need,
          .sound = sound(next.begin, *decoding_until_),
          .is_careful = is_careful_};
}

bool Ear::is_late() const {
  if (!decoding_until_ || was_stopped_ || segments_.empty()) return false;
  const Segment& front = segments_.front();
  if (is_careful_ && !front.is_closed && activity_.is_active()) return true;
  if (front.is_closed) return *decoding_until_ < std::min(front.end, front.until + pace_.lag);
  return !activity_.is_active() && *decoding_until_ < front.until + VoiceActivity::kPause;
}

void Ear::end_decode(const DecodeJob& job, const std::optional<Decoded>& decoded) {
  decoding_until_.reset();
  was_stopped_ = !decoded;
  if (!decoded || segments_.empty() || segments_.front().number != job.segment) return;
  Segment& segment = segments_.front();
  const bool is_doubtful = ends_in_doubt(job, *decoded);
  segment.text = believable_text(is_doubtful ? without_last_word(decoded->text) : decoded->text,
                                 segment.voice);
  segment.is_sure = decoded->is_sure && !is_doubtful;
  segment.decoded = segment.begin + static_cast<int64_t>(job.sound.size());
  cost_ = judged_ - segment.decoded;
  if (decoded->is_end && !segment.is_closed) close(segment, segment.decoded);
}

std::optional<std::vector<float>> Ear::take_turn_sound() {
  const bool is_time = activity_.is_phrase() && activity_.silence() >= kJudgeAfter;
  if (!is_time || is_end_judged_) return std::nullopt;
  is_end_judged_ = true;
  const int64_t missing = std::max<int64_t>(kJudgedPause - activity_.silence(), 0);
  std::vector<float> turn =
      sound(std::max({begin_, turn_begin_, judged_ + missing - kTurnSound}), judged_);
  turn.resize(turn.size() + static_cast<size_t>(missing));
  return turn;
}

RecognisedSegment Ear::state() const {
  RecognisedSegment state{.number = next_number_};
  HeardVoice voice{.is_active = activity_.is_active(),
                   .since = activity_.since(),
                   .until = activity_.until(),
                   .is_in_words = !activity_.is_active(),
                   .end = end_};
  if (activity_.until() > 0 && activity_.silence() < kToldPause) voice.heard = judged_;
  if (!segments_.empty()) {
    const Segment& front = segments_.front();
    const bool is_all = front.is_whole(pace_.lag);
    const auto has_lasted = [&](int64_t pause) {
      return front.is_closed || activity_.silence() >= pause;
    };
    state.text = is_all && has_lasted(pace_.mark) ? front.text : without_end_mark(front.text);
    state.number = front.number;
    state.is_over = is_all && front.is_closed;
    voice.is_in_words =
        !activity_.is_active() && is_all && has_lasted(kSettled) && segments_.size() == 1;
  }
  state.voice = voice;
  return state;
}

std::optional<RecognisedSegment> Ear::take_news() {
  const auto matters = [](const RecognisedSegment& one) {
    const HeardVoice& voice = *one.voice;
    const bool is_pause = !voice.is_active && voice.is_in_words;
    return std::tuple(one.number, one.text, one.is_over, voice.is_active, voice.is_in_words,
                      voice.end, is_pause ? voice.heard.value_or(0) / kTold : 0);
  };
  RecognisedSegment now = state();
  if (matters(now) == matters(told_)) return std::nullopt;
  told_ = now;
  if (now.is_over) {
    told_until_ = segments_.front().end;
    segments_.pop_front();
    told_.text.clear();
    told_.is_over = false;
    ++told_.number;
  }
  return now;
}

bool Ear::is_done() const { return is_finished_ && segments_.empty() && !decoding_until_; }

std::vector<float> Ear::sound(int64_t begin, int64_t end) const {
  return {sound_.begin() + (begin - begin_), sound_.begin() + (end - begin_)};
}

void Ear::forget_old_sound() {
  int64_t needed = judged_ - kTurnSound;
  if (!segments_.empty()) needed = std::min(needed, segments_.front().begin);
  if (needed - begin_ < kRate) return;  // in large steps
  sound_.erase(sound_.begin(), sound_.begin() + (needed - begin_));
  begin_ = needed;
}

}  // namespace predgen::ears
