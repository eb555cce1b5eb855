#pragma once

#include <cstdint>
#include <optional>

namespace predgen {

/// What speaks for a turn being over in a pause.
struct PauseSigns {
  int64_t pause_ms = 0;           // of sound since the last of the voice
  std::optional<double> sound{};  // probability, by how it was said; nothing: nobody knows
  std::optional<double> words{};  // probability, by what was said
};

/// Between these, by how likely the turn is over, somebody may pause before the turn ends. The
/// shortest is longer than most pauses at a comma: behind "My cat scratches the sofa all day,"
/// words and sound are those of an end.
struct EndWaits {
  int64_t shortest_ms = 300;  // it is over for sure
  int64_t longest_ms = 1200;  // it surely is not
};

/// So long a pause ends a turn of which there are these signs; the pause itself does not count.
int64_t end_wait_ms(const PauseSigns& signs, const EndWaits& waits);

/// Who says where a turn of sound ends. The recogniser's words say where one begins, so there is no
/// loudness to set.
struct EndOfTurn {
  bool is_detected = false;         // otherwise whoever sends the sound says so
  int64_t silence_ms = 500;         // of sound without new words before a pause ends the turn
  std::optional<EndWaits> waits{};  // instead, where the recogniser tells of the voice
  bool by_sound = true;             // whether PauseSigns::sound counts there
  bool by_words = false;            // and PauseSigns::words, which comes a little after the words

  /// Of a recogniser that does not tell of the voice. `has_paused`: it has heard the user pause
  /// after the last word. `quiet_ms`: sound since that word came.
  bool is_reached(bool has_paused, int64_t quiet_ms) const {
    return is_detected && has_paused && quiet_ms >= silence_ms;
  }

  /// Of one that does: in a pause, all words of which are known.
  bool is_reached(const PauseSigns& signs) const;
};

}  // namespace predgen
