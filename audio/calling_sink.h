#pragma once

#include <functional>
#include <span>
#include <utility>

#include "audio/instant_sink.h"

namespace predgen {

/// Passes what is written to a function, never an empty span.
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
