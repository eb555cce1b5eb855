#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/attention_masks.h"
#include "model/graph_capture.h"
#include "model/language_model.h"
#include "model/linear.h"
#include "model/memory_estimate.h"
#include "model/model_config.h"
#include "model/rope.h"

namespace predgen {

/// Holds the weights of a model's layers when they are not all in the model. One layer at a time is
/// acquired, used and released; with several ranks, by all of them in the same order.
class LayerStore {
 public:
  virtual ~LayerStore() = default;
  /// Puts the layer's weights into the model.
  virtual void acquire(int64_t layer) = 0;
  /// Takes them out again, once all work on the layer is queued. Begins to fetch `next`
  /// concurrently with that work, if the device can and `next` is a layer.
  virtual void release(int64_t layer, int64_t next) noexcept = 0;
};

/// Keeps a layer in the model while this object lives.
class LayerLease {
 public:
  /// `store`: null if the layers are always in the model.
  LayerLease(LayerStore* store, int64_t layer, int64_t next)
      : store_(store), layer_(layer), next_(next) {
    if (store_) store_->acquire(layer);
  }
  ~LayerLease() {
    if (store_) store_->release(layer_, std::uncaught_exceptions() > 0 ? -1 : next_);
  }
  LayerLease(const LayerLease&) = delete;
  LayerLease& operator=(const LayerLease&) = delete;

 private:
  LayerStore* const store_;
  const int64_t layer_, next_;
};

struct Assistant;
class CpuPass;
class DecoderLayer;
class GpuPass;
class LayerInputs;
struct MtpInput;
struct GpuKernels;
struct TransformerParts;

// Shapes: B rows, T tokens, E hidden size, V vocabulary.

/// A Llama-style decoder-only transformer: RMSNorm, rotary positions, grouped-query attention, a
/// gated MLP; what the architectures add or change is in ModelConfig::layers. Runs in the type of
/// its weights, on their device.
class Transformer : public LanguageModel {
 public:
  /// Random weights N(0, initializer_range), biases 0, from a seed.
  static std::unique_ptr<Transformer> initialize(const ModelConfig& config, uint64_t seed,
                                                 const at::TensorOptions& options);
  /// `weight(name)` gives each tensor by its Hugging Face name, already on its device and type;
  /// shapes are checked. UserError names the tensor.
  Transformer(const ModelConfig& config,
              const std::function<at::Tensor(const std::string&)>& weight);
  ~Transformer() override;

  const ModelConfig& config() const { return config_; }
  const Linear& head() const { return head_; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_positions() const override { return config_.context_length(); }
  KvLayout kv_layout() const override;
  TokenSpan mask_tokens() const override { return mask_tokens_; }
  bool gives_hidden() const override { return gives_hidden_; }
  at::Tensor forward(std::span<const SequenceStep> steps) const override;
  using LanguageModel::forward;

  /// Whole rows without a cache, causal, with gradients when enabled: the output of the last norm,
  /// [B,T,E]. Rows shorter than T are padded on the right; what padding attends to does not matter.
  /// `positions_BT` and `seen_B1TT` (bool, query by key), both or neither, replace consecutive
  /// positions and the causal mask.
  at::Tensor hidden_states(const at::Tensor& tokens_BT, const at::Tensor& positions_BT = {},
                           const at::Tensor& seen_B1TT = {}) const;
  /// hidden_states() in parts: the input shared by all layers, embeddings, one layer, last norm.
  struct Rows {
    at::Tensor tokens_BT;
    std::vector<Rotation> rotations;
    AttentionMasks masks;
    at::Tensor gate_BT1{};  // of the adapter (Linear); undefined: active everywhere
    SideInputs side{};
  };
  Rows read_rows(const at::Tensor& tokens_BT, const at::Tensor& positions_BT,
                 const at::Tensor& seen_B1TT) const;
  at::Tensor embed(const Rows& rows) const;
  at::Tensor run_layer(int64_t index, const at::Tensor& hidden_BTE, Rows& rows) const;
  at::Tensor norm(const at::Tensor& hidden_BTE) const;
  /// Float32 logits [...,V] of hidden states [...,E]: pick the positions first, V is large.
  at::Tensor logits(const at::Tensor& hidden) const;

  /// Every weight by its Hugging Face name, without adapters; tied embeddings appear once. The
  /// tensors share storage with the model.
  std::map<std::string, at::Tensor> named_weights() const;
  /// Every linear layer except the output head.
  std::vector<Linear*> linears();
  std::vector<const Linear*> linears() const;

  at::Device device() const { return embedding_.device(); }
  at::ScalarType dtype() const { return embedding_.scalar_type(); }
  /// Runs in `type`, weights of another type converted at each use; by default in theirs.
  void set_activations(at::ScalarType type) { activations_ = type; }
  at::ScalarType activations() const { return activations_; }
  /// Provides the weights of each layer while it is used; null: the model holds them. Whole passes
  /// lease layers themselves; run_layer() needs a lease of its layer.
  void set_layer_store(std::shared_ptr<LayerStore> store) { layer_store_ = std::move(store); }
  bool has_layer_store() const { return layer_store_ != nullptr; }
  /// `next`: the layer that will be leased after this one; -1: not known.
  [[nodiscard]] LayerLease lease_layer(int64_t index, int64_t next) const {
    return {layer_store_.get(), index, next};
  }
  /// What the snapshots of a sequence may take, in bytes; for pools made from now on.
  void set_state_memory(int64_t bytes) { state_memory_ = bytes; }
  /// Dropout on or off.
  void set_training(bool training);
  bool is_training() const { return training_; }
  /// Off: forward() runs in LibTorch's operators. By default our own kernels take what they can. In
  /// these the bits of a token's logits do not depend on how many tokens and sequences share the
  /// pass, where they stand in it, how earlier tokens were split into passes, or whether the token
  /// is on a tree's branch. So greedy verification keeps the text of plain decoding in every
  /// precision. Each device has its own bits; LibTorch's operators promise none of this.
  void set_kernels(bool on) { has_kernels_ = on; }
  /// Sets the kernels that run passes on the model's device; null: none. By default
  /// the CUDA kernels, where they can run. `capture`: makes graphs of passes; null: CUDA's. Borrows
  /// `kernels`.
  void set_gpu_kernels(const GpuKernels* kernels, GraphCapture capture = nullptr);
  /// Where passes run as graphs, captures those that conversations use, with the current weights
  /// and adapters; the others are captured on first use.
  void prepare_passes();
  /// Where our GPU kernels run, fuses queries, keys and values into one product, and gate and
  /// up.
  void join_products();
  /// How many of the first layers the backward pass recomputes (TrainingPass); in [0, layers].
  void set_num_recomputed(int64_t num_layers) { num_recomputed_ = num_layers; }
  int64_t num_recomputed() const { return num_recomputed_; }
  /// Returns the replacement of the weight of this name, or null to keep it.
  using Pack = std::function<std::shared_ptr<const QuantizedWeight>(const std::string& name,
                                                                    const at::Tensor& weight)>;
  /// Replaces the weights of linear layers and of the head (a copy of its own if it is tied and not
  /// packed with the embeddings). For inference only.
  void pack_linears(const Pack& pack);
  /// From now on, embeddings, and the head if it is tied to them, are rows of this matrix.
  void pack_embedding(std::shared_ptr<const QuantizedWeight> packed);
  /// The same of the embedding that layers get beside the others' output (LayerInputs).
  void pack_layer_inputs(std::shared_ptr<const QuantizedWeight> packed);
  /// Packs all linear layers and the head, on the model's device; embeddings are unchanged, even if
  /// the head was tied to them. Returns the mean relative error.
  double quantize(Quantization kind);
  /// Uses the embeddings and the head of `other`, of the same sizes, from now on.
  void share_tables(const Transformer& other);
  /// What this model was published with to guess its next tokens (ModelConfig::mtp()); null: none,
  /// or not loaded.
  void set_mtp(std::shared_ptr<const Transformer> mtp) {
    mtp_ = std::move(mtp);
    gives_hidden_ = gives_hidden_ || mtp_ != nullptr;
  }
  const std::shared_ptr<const Transformer>& mtp() const { return mtp_; }
  /// Of a model with ModelConfig::assistant: from now on it guesses what `model`, whose embeddings
  /// it takes, says next, and that gives_hidden(). UserError, which names it as `where`, if it
  /// cannot.
  void guess_for(Transformer& model, const std::string& where);
  /// Off: runs the base model, whatever adapter is attached.
  void set_adapter_enabled(bool enabled);
  /// If there are any, forward() applies the adapter to a step's masks only, so that all other
  /// tokens are the base model's: gated LoRA (Samragh et al. 2025, arXiv 2507.11851).
  void set_mask_tokens(TokenIds tokens) { mask_tokens_ = std::move(tokens); }

 private:
  bool is_cpu_pass() const { return cpu_pass_ && !gpu_pass_; }
  std::optional<at::Tensor> forward_by_kernels(std::span<const SequenceStep> steps) const;
  at::Tensor embed(const at::Tensor& tokens_BT) const { return embedder()(tokens_BT); }
  /// embed() as of now.
  std::function<at::Tensor(const at::Tensor& tokens_BT)> embedder() const;
  /// What the first layer gets of the steps' tokens.
  at::Tensor inputs(std::span<const SequenceStep> steps, const at::Tensor& tokens_1T) const;
  /// SideInputs::layer_inputs_BTLP of embeddings.
  at::Tensor layer_inputs(const at::Tensor& tokens_BT, const at::Tensor& embedded_BTE) const;
  /// `inputs_1TE`: of a pass, in place of embeddings.
  TransformerParts parts(const at::Tensor& inputs_1TE = {}) const;
  /// AttentionMasks' num_folded: how many heads' queries are folded into each key head.
  int64_t num_folded() const;
  ModelConfig config_;
  at::Tensor embedding_;  // [V,E]; [0,E] if packed_embedding_ is set
  std::shared_ptr<const QuantizedWeight> packed_embedding_;
  std::vector<DecoderLayer> layers_;
  std::unique_ptr<LayerInputs> layer_inputs_;  // null: no layer has any
  std::unique_ptr<MtpInput> mtp_input_;        // null: layers get embeddings
  std::unique_ptr<Assistant> assistant_;       // null: it guesses for no other model
  std::shared_ptr<const Transformer> mtp_;
  bool gives_hidden_ = false;
  at::Tensor final_norm_;  // [E]
  Linear head_;            // [V,E]; the embeddings when tied
  at::Tensor inverse_frequencies_;
  float embedding_scale_ = 1.0f;
  at::ScalarType activations_;
  std::shared_ptr<LayerStore> layer_store_;
  bool training_ = false;
  bool has_kernels_ = true;
  TokenIds mask_tokens_;
  std::unique_ptr<CpuPass> cpu_pass_;  // null: its kernels do not support the blocks
  std::unique_ptr<GpuPass> gpu_pass_;  // null: no kernels for the device or blocks
  int64_t num_recomputed_ = 0;
  int64_t state_memory_ = kStateMemory;
};

}  // namespace predgen
