#pragma once

#include <memory>
#include <vector>

#include "audio/audio_sink.h"
#include "audio/resampler.h"

namespace predgen {

/// Changes the rate of what passes to another sink.
class ResamplingSink : public AudioSink {
 public:
  /// Rates as Resampler has them.
  ResamplingSink(std::unique_ptr<AudioSink> sink, int from_rate, int to_rate);

  void write(std::span<const float> samples) override;
  void clear() override;
  void give_up() override { sink_->give_up(); }
  void set_gain(float gain) override { sink_->set_gain(gain); }
  void drain() override;
  int64_t num_played() const override;
  void expect_nothing() override { sink_->expect_nothing(); }
  int64_t num_underruns() const override { return sink_->num_underruns(); }

 private:
  std::unique_ptr<AudioSink> sink_;
  Resampler resampler_;
  std::vector<float> output_;  // of the last call
};

}  // namespace predgen
