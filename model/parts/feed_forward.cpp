#include "model/parts/feed_forward.h"

namespace predgen {
namespace {

constexpr ModuleName kGateModule{"mlp.gate_proj", "ffn_gate"}, kUpModule{"mlp.up_proj", "ffn_up"},
    kDownModule{"mlp.down_proj", "ffn_down"};

// The inputs of linears, as WeightSpec::input numbers them.
constexpr int64_t kMlpInput = 2, kOpenedInput = 3;

}  // namespace

void FeedForward::add_weights(const ModelConfig& config, const FeedForwardSpec& spec,
                              LayerWeights& to) {
  const int64_t E = config.hidden_size, I = config.intermediate_size;
  to.add(kGateModule, {.out = I, .in = E, .has_bias = spec.bias, .input = kMlpInput});
  to.add(kUpModule, {.out = I, .in = E, .has_bias = spec.bias, .input = kMlpInput});
  to.add(kDownModule, {.out = E, .in = I, .has_bias = spec.bias, .input = kOpenedInput});
}

FeedForward::FeedForward(const FeedForwardSpec& feed_forward, const LayerSource& source)
    : spec(feed_forward),
      gate(source.linear(kGateModule)),
      up(source.linear(kUpModule)),
      down(source.linear(kDownModule)) {}

at::Tensor FeedForward::operator()(const at::Tensor& input, const at::Tensor& adapter_gate) const {
  const at::Tensor gates = gate(input, adapter_gate);
  const at::Tensor opened =
      spec.activation == Activation::kSilu ? at::silu(gates) : at::gelu(gates, "tanh");
  return down(opened * up(input, adapter_gate), adapter_gate);
}

}  // namespace predgen
