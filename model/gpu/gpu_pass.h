#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <optional>
#include <span>
#include <string>

#include "model/gpu/gpu_kernels.h"
#include "model/gpu/pass_graphs.h"
#include "model/gpu/pass_launches.h"
#include "model/pass_tokens.h"
#include "model/transformer_parts.h"

namespace predgen {

/// Forward passes over few tokens, or a few of each of many sequences, on a GPU: LibTorch's
/// products, and our own kernels for all that lies between, about ten launches a layer. The
/// residual stream is float32 in every precision; keys and values are rounded to the type of the
/// embeddings. On CUDA each kind of pass of up to kMaxGpuTokens is captured as a graph, by
/// prepare() or when it first comes; such passes are filled up, so that kinds are few. Used by one
/// thread.
class GpuPass {
 public:
  /// Why the kernels do not run such a model, in one line; empty: they do.
  static std::string refusal(const ModelConfig& config);

  /// `kernels` run where the model's tensors lie; borrows them. `capture`: makes graphs; null:
  /// CUDA's, where there are some.
  explicit GpuPass(const GpuKernels& kernels, GraphCapture capture = nullptr)
      : kernels_(kernels), capture_(std::move(capture)) {}

  /// Transformer::forward() of a model that refusal() has nothing against, but that nothing is
  /// committed. Nothing if the kernels do not take the pass: more than kMaxGpuTokens tokens, unless
  /// they are a few of each of several sequences without trees; under autocast or in training; a
  /// model of other types; for want of memory. In the width-invariant mode also more tokens than
  /// that, in several runs, unless they are a tree; then want of memory throws. Error for a launch
  /// that CUDA refuses, and if another pass is under way.
  std::optional<at::Tensor> run(const TransformerParts& model, std::span<const SequenceStep> steps);

  /// Captures what conversations use, so that none of them waits for it.
  void prepare(const TransformerParts& model);

 private:
  static bool takes(const TransformerParts& model);
  PassKind kind_of(const TransformerParts& model, std::span<const SequenceStep> steps) const;
  /// Of a pass that is no graph: nothing is filled up.
  PassKind exact_kind_of(const TransformerParts& model, std::span<const SequenceStep> steps) const;
  /// Of the passes that are graphs.
  const PassMemory& memory(const TransformerParts& model);
  /// Tokens, wanted rows, tiles and caches, into the memory that launches read.
  void upload(const TransformerParts& model, std::span<const SequenceStep> steps,
              const PassKind& kind, const PassMemory& memory) const;
  /// Null where passes are launched without.
  PassGraphs* graphs(const TransformerParts& model);
  at::Tensor run_few(const TransformerParts& model, std::span<const SequenceStep> steps);
  at::Tensor run_many(const TransformerParts& model, std::span<const SequenceStep> steps);
  at::Tensor run_in_parts(const TransformerParts& model, std::span<const SequenceStep> steps);

  const GpuKernels& kernels_;
  GraphCapture capture_;
  std::atomic_flag is_running_;
  PassTokens tokens_;
  PassMemory memory_;
  std::optional<PassGraphs> graphs_;
};

}  // namespace predgen
