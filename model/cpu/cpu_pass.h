#pragma once

#include <ATen/ATen.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/token_kernels.h"
#include "model/cpu/cpu_experts.h"
#include "model/cpu/cpu_products.h"
#include "model/cpu/cpu_recurrence.h"
#include "model/parts/layer_inputs.h"
#include "model/parts/transformer_parts.h"
#include "model/pass_tokens.h"

namespace predgen {

/// What the layers of a pass on a CPU get of each new token beside the output of the layer before
/// (LayerInputs), in float32. Threads of a team call it together; between the calls they meet.
class CpuLayerInputs {
 public:
  /// False if the kernels do not support its tensors. `embedding`: the model's, whose type the
  /// others must have. Called by one thread.
  bool read(const LayerInputs& from, const ModelConfig& config, const at::Tensor& embedding);
  /// Called by one thread.
  void prepare(int64_t num_tokens);
  CpuProducts::Linears projection() const { return projection_; }
  /// Products of the embeddings [T,L * P], to be filled in.
  float* values() { return values_.data(); }
  /// Makes of these products the inputs of tokens [begin,end).
  void combine(std::span<const PassToken> tokens, int64_t begin, int64_t end,
               const TokenKernels& kernels);
  /// A token's, of one layer [P].
  const float* of(int64_t token, int64_t layer) const {
    return values_.data() + (token * num_layers_ + layer) * width_;
  }

 private:
  const LayerInputs* from_ = nullptr;
  int64_t num_layers_ = 0, width_ = 0;
  float eps_ = 0.0f, projected_scale_ = 0.0f, row_scale_ = 0.0f;
  std::array<CpuLinear, 1> projection_;
  std::vector<float> values_, rows_;
};

/// Forward passes on a CPU by our own kernels and threads instead of LibTorch's operators, which
/// take most of a decoding step of a small model. Between products everything is float32, in every
/// precision; keys and values are rounded to the type of the embeddings. The bits of a token's
/// logits do not depend on how many tokens and sequences share the pass, their order, or the number
/// of threads. Keeps its memory for the next pass, including that of
/// released logits. Used by one thread.
class CpuPass {
 public:
  /// Why the kernels cannot run such a model, in one line; empty if they can.
  static std::string refusal(const ModelConfig& config);

  /// Transformer::forward() for a model that refusal() accepts, except that nothing is committed.
  /// None if the kernels do not support it: another device, other types, training. Error if another
  /// thread is running a pass.
  std::optional<at::Tensor> run(const TransformerParts& model, std::span<const SequenceStep> steps);
  /// What layers that keep a state found in the last pass, of its step `index`; once.
  std::vector<NewStates> take_states(size_t index) { return std::move(states_.at(index)); }

 private:
  struct Layer {
    const DecoderLayer* weights = nullptr;
    /// Those of qkv that there are: not the keys and values of another layer, nor values that are
    /// keys.
    std::span<const CpuLinear> projections() const { return std::span(qkv).first(num_projections); }

    std::array<CpuLinear, 3> qkv;
    size_t num_projections = 3;
    std::array<CpuLinear, 1> o;
    std::array<CpuLinear, 2> gate_up;  // of the MLP, or of the experts' shared one
    std::array<CpuLinear, 1> down;
    std::array<CpuLinear, 1> router, share;
    std::array<CpuLinear, 1> input_gate, input_out;  // of DecoderLayer::layer_input
    std::vector<float> sinks;                        // [H]; empty: none
    std::vector<float> expert_scale;                 // [experts]; empty: none
    float output_scale = 1.0f;
    std::unique_ptr<CpuRecurrence> recurrence{};  // in place of attention
  };
  /// Where a piece of a cache holds the keys and values of a layer.
  struct Place {
    char *keys, *values;
    int64_t head_stride;  // positions
    int64_t begin;
  };
  /// Of a step: the first of its places, of which each layer has `count`.
  struct Pieces {
    size_t first, count;
  };
  /// Of a step: its first token in the pass, and where SequenceStep::hidden_TE goes; null: nowhere.
  struct Given {
    int64_t first;
    float* to;
  };
  class Work;

  bool read(const TransformerParts& model, bool with_adapter);
  bool read_experts(const Experts& experts, bool with_adapter, Layer& to);
  bool read_attention(const Attention& attention, bool with_adapter, Layer& to);
  void prepare(const TransformerParts& model, std::span<const SequenceStep> steps);
  /// Room for what layers with a state read and keep; the widest that one finds of a token.
  int64_t prepare_states(const ModelConfig& config, std::span<const SequenceStep> steps);
  /// Reuses the last pass's logits if no caller has kept them.
  float* room_for_logits(int64_t V);

  std::atomic_flag is_running_;
  std::unique_ptr<ThreadTeam> team_;
  PassTokens tokens_;
  std::vector<Layer> layers_;
  std::array<CpuLinear, 1> head_;
  std::vector<Place> places_;                      // [steps,layers,pieces]
  std::vector<Pieces> pieces_;                     // [steps]
  std::vector<Given> given_;                       // [steps]
  std::vector<SequenceState::Piece> of_layer_;     // of a step, while places are found
  std::vector<std::vector<KeyPiece>> key_pieces_;  // [threads]: of the head that each attends
  CpuProducts products_;
  CpuExperts experts_;
  CpuLayerInputs layer_inputs_;
  at::Tensor ones_;  // [D], of the embeddings' type: the weight of norms that have none
  // Of layers that keep a state:
  std::vector<std::vector<NewStates>> states_;   // [steps]
  std::vector<std::vector<int64_t>> parents_;    // [steps]
  std::vector<CpuStates::Point> points_;         // [layers,steps,points]
  std::vector<CpuStates> of_steps_;              // [layers,steps]
  std::vector<std::vector<float>> inputs_;       // of every new token
  std::vector<std::vector<float>> unit_memory_;  // [threads]
  // Of every new token; `x` is the input of the next product, `alone` what an MLP beside experts
  // makes, angles are [ropes,T,D/2], D the largest head size.
  std::vector<float> hidden_, x_, q_, k_, v_, opened_, gate_, up_, out_, alone_, shares_, cosines_,
      sines_;
  at::Tensor logits_NV_;
};

}  // namespace predgen
