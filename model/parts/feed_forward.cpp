#include "model/parts/feed_forward.h"

#include "model/parts/operators.h"

namespace predgen {
namespace {

// The inputs of linears, as WeightSpec::input numbers them.
constexpr int64_t kMlpInput = 2, kOpenedInput = 3;

}  // namespace

void FeedForward::add_weights(const ModelConfig& config, const FeedForwardSpec& spec,
                              LayerWeights& to) {
  const int64_t E = config.hidden_size, I = spec.width > 0 ? spec.width : config.intermediate_size;
  to.add(spec.names.gate, {.out = I, .in = E, .has_bias = spec.bias, .input = kMlpInput});
  to.add(spec.names.up, {.out = I, .in = E, .has_bias = spec.bias, .input = kMlpInput});
  to.add(spec.names.down, {.out = E, .in = I, .has_bias = spec.bias, .input = kOpenedInput});
}

FeedForward::FeedForward(const FeedForwardSpec& feed_forward, const LayerSource& source)
    : spec(feed_forward),
      gate(source.linear(spec.names.gate)),
      up(source.linear(spec.names.up)),
      down(source.linear(spec.names.down)) {}

at::Tensor FeedForward::operator()(const at::Tensor& input, const at::Tensor& adapter_gate) const {
  return down(activated(spec.activation, gate(input, adapter_gate), up(input, adapter_gate)),
              adapter_gate);
}

}  // namespace predgen
