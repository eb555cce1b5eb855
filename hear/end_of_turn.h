#pragma once

#include <cstdint>
#include <optional>

namespace predgen {

/// Evidence, in a pause, that a turn is over.
struct PauseSigns {
  int64_t pause_ms = 0;           // of sound since the voice ended
  std::optional<double> sound{};  // probability, by how it was said; nullopt: unknown
  std::optional<double> words{};  // probability, by what was said
  bool is_marked = false;         // the recogniser's words end with a mark, as a sentence does
};

/// How long a user may pause before the turn ends: between these, by how likely it is over. If the
/// recogniser set no mark, not before 1.5 times the shortest, which is longer than most pauses at a
/// comma: after "My cat scratches the sofa all day," words and sound are like those at an end.
struct EndWaits {
  int64_t shortest_ms = 200;  // if it is certainly over
  int64_t longest_ms = 1200;  // if it certainly is not
};

/// The length of pause that ends a turn with these signs; `pause_ms` itself does not count.
int64_t end_wait_ms(const PauseSigns& signs, const EndWaits& waits);

/// How the end of a spoken turn is found. The recogniser's words tell where a turn begins, so there
/// is no loudness threshold.
struct EndOfTurn {
  bool is_detected = false;         // false: the sender of the sound says so
  int64_t silence_ms = 500;         // of sound without new words before a pause ends the turn
  std::optional<EndWaits> waits{};  // instead, if the recogniser reports voice activity
  bool by_sound = true;             // whether PauseSigns::sound counts there
  bool by_words = false;            // and PauseSigns::words, known a little after the words

  /// For a recogniser without voice activity. `has_paused`: it has heard the user pause after the
  /// last word. `quiet_ms`: sound since that word came.
  bool is_reached(bool has_paused, int64_t quiet_ms) const {
    return is_detected && has_paused && quiet_ms >= silence_ms;
  }

  /// For one with voice activity: in a pause, when all words before it are known.
  bool is_reached(const PauseSigns& signs) const;
};

}  // namespace predgen
