#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "model/gpu/captured_graph.h"
#include "model/gpu/gpu_kernels.h"
#include "model/pass_tokens.h"
#include "model/transformer_parts.h"

namespace predgen {

/// Forward passes over a few tokens on a GPU: LibTorch's products, and our own kernels for all that
/// lies between, about ten launches a layer. The residual stream is float32 in every precision;
/// keys and values are rounded to the type of the embeddings. On CUDA each kind of pass is captured
/// as a graph when it first comes; passes are filled up, so that kinds are few. Used by one thread.
class GpuPass {
 public:
  /// `kernels` run where the model's tensors lie. Borrows them.
  explicit GpuPass(const GpuKernels& kernels) : kernels_(kernels) {}

  /// Transformer::forward(), but that nothing is committed. Nothing if the kernels do not take the
  /// pass: more than kMaxGpuTokens tokens, or after so many that their attention would take more
  /// than a quarter GiB; under autocast or in training; a model of other types, with heads of other
  /// sizes than multiples of 8 up to kMaxGpuHeadDim, or more than kMaxGpuRows that share a key
  /// head. Error for a launch that CUDA refuses, and if another pass is under way.
  std::optional<at::Tensor> run(const TransformerParts& model, std::span<const SequenceStep> steps);

 private:
  /// What differs in the launches themselves.
  struct Kind {
    int64_t num_tokens = 0, num_logits = 0;  // filled up
    int64_t num_chunks = 0;                  // of the longest cache
    int64_t tile = 0;
    size_t weights = 0;  // where they lie

    auto operator<=>(const Kind&) const = default;
  };
  class Launches;

  std::optional<Kind> kind_of(const TransformerParts& model,
                              std::span<const SequenceStep> steps) const;
  /// Tokens, wanted rows and caches, into the memory that launches read.
  void upload(const TransformerParts& model, std::span<const SequenceStep> steps, const Kind& kind);

  const GpuKernels& kernels_;
  std::atomic_flag is_running_;
  PassTokens tokens_;
  std::vector<char> host_;
  at::Tensor inputs_;  // uint8, on the device: GpuTokens, int32 rows, GpuCaches [steps,layers]
  at::Tensor logits_;  // float32 [kMaxGpuTokens,V]
  std::unique_ptr<const GraphMemory> memory_;
  std::map<Kind, std::unique_ptr<CapturedGraph>> graphs_;
  std::set<Kind> refused_;  // there was no memory for them
};

}  // namespace predgen
