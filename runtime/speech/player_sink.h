#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/speech/audio_sink.h"
#include "runtime/speech/sample_ring.h"

namespace predgen {

/// The default loudspeaker through PortAudio. write() waits only when a minute of audio is queued;
/// clear() silences within one device buffer.
class PlayerSink : public AudioSink {
 public:
  /// UserError if there is no device or it does not play at `sample_rate` (Hz).
  explicit PlayerSink(int sample_rate);
  ~PlayerSink() override;  // drops what was not played: drain() first
  PlayerSink(const PlayerSink&) = delete;
  PlayerSink& operator=(const PlayerSink&) = delete;

  void write(std::span<const float> samples) override;
  void clear() override;
  void drain() override;

  /// Device buffers that ran short between a write and the next drain or clear: audible gaps.
  int64_t num_underruns() const { return num_underruns_; }

  /// The device asks for samples; called from PortAudio's thread.
  void fill(std::span<float> samples);

 private:
  void wait_a_little() const;

  SampleRing ring_;
  std::atomic<bool> expects_samples_ = false;
  std::atomic<int64_t> num_underruns_ = 0;
  void* stream_ = nullptr;  // PaStream
};

}  // namespace predgen
