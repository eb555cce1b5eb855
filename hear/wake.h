#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace predgen {

/// A phrase by which a user speaks to the assistant, found in what a recogniser heard. Its letters
/// are compared, not its words: "Hey, Jar vis!" is "hey jarvis". One letter in five may differ.
class WakePhrase {
 public:
  /// UserError unless it has kFewestLetters.
  explicit WakePhrase(const std::string& phrase);

  /// Where what follows the phrase begins in `words`: the last time that it is said. nullopt: it is
  /// not.
  std::optional<size_t> end_in(const std::string& words) const;

  static constexpr size_t kFewestLetters = 4;  // shorter ones are in too much that people say

 private:
  std::u32string letters_;
  size_t num_words_;
};

struct WakeRules {
  std::string phrase{};
  Seconds follow_up{8};  // after an answer, in which the phrase is not needed
};

/// Which of the user's words are meant for the assistant: those after a phrase, those said while it
/// answers, and what is begun soon after an answer or after the phrase alone. Pure; times never
/// decrease. Used by one thread at a time.
class Wake {
 public:
  /// UserError as WakePhrase.
  explicit Wake(const WakeRules& rules) : rules_(rules), phrase_(rules.phrase) {}

  /// Whether words count now without the phrase.
  bool is_awake(Seconds now) const { return is_answering_ || now < awake_until_; }
  /// The voice begins or pauses. Whether it counts before there are words.
  bool on_voice(Seconds now, bool is_active);
  /// What counts of the words of the user's turn so far. They may be fewer than before.
  std::string on_words(Seconds now, const std::string& words);
  /// The same when the turn is over.
  std::string on_end(Seconds now, const std::string& words);
  /// An answer begins; or it is over, if there was one.
  void set_answering(Seconds now, bool is_answering);

  /// What of the turn's words does not count, with the phrase.
  const std::string& skipped() const { return skipped_; }

 private:
  /// What counts of words in which the phrase ends at `end`.
  std::string counted(Seconds now, const std::string& words, std::optional<size_t> end);

  const WakeRules rules_;
  const WakePhrase phrase_;
  bool is_answering_ = false;
  Seconds awake_until_{0};
  bool began_awake_ = false;  // the turn
  bool has_words_ = false;    // the turn
  Seconds voice_ended_{0};
  std::string skipped_;
};

}  // namespace predgen
