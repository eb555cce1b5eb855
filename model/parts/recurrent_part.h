#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/parts/attention.h"
#include "model/parts/layer_weights.h"
#include "model/sequence_state.h"

namespace predgen {

// Shapes: B rows, T new tokens, n tokens that follow each other, E hidden size, W and M what a part
// reads and gives of a token.

/// A part in place of attention that keeps a state of fixed size, into which it reads one token
/// after another. Between read() and write(), which see each token alone, there is only advance().
class RecurrentPart {
 public:
  virtual ~RecurrentPart() = default;

  virtual at::Tensor read(const at::Tensor& input_BTE, const at::Tensor& gate_BT1) const = 0;
  /// Reads tokens [n,W] after those that `state` has read; gives [n,M] and replaces the state.
  /// Never writes into the state's tensors, which snapshots share. How many tokens a call has
  /// changes nothing but rounding.
  virtual at::Tensor advance(const at::Tensor& tokens_nW, LayerState& state) const = 0;
  virtual at::Tensor write(const at::Tensor& found_BTM, const at::Tensor& gate_BT1) const = 0;

  /// What is trained, merged and packed, in the order of the reference's state dict.
  virtual std::vector<Linear*> linears() = 0;
  /// All other weights that it has, by name.
  virtual void add_others(NamedTensors& to) const = 0;

  /// Runs whole rows from the beginning, [B,T,E] to [B,T,E].
  at::Tensor operator()(const at::Tensor& input_BTE, const at::Tensor& gate_BT1) const;
  /// Runs the new tokens of several sequences, [1,T,E] to [1,T,E], from the state that each has for
  /// the layer `place` of those that keep one; fills in what it has at their points.
  at::Tensor operator()(const at::Tensor& input_1TE, int64_t place, std::span<CachedRows> sequences,
                        const at::Tensor& gate_1T1) const;
};

/// What a layer's recurrence is: makes it, and says what it takes.
class RecurrentSpec {
 public:
  virtual ~RecurrentSpec() = default;
  /// As kernels that lack it name it.
  virtual const char* name() const = 0;
  /// Whether our kernels for CPUs run it (cpu/cpu_recurrence.h).
  virtual bool has_cpu_kernels() const = 0;
  /// Adds the weights that a checkpoint has for it, in the order of the reference's state dict.
  virtual void add_weights(const ModelConfig& config, LayerWeights& to) const = 0;
  virtual std::unique_ptr<RecurrentPart> make(const LayerSource& source) const = 0;
  /// About how many values in float32 autograd keeps of a token, beside the linears'.
  virtual int64_t saved_values(const ModelConfig& config) const = 0;
  /// Of the state after one position, `bytes_per_value` for each activation.
  virtual int64_t state_bytes(const ModelConfig& config, int64_t bytes_per_value) const = 0;
};

}  // namespace predgen
