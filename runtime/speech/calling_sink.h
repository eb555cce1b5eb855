#pragma once

#include <functional>
#include <span>
#include <utility>

#include "runtime/speech/audio_sink.h"

namespace predgen {

/// Hands what is written on to a function, never nothing.
class CallingSink : public AudioSink {
 public:
  explicit CallingSink(std::function<void(std::span<const float>)> on_samples)
      : on_samples_(std::move(on_samples)) {}
  void write(std::span<const float> samples) override {
    if (!samples.empty()) on_samples_(samples);
  }
  void clear() override {}
  void drain() override {}

 private:
  const std::function<void(std::span<const float>)> on_samples_;
};

}  // namespace predgen
