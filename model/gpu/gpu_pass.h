#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <optional>
#include <span>
#include <string>

#include "kernels/gpu/gpu_kernels.h"
#include "model/gpu/pass_launches.h"
#include "model/parts/transformer_parts.h"
#include "model/pass_tokens.h"

namespace predgen {

/// Forward passes on a GPU by our own kernels, nine launches per layer. The bits of a token's
/// logits do not depend on how many tokens and sequences share the pass, where they stand in it,
/// how earlier tokens were split into passes, or whether the token is on a tree's branch. The
/// residual stream is float32 in every precision; keys and values are rounded to the type of the
/// embeddings. On CUDA each kind of pass of up to kMaxGpuTokens is captured as a graph, by
/// prepare() or on first use; such passes are padded to keep the number of kinds small. Used by one
/// thread.
class GpuPass {
 public:
  /// Why the kernels cannot run such a model, in one line; empty if they can.
  static std::string refusal(const ModelConfig& config);

  /// `kernels` run on the model's device; borrowed. `capture`: makes graphs; null: CUDA's, if
  /// available.
  explicit GpuPass(const GpuKernels& kernels, GraphCapture capture = nullptr)
      : kernels_(kernels), capture_(std::move(capture)) {}

  const GpuKernels& kernels() const { return kernels_; }

  /// Transformer::forward() for a model that refusal() accepts, except that nothing is committed.
  /// None if the kernels do not take the pass: a tree of more than kMaxGpuTokens tokens; under
  /// autocast or in training; a model of other types. Error for a launch that CUDA rejects, and if
  /// another pass is under way; c10::OutOfMemoryError without memory for kMaxGpuTokens tokens.
  std::optional<at::Tensor> run(const TransformerParts& model, std::span<const SequenceStep> steps);

  /// Captures the graphs that conversations use, so that none of them waits for it.
  void prepare(const TransformerParts& model);

 private:
  static bool takes(const TransformerParts& model);
  PassKind kind_of(const TransformerParts& model, std::span<const SequenceStep> steps) const;
  /// The kind of a pass without a graph: nothing is padded.
  PassKind exact_kind_of(const TransformerParts& model, std::span<const SequenceStep> steps) const;
  /// PassMemory::l2_bytes, asked for once.
  int64_t l2_bytes(const TransformerParts& model);
  /// The memory of the passes that are graphs.
  const PassMemory& memory(const TransformerParts& model);
  /// Copies tokens, wanted rows, tiles and caches to the memory that launches read.
  void upload(const TransformerParts& model, std::span<const SequenceStep> steps,
              const PassKind& kind, const PassMemory& memory) const;
  /// Null if passes are launched without graphs.
  PassGraphs* graphs(const TransformerParts& model);
  at::Tensor run_few(const TransformerParts& model, std::span<const SequenceStep> steps);
  at::Tensor run_many(const TransformerParts& model, std::span<const SequenceStep> steps);
  /// run_many(), or none.
  std::optional<at::Tensor> run_if_there_is_memory(const TransformerParts& model,
                                                   std::span<const SequenceStep> steps);
  at::Tensor run_in_parts(const TransformerParts& model, std::span<const SequenceStep> steps);

  const GpuKernels& kernels_;
  GraphCapture capture_;
  std::atomic_flag is_running_;
  PassTokens tokens_;
  PassMemory memory_;
  std::optional<int64_t> l2_bytes_;
  std::optional<PassGraphs> graphs_;
};

}  // namespace predgen
