#include <memory>

#include "core/error.h"
#include "model/architectures/architectures.h"
#include "model/parts/short_convolution.h"

namespace predgen {
namespace {

constexpr const char *kConvolution = "conv", *kAttention = "full_attention";

/// The width of the MLP that "intermediate_size" stands for.
int64_t adjusted_width(const ConfigFields& fields, int64_t given) {
  if (!fields.flag("block_auto_adjust_ff_dim", true)) return given;
  double width = static_cast<double>(2 * given / 3);
  if (!fields.is_null("block_ffn_dim_multiplier")) {
    width = static_cast<double>(
        static_cast<int64_t>(width * fields.positive("block_ffn_dim_multiplier", 1.0)));
  } else {
    return static_cast<int64_t>(width);
  }
  const int64_t step = fields.size("block_multiple_of", 256);
  return (static_cast<int64_t>(width) + step - 1) / step * step;
}

const char* kind_by_index(const ConfigFields& fields, size_t index) {
  if (!fields.has("full_attn_idxs")) return kAttention;
  const Json& indices = fields.at("full_attn_idxs");
  if (!indices.is_array()) fields.fail("full_attn_idxs", "must be a list");
  for (const Json& one : indices) {
    if (one == index) return kAttention;
  }
  return kConvolution;
}

/// All but the width of MLPs.
void read_layers(const ConfigFields& fields, ModelConfig& config) {
  config.rms_norm_eps = fields.positive("norm_eps", 1e-5);
  const bool is_tied = fields.flag("tie_word_embeddings", true);
  config.tie_word_embeddings = fields.flag("tie_embedding", is_tied);
  read_plain_layers(fields, config);
  config.final_norm = {"model.embedding_norm.weight", "token_embd_norm.weight"};
  const LayerSpec attention{
      .attention = {.qk_norm = QkNorm::kHead,
                    .names = {.output = {"self_attn.out_proj", "attn_output"},
                              .query_norm = {"self_attn.q_layernorm", "attn_q_norm"},
                              .key_norm = {"self_attn.k_layernorm", "attn_k_norm"}}},
      .feed_forward = {.names = {.gate = {"feed_forward.w1", "ffn_gate"},
                                 .up = {"feed_forward.w3", "ffn_up"},
                                 .down = {"feed_forward.w2", "ffn_down"}}},
      .own_norms = {.before_attention = {"operator_norm", "attn_norm"},
                    .before_mlp = {"ffn_norm", "ffn_norm"}}};
  const int64_t taps = fields.size("conv_L_cache", 3);
  if (taps < 2) fields.fail("conv_L_cache", "must be at least 2");
  LayerSpec convolution = attention;
  convolution.recurrence = std::make_shared<const ShortConvolutionSpec>(
      ShortConvolutionShape{.taps = taps, .bias = fields.flag("conv_bias", false)});
  read_layer_kinds(
      fields, {{kConvolution, convolution}, {kAttention, attention}},
      [&](size_t i) { return kind_by_index(fields, i); }, config);
}

void read_lfm2(const ConfigFields& fields, ModelConfig& config) {
  // As the released configurations and transformers 4 call it.
  if (fields.has("block_ff_dim")) config.intermediate_size = fields.size("block_ff_dim");
  config.intermediate_size = adjusted_width(fields, config.intermediate_size);
  read_layers(fields, config);
}

/// The first layers have an MLP, the others experts.
void read_lfm2_moe(const ConfigFields& fields, ModelConfig& config) {
  read_layers(fields, config);
  ExpertsSpec experts = read_experts(fields, {.usual_count = 32, .usual_chosen = 4},
                                     fields.size("moe_intermediate_size", 1792));
  experts.routing = Routing::kSigmoid;
  experts.score_bias = fields.flag("use_expert_bias", true);
  experts.is_normalised = fields.flag("norm_topk_prob", true);
  experts.sum_offset = 1e-6;
  experts.scale = fields.positive("routed_scaling_factor", 1.0);
  experts.names.router = {"feed_forward.gate", "ffn_gate_inp"};
  experts.names.gate = {"feed_forward.experts.{}.w1", "ffn_gate_exps"};
  experts.names.up = {"feed_forward.experts.{}.w3", "ffn_up_exps"};
  experts.names.down = {"feed_forward.experts.{}.w2", "ffn_down_exps"};
  experts.names.gate_up_stack = {"feed_forward.experts.gate_up_proj", "ffn_gate_up_exps"};
  experts.names.down_stack = "feed_forward.experts.down_proj";
  experts.names.score_bias = {"feed_forward.expert_bias", "exp_probs_b.bias"};
  constexpr const char* kDense = "num_dense_layers";
  const bool has_none = fields.has(kDense) && fields.at(kDense) == 0;
  const int64_t num_dense = has_none ? 0 : fields.size(kDense, 2);
  for (int64_t i = num_dense; i < config.num_layers(); ++i) {
    config.layers[static_cast<size_t>(i)].experts = experts;
  }
}

void write_layers(const ModelConfig& config, Json& json) {
  json["norm_eps"] = config.rms_norm_eps;
  json["layer_types"] = Json::array();
  for (const LayerSpec& layer : config.layers) {
    json["layer_types"].push_back(layer.recurrence ? kConvolution : kAttention);
    if (!layer.recurrence) continue;
    const auto& shape = dynamic_cast<const ShortConvolutionSpec&>(*layer.recurrence).shape;
    json["conv_L_cache"] = shape.taps;
    json["conv_bias"] = shape.bias;
  }
}

void write_lfm2(const ModelConfig& config, Json& json) {
  json["block_auto_adjust_ff_dim"] = false;  // the width is that of the weights
  write_layers(config, json);
}

void write_lfm2_moe(const ModelConfig& config, Json& json) {
  write_layers(config, json);
  int64_t num_dense = 0;
  for (const LayerSpec& layer : config.layers) {
    const ExpertsSpec& experts = layer.experts;
    num_dense += experts.count == 0;
    if (experts.count == 0) continue;
    json["num_experts"] = experts.count;
    json["num_experts_per_tok"] = experts.chosen;
    json["moe_intermediate_size"] = experts.width;
    json["use_expert_bias"] = experts.score_bias;
    json["norm_topk_prob"] = experts.is_normalised;
    json["routed_scaling_factor"] = experts.scale;
  }
  json["num_dense_layers"] = num_dense;
}

}  // namespace

/// LFM2: short convolutions, and attention between them.
const Architecture Architecture::kLfm2{
    "Lfm2ForCausalLM", "lfm2", {65536, 2560, 12288, 32, 32, 8, 128000, 1e6}, read_lfm2, write_lfm2};
/// The same with experts in all but the first layers, chosen by sigmoids and a bias.
const Architecture Architecture::kLfm2Moe{"Lfm2MoeForCausalLM",
                                          "lfm2_moe",
                                          {65536, 2048, 7168, 32, 32, 8, 128000, 1e6},
                                          read_lfm2_moe,
                                          write_lfm2_moe};

}  // namespace predgen
