#pragma once

#include <memory>
#include <vector>

#include "audio/audio_sink.h"

struct SRC_STATE_tag;  // libsamplerate's

namespace predgen {

/// Changes the rate of what passes to another sink, by libsamplerate's windowed sinc.
class ResamplingSink : public AudioSink {
 public:
  /// Rates in Hz, at most a factor of 256 apart (Error otherwise).
  ResamplingSink(std::unique_ptr<AudioSink> sink, int from_rate, int to_rate);

  void write(std::span<const float> samples) override { convert(samples, /*is_last=*/false); }
  void clear() override;
  void give_up() override { sink_->give_up(); }
  void set_gain(float gain) override { sink_->set_gain(gain); }
  void drain() override;
  int64_t num_played() const override;
  void expect_nothing() override { sink_->expect_nothing(); }
  int64_t num_underruns() const override { return sink_->num_underruns(); }

 private:
  void convert(std::span<const float> samples, bool is_last);

  struct Delete {
    void operator()(SRC_STATE_tag* state) const;
  };
  std::unique_ptr<AudioSink> sink_;
  const double ratio_;
  std::unique_ptr<SRC_STATE_tag, Delete> converter_;
  std::vector<float> output_;
};

}  // namespace predgen
