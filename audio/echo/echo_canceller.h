#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace predgen {

/// Whether this build has a canceller (-DPREDGEN_ECHO=ON, where the library is available).
bool has_echo_canceller();

/// Removes the loudspeaker's echo from what a microphone hears: an adaptive filter that learns the
/// path through the room, even while somebody speaks (Valin, "On Adjusting the Learning Rate in
/// Frequency Domain Echo Cancellation With Double-Talk", 2007), and suppression of what the filter
/// leaves. Uses speexdsp. 16 kHz, mono, in [-1,1]. Used by one thread.
class EchoCanceller {
 public:
  static constexpr size_t kFrame = 160;     // samples, 10 ms
  static constexpr size_t kFilter = 4'800;  // samples: the echo's delay, and how long it lasts

  /// UserError if this build has none.
  EchoCanceller();
  ~EchoCanceller();

  /// `heard`: a recorded frame; `played`: what was played less than kFilter before its echo in that
  /// frame. Returns the frame without echo, one frame late; valid until the next call.
  std::span<const float> process(std::span<const float> heard, std::span<const float> played);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace predgen
