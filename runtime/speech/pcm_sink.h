#pragma once

#include "runtime/speech/audio_sink.h"

namespace predgen {

/// Raw mono 16-bit little-endian samples to a file descriptor, for another program to play. Ctrl-C
/// is seen while that program is slow. From the first one on, this process ignores SIGPIPE: a
/// program that has ended is an Error of write().
class PcmSink : public AudioSink {
 public:
  explicit PcmSink(int descriptor);  // not closed

  void write(std::span<const float> samples) override;
  void clear() override {}  // what was written counts as played
  void drain() override {}

 private:
  int descriptor_;
};

}  // namespace predgen
