#pragma once

#include <memory>
#include <vector>

#include "model/parts/recurrent_part.h"
#include "tests/fakes/small_models.h"

namespace predgen {

inline constexpr ModuleName kKeepModule{"recurrence.keep_proj", "rec_keep"},
    kValuesModule{"recurrence.value_proj", "rec_value"},
    kSaysModule{"recurrence.o_proj", "rec_out"};

/// The plainest gated recurrence: h = k * h + (1 - k) * v for each value of the hidden size.
class GatedRecurrence : public RecurrentPart {
 public:
  explicit GatedRecurrence(const LayerSource& source)
      : keep_(source.linear(kKeepModule)),
        value_(source.linear(kValuesModule)),
        output_(source.linear(kSaysModule)) {}

  at::Tensor read(const at::Tensor& input_BTE, const at::Tensor& gate_BT1) const override {
    return at::cat({at::sigmoid(keep_(input_BTE, gate_BT1)), value_(input_BTE, gate_BT1)}, -1);
  }
  at::Tensor advance(const at::Tensor& tokens_nW, LayerState& state) const override {
    const std::vector<at::Tensor> halves = tokens_nW.chunk(2, -1);
    at::Tensor hidden_E = state.empty() ? at::zeros_like(halves[0][0]) : state.front();
    std::vector<at::Tensor> rows;
    for (int64_t i = 0; i < tokens_nW.size(0); ++i) {
      hidden_E = halves[0][i] * hidden_E + (1 - halves[0][i]) * halves[1][i];
      rows.push_back(hidden_E);
    }
    state = {hidden_E};
    return at::stack(rows);
  }
  at::Tensor write(const at::Tensor& found_BTM, const at::Tensor& gate_BT1) const override {
    return output_(found_BTM, gate_BT1);
  }
  std::vector<Linear*> linears() override { return {&keep_, &value_, &output_}; }
  void add_others(NamedTensors&) const override {}

 private:
  Linear keep_, value_, output_;
};

class GatedRecurrenceSpec : public RecurrentSpec {
 public:
  const char* name() const override { return "gated recurrence"; }
  bool has_cpu_kernels() const override { return false; }
  void add_weights(const ModelConfig& config, LayerWeights& to) const override {
    const int64_t E = config.hidden_size;
    to.add(kKeepModule, {.out = E, .in = E, .has_bias = true});
    to.add(kValuesModule, {.out = E, .in = E});
    to.add(kSaysModule, {.out = E, .in = E, .input = 1});
  }
  std::unique_ptr<RecurrentPart> make(const LayerSource& source) const override {
    return std::make_unique<GatedRecurrence>(source);
  }
  int64_t saved_values(const ModelConfig& config) const override { return 6 * config.hidden_size; }
  int64_t state_bytes(const ModelConfig& config, int64_t bytes_per_value) const override {
    return config.hidden_size * bytes_per_value;
  }
};

/// Layers of two kinds: the first keeps a state, the second rows.
inline ModelConfig hybrid_config() {
  ModelConfig config = small_config();
  config.layers[0].recurrence = std::make_shared<GatedRecurrenceSpec>();
  return config;
}

}  // namespace predgen
