#pragma once

#include <functional>
#include <span>
#include <utility>

#include "runtime/speech/instant_sink.h"

namespace predgen {

/// Hands what is written on to a function, never nothing.
class CallingSink : public InstantSink {
 public:
  explicit CallingSink(std::function<void(std::span<const float>)> on_samples)
      : on_samples_(std::move(on_samples)) {}

 private:
  void take(std::span<const float> samples) override {
    if (!samples.empty()) on_samples_(samples);
  }

  const std::function<void(std::span<const float>)> on_samples_;
};

}  // namespace predgen
