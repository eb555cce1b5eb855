#pragma once

#include <memory>
#include <span>
#include <vector>

#include "audio/audio_sink.h"

struct SRC_STATE_tag;  // libsamplerate's

namespace predgen {

/// Changes the rate of sound as it comes, by libsamplerate's windowed sinc. Used by one thread at a
/// time.
class Resampler {
 public:
  /// Rates in Hz, at most a factor of 256 apart (Error otherwise).
  Resampler(int from_rate, int to_rate);

  double ratio() const { return ratio_; }  // of samples: those that come out to those that go in

  /// Appends to `output` what is known of the sound so far; its last samples wait for what follows.
  void add(std::span<const float> samples, std::vector<float>& output);
  /// The sound ends here: appends the rest. Another one may begin.
  void finish(std::vector<float>& output);
  /// Forgets the sound so far.
  void clear();

 private:
  void convert(std::span<const float> samples, bool is_last, std::vector<float>& output);

  struct Delete {
    void operator()(SRC_STATE_tag* state) const;
  };
  double ratio_;
  std::unique_ptr<SRC_STATE_tag, Delete> converter_;
};

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
