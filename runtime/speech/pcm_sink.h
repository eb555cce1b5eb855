#pragma once

#include "core/stoppable_poll.h"
#include "runtime/speech/instant_sink.h"

namespace predgen {

/// Raw mono 16-bit little-endian samples to a file descriptor, for another program to play. A
/// stop ends a write() that waits for that program: it throws Interrupted. From the first one on,
/// this process ignores SIGPIPE: a program that has ended is an Error of write().
class PcmSink : public InstantSink {
 public:
  PcmSink(int descriptor, std::stop_token stop);  // the descriptor is not closed

 private:
  void take(std::span<const float> samples) override;

  const int descriptor_;
  const StoppablePoll poll_;
};

}  // namespace predgen
