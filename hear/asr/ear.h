#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hear/recogniser.h"

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

/// How a decoder wants its sound.
struct DecoderPace {
  int64_t period = kRate * 2 / 5;  // samples of new sound that are worth another decode
  int64_t longest = 28 * kRate;    // samples of one segment at most
  int64_t lag =
      VoiceActivity::kPause;   // samples of silence after a word that is surely in the text
  int64_t mark = 4 * kWindow;  // samples of a pause after which the mark at the text's end counts
};

/// Why a decode is wanted; the later, the sooner.
enum class Need { kNothing, kPartial, kPause, kFinal };

/// One decode: the sound of a segment from its beginning.
struct DecodeJob {
  uint32_t stream = 0;
  int64_t segment = 0;
  Need need = Need::kNothing;
  std::vector<float> sound{};
  bool is_careful = false;  // the same sound was decoded, and the text is not sure
};

/// What a decoder made of it.
struct Decoded {
  std::string text{};
  bool is_end = false;  // the decoder itself hears the end of the segment
  bool is_sure = true;  // false: the same sound is to be decoded again, carefully
  // How sure each of the last words is: the probability of its least likely token. Empty: unknown.
  std::vector<double> certainties{};
};

/// Returns the probability of voice in the next window of a stream.
using HearVoice = std::function<double(std::span<const float> window)>;

/// One stream of sound: its voice activity, what is to be decoded, and which words are known. Has
/// no thread and no clock: sound is its time.
class Ear {
 public:
  Ear(HearVoice hear_voice, const DecoderPace& pace);

  void add(std::span<const float> samples);
  /// There is no more sound.
  void finish();

  /// What is to be decoded now: kNothing while a decode of this stream is running, which keeps
  /// partials from queueing.
  Need need() const;
  DecodeJob begin_decode();
  /// Whether the decode that is running cannot matter any more. It lacks voice after which there is
  /// a pause now, and delays the one that will have it; or it is a careful one for a pause, and the
  /// voice goes on. Never true of two decodes in a row, so that texts come.
  bool is_late() const;
  /// Whether the last decode was stopped: the next one must not be.
  bool was_stopped() const { return was_stopped_; }
  /// nullopt: it was stopped.
  void end_decode(const DecodeJob& job, const std::optional<Decoded>& decoded);

  /// The sound by which the end of the turn is judged, once per pause; at most kTurnSound samples,
  /// with the pause as if it had lasted 160 ms already, which the judge wants to hear.
  std::optional<std::vector<float>> take_turn_sound();
  void set_end(double probability) { end_ = probability; }

  /// What is known, if it has changed since the last call. In the order of the segments.
  std::optional<RecognisedSegment> take_news();
  /// The stream is finished, and everything was told.
  bool is_done() const;
  size_t num_kept() const { return sound_.size(); }  // samples that may still be needed

  static constexpr int64_t kTurnSound = 8 * kRate;

 private:
  struct Segment {
    int64_t number = 0;
    int64_t begin = 0, end = 0;  // samples; the end is valid if closed
    int64_t until = 0;           // after its last sample of voice
    int64_t voice = 0;           // samples of voice in it
    bool is_closed = false;
    int64_t decoded = -1;  // sound up to this sample is in the text; -1: none was decoded
    std::string text{};
    bool is_sure = true;  // the text

    /// Whether the text covers all of its voice, by what was decoded.
    bool is_covered(int64_t lag) const;
    bool is_whole(int64_t lag) const { return is_covered(lag) && is_sure; }
  };

  void hear_window(std::span<const float> window);
  void open_segment();
  static void close(Segment& segment, int64_t end);
  void forget_old_sound();
  int64_t heard() const { return begin_ + static_cast<int64_t>(sound_.size()); }
  std::vector<float> sound(int64_t begin, int64_t end) const;
  Segment* open();  // null: none is open
  RecognisedSegment state() const;

  const HearVoice hear_voice_;
  const DecoderPace pace_;
  VoiceActivity activity_;
  std::vector<float> sound_;      // what may still be needed
  int64_t begin_ = 0;             // the number of its first sample
  int64_t judged_ = 0;            // samples that the voice activity has heard
  int64_t turn_begin_ = 0;        // where the sound by which a turn's end is judged begins
  std::deque<Segment> segments_;  // not told to their ends: closed ones, then at most one open
  int64_t next_number_ = 0;
  int64_t cost_ = 0;                       // samples of sound that came while the last decode ran
  int64_t told_until_ = 0;                 // where the last segment that was told to its end ended
  std::optional<int64_t> decoding_until_;  // the end of the running decode's sound
  bool is_careful_ = false;                // the running decode
  bool was_stopped_ = false, is_finished_ = false, is_end_judged_ = false;
  std::optional<double> end_;
  RecognisedSegment told_{.voice = HeardVoice{.is_in_words = true}};
};

}  // namespace predgen::ears
