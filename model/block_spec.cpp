#include "model/block_spec.h"

#include <algorithm>

namespace predgen {

NormNames BlockSpec::norm_names() const {
  return {.before_attention = norm_before ? "input_layernorm" : nullptr,
          .after_attention = norm_after ? "post_attention_layernorm" : nullptr,
          .before_mlp = !norm_before ? nullptr
                        : norm_after ? "pre_feedforward_layernorm"
                                     : "post_attention_layernorm",
          .after_mlp = norm_after ? "post_feedforward_layernorm" : nullptr};
}

int64_t BlockSpec::window(int64_t layer) const {
  return windows.empty() ? 0 : windows[static_cast<size_t>(layer)];
}

int64_t BlockSpec::rope_of(int64_t layer) const {
  return other_rope && other_rope_layers[static_cast<size_t>(layer)] ? 1 : 0;
}

at::Tensor BlockSpec::inverse_frequencies(int64_t head_dim) const {
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < num_ropes(); ++i) {
    rows.push_back(rope_at(i).inverse_frequencies(head_dim));
  }
  return at::stack(rows);
}

std::vector<std::string_view> BlockSpec::switches() const {
  std::vector<std::string_view> on;
  const auto add = [&](bool is_on, std::string_view name) {
    if (is_on) on.push_back(name);
  };
  switch (activation) {  // without a default, as below: a value without a name does not compile
    case Activation::kSilu:
      break;
    case Activation::kGeluTanh:
      add(true, "gelu_tanh");
  }
  add(!norm_before, "no norm_before");
  add(norm_after, "norm_after");
  add(norm_offset != 0, "norm_offset");
  add(norm_scales_wide, "norm_scales_wide");
  switch (qk_norm) {
    case QkNorm::kNone:
      break;
    case QkNorm::kHead:
      add(true, "qk_norm by head");
      break;
    case QkNorm::kWidth:
      add(true, "qk_norm by width");
  }
  add(qkv_bias, "qkv_bias");
  add(o_bias, "o_bias");
  add(mlp_bias, "mlp_bias");
  add(query_scalar != 0, "query_scalar");
  add(attention_softcap != 0, "attention_softcap");
  add(logit_softcap != 0, "logit_softcap");
  add(embedding_scale != 1, "embedding_scale");
  add(other_rope.has_value(), "other_rope");
  add(std::ranges::any_of(windows, [](int64_t window) { return window > 0; }), "windows");
  return on;
}

std::string_view BlockSpec::switch_beyond(std::initializer_list<std::string_view> taken) const {
  const std::vector<std::string_view> on = switches();
  const auto beyond = std::ranges::find_if(
      on, [&](std::string_view name) { return std::ranges::find(taken, name) == taken.end(); });
  return beyond == on.end() ? "" : *beyond;
}

at::Tensor soft_cap(const at::Tensor& x, double cap) {
  return cap == 0 ? x : at::tanh(x / cap) * cap;
}

}  // namespace predgen
