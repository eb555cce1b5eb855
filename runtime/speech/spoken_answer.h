#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "audio/audio_sink.h"
#include "core/clock.h"

namespace predgen {

/// What was said of an answer, and how much of its sound was played.
struct SpokenAnswer {
  struct Sentence {
    std::string text;       // as it stands in the answer
    Seconds length{0};      // of its sound, as far as it was made
    bool is_whole = false;  // no more will be made
  };
  std::vector<Sentence> sentences{};
  Seconds played{0};  // of the sound of all of them
};

/// The part of an answer's text that was heard, from its beginning: whole sentences, then whole
/// words of the one that was cut off, by share_of_text(). All of the answer if all was said and
/// heard, empty if nothing was played.
std::string heard_text(const std::string& answer, const SpokenAnswer& spoken);

/// The part of a text said in this share, 0 - 1, of its sound, assuming a constant speaking rate.
/// Whole words, or whole characters in scripts that put no spaces between words.
std::string_view share_of_text(std::string_view text, double share);

/// Tracks what a speaker says and writes to its sink, to find the SpokenAnswer. Used by one thread
/// at a time; borrows the sink.
class SpokenTrack {
 public:
  /// `sample_rate`: Hz, of what the sink's write() takes.
  SpokenTrack(const AudioSink& sink, int sample_rate) : sink_(sink), sample_rate_(sample_rate) {}

  /// This sentence comes next; the first one after end_answer() begins a new answer. Returns its
  /// number in that.
  size_t say(const std::string& sentence);
  /// More samples of the sentence were made, or (finish()) all.
  void add_sound(size_t sentence, int64_t num_samples);
  void finish(size_t sentence) { sentences_[sentence].is_whole = true; }
  /// Call before each write() to the sink.
  void will_write(int64_t num_samples);
  /// The sink was cleared.
  void cleared() { is_cleared_ = true; }
  void end_answer() { has_ended_ = true; }

  /// The last answer of which something was said.
  SpokenAnswer answer() const;

 private:
  struct Sentence {
    std::string text;
    int64_t num_samples = 0;
    bool is_whole = false;
  };
  const AudioSink& sink_;
  const int sample_rate_;
  std::vector<Sentence> sentences_;
  bool has_ended_ = true;
  // In samples that the sink has played, or will have if it is not cleared before.
  int64_t begin_ = 0, end_ = 0;  // of what was written of this answer
  bool is_written_ = false;      // at least in part
  bool is_cleared_ = true;       // then end_ is the sink's position
};

}  // namespace predgen
