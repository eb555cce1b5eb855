#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace predgen {

/// Whether this program has a canceller (-DPREDGEN_ECHO=ON, where the library is there).
bool has_echo_canceller();

/// Takes out of what a microphone hears what a loudspeaker plays meanwhile: an adaptive filter that
/// learns the way through the room, also while somebody speaks (Valin, "On Adjusting the Learning
/// Rate in Frequency Domain Echo Cancellation With Double-Talk", 2007), and suppression of what the
/// filter leaves. By speexdsp. 16 kHz, mono, in [-1,1]. Used by one thread.
class EchoCanceller {
 public:
  static constexpr size_t kFrame = 160;     // samples, 10 ms
  static constexpr size_t kFilter = 4'800;  // samples: the echo's delay, and how long it lasts

  /// UserError where the program has none.
  EchoCanceller();
  ~EchoCanceller();

  /// A frame that was heard, and what was played before it sounded in there, by less than kFilter.
  /// What else was heard, one frame later; it is valid until the next call.
  std::span<const float> process(std::span<const float> heard, std::span<const float> played);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace predgen
