#include "model/layer_spec.h"

namespace predgen {

LayerNorms LayerSpec::norms() const {
  if (own_norms.before_attention) return own_norms;
  LayerNorms names;
  if (norm_before) names.before_attention = {"input_layernorm", "attn_norm"};
  if (norm_after) names.after_attention = {"post_attention_layernorm", "post_attention_norm"};
  // Where there is no norm of the outputs, checkpoints call this one by their name.
  if (norm_before) {
    names.before_mlp = {norm_after ? "pre_feedforward_layernorm" : "post_attention_layernorm",
                        mlp_norm};
  }
  if (norm_after) names.after_mlp = {"post_feedforward_layernorm", "post_ffw_norm"};
  if (experts.beside_mlp) {
    names.after_mlp_alone = {"post_feedforward_layernorm_1", "post_ffw_norm_1"};
    names.after_experts = {"post_feedforward_layernorm_2", "post_ffw_norm_2"};
    names.before_experts = {"pre_feedforward_layernorm_2", "pre_ffw_norm_2"};
  }
  return names;
}

}  // namespace predgen
