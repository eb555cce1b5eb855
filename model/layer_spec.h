#pragma once

#include <cstdint>
#include <limits>
#include <memory>

namespace predgen {

/// A module of a layer as Hugging Face ("mlp.up_proj" of "model.layers.3.mlp.up_proj") and
/// llama.cpp ("ffn_up" of "blk.3.ffn_up") name it. Both null: a layer has none.
struct ModuleName {
  const char* hugging_face = nullptr;
  const char* gguf = nullptr;

  explicit operator bool() const { return hugging_face != nullptr; }
};

/// Whether queries and keys are normed, head by head or over the width of all heads.
enum class QkNorm { kNone, kHead, kWidth };

/// The modules of a layer's attention.
struct AttentionNames {
  ModuleName query{"self_attn.q_proj", "attn_q"}, key{"self_attn.k_proj", "attn_k"};
  ModuleName value{"self_attn.v_proj", "attn_v"}, output{"self_attn.o_proj", "attn_output"};
  ModuleName query_norm{"self_attn.q_norm", "attn_q_norm"};
  ModuleName key_norm{"self_attn.k_norm", "attn_k_norm"};
};

/// AttentionSpec::shares of a layer that reads the rows of another model (AssistantSpec): those of
/// its last layer that has rows and, like this one, a window or none.
constexpr int64_t kOfAnotherModel = std::numeric_limits<int64_t>::max();

/// What a layer's attention computes, apart from the sizes of its heads (parts/attention.h).
struct AttentionSpec {
  QkNorm qk_norm = QkNorm::kNone;
  bool qkv_bias = false, o_bias = false;
  bool output_gate = false;   // beside each query is a gate, whose sigmoid multiplies the output
  double query_scalar = 0.0;  // scores are divided by its square root; 0: head size
  double softcap = 0.0;       // scores become cap * tanh(score / cap); 0: unchanged
  bool sinks = false;         // a further score for each head, whose value is zero
  int64_t window = 0;         // positions that a query sees, its own included; 0: all
  int64_t rope = 0;           // index in ModelConfig::ropes
  int64_t head_dim = 0, num_kv_heads = 0;  // 0: ModelConfig's
  int64_t shares = -1;  // the layer whose keys and values it reads, or kOfAnotherModel; -1: it has
                        // its own
  bool value_is_key = false;  // values are the keys' product, before its norm and rotation
  bool value_norm = false;    // values are normed head by head, without a weight
  AttentionNames names{};
};

/// What a feed-forward part makes of its gate and up products. kClampedSwiglu is gpt_oss': gates at
/// most 7 and products from -7 to 7, gate * sigmoid(1.702 * gate) * (product + 1).
enum class Activation { kSilu, kGeluTanh, kClampedSwiglu };

/// The modules of a layer's gated MLP.
struct FeedForwardNames {
  ModuleName gate{"mlp.gate_proj", "ffn_gate"}, up{"mlp.up_proj", "ffn_up"},
      down{"mlp.down_proj", "ffn_down"};
};

/// What a layer's gated MLP computes (parts/feed_forward.h).
struct FeedForwardSpec {
  Activation activation = Activation::kSilu;
  bool bias = false;
  int64_t width = 0;  // outputs of its gate; 0: ModelConfig::intermediate_size
  FeedForwardNames names{};
};

/// How a router's products become the weights of the experts it chooses: softmax, of which the
/// largest count; softmax over the largest; sigmoid, of which the largest count.
enum class Routing { kSoftmax, kSoftmaxOfChosen, kSigmoid };

/// How transformers stores experts: each matrix apart; all in one tensor, an expert's gates before
/// its products, [count,2 * width,E] and [count,E,width]; or both transposed, with gates and
/// products in turn. All three are read, whatever an architecture writes.
enum class ExpertStorage { kApart, kStacked, kInterleaved };

/// The modules of a layer's experts; "{}" is an expert's number. Llama.cpp has all experts in one
/// tensor.
struct ExpertNames {
  ModuleName router{"mlp.gate", "ffn_gate_inp"};
  ModuleName gate{"mlp.experts.{}.gate_proj", "ffn_gate_exps"};
  ModuleName up{"mlp.experts.{}.up_proj", "ffn_up_exps"};
  ModuleName down{"mlp.experts.{}.down_proj", "ffn_down_exps"};
  // Gates and products in one tensor, and all of `down`.
  ModuleName gate_up_stack{"mlp.experts.gate_up_proj", "ffn_gate_up_exps"};
  const char* down_stack = "mlp.experts.down_proj";
  ModuleName shared_gate{"mlp.shared_expert.gate_proj", "ffn_gate_shexp"};
  ModuleName shared_up{"mlp.shared_expert.up_proj", "ffn_up_shexp"};
  ModuleName shared_down{"mlp.shared_expert.down_proj", "ffn_down_shexp"};
  ModuleName share{"mlp.shared_expert_gate", "ffn_gate_inp_shexp"};
  // Tensors, not modules; the last two are Gemma 4's.
  ModuleName score_bias{"mlp.expert_bias", "exp_probs_b.bias"};
  ModuleName input_scale{"router.scale", "ffn_gate_inp.scale"};
  ModuleName expert_scale{"router.per_expert_scale", "ffn_down_exps.scale"};
};

/// What a layer's experts compute (parts/experts.h).
struct ExpertsSpec {
  int64_t count = 0;   // 0: the layer has none
  int64_t chosen = 0;  // for each token
  int64_t width = 0;   // outputs of an expert's gate
  Routing routing = Routing::kSoftmax;
  bool router_bias = false;
  bool score_bias = false;     // added, in float32, to what is compared, not to weights
  bool is_normalised = false;  // weights are divided by their sum + sum_offset,
  double sum_offset = 0.0;
  double scale = 1.0;         // and multiplied by this
  bool input_scale = false;   // the router sees norm(x) * input_scale / sqrt(E), without a weight
  bool expert_scale = false;  // a factor of the weight of each expert
  Activation activation = Activation::kSilu;
  bool bias = false;         // of the experts' matrices
  int64_t shared_width = 0;  // of an expert for all tokens, times sigmoid(share(x)); 0: none
  ExpertStorage storage = ExpertStorage::kApart;
  bool is_fused_in_gguf = false;  // writes ExpertNames::gate_up_stack there, too
  ExpertNames names{};
  /// The layer has a gated MLP, too, whose output is added. Both and the router see the hidden
  /// states, each with a norm of its own.
  bool beside_mlp = false;
};

/// A layer's RMSNorms over the hidden size, in the order of the reference's state dict.
struct LayerNorms {
  ModuleName before_attention{}, after_attention{}, before_mlp{}, after_mlp{};
  // Of experts beside an MLP: of the MLP's output alone, and of the experts' output and input.
  ModuleName after_mlp_alone{}, after_experts{}, before_experts{};
};

class RecurrentSpec;

/// The parts of one layer; by default Llama's. Set by architectures/. LibTorch's operators compute
/// all of it; other ways to run a pass refuse what they lack.
struct LayerSpec {
  AttentionSpec attention{};
  std::shared_ptr<const RecurrentSpec> recurrence{};  // in place of attention; null: none
  FeedForwardSpec feed_forward{};
  ExpertsSpec experts{};      // in place of the MLP, or beside it
  bool layer_input = false;   // adds what it makes of ModelConfig::layer_input_width values a token
  bool output_scale = false;  // a number by which the whole output is multiplied
  bool norm_before = true;    // norms of the inputs of attention and MLP,
  bool norm_after = false;    // and of their outputs, before the residual add
  const char* mlp_norm = "ffn_norm";  // that of the MLP's input, in GGUF
  LayerNorms own_norms{};             // the norms that the layer has, if others call them otherwise

  LayerNorms norms() const;
  bool has_mlp() const { return experts.count == 0 || experts.beside_mlp; }
};

}  // namespace predgen
