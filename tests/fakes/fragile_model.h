#pragma once

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {

/// A pass with this token fails.
constexpr TokenId kPoison = 30;

class FragileModel : public FakeLanguageModel {
 public:
  FragileModel() : FakeLanguageModel({}) {}
  using LanguageModel::forward;
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    if (fails) fails();
    for (const SequenceStep& step : steps) {
      if (std::ranges::find(step.tokens, kPoison) != step.tokens.end()) throw Error("poisoned");
    }
    return FakeLanguageModel::forward(steps);
  }

  std::function<void()> fails{};  // asked before each pass
};

}  // namespace predgen
