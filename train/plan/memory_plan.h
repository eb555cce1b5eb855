#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "train/distributed/communicator.h"
#include "train/plan/plan_sizes.h"
#include "train/train_config.h"

namespace predgen::train {

struct PlanSizes;

/// The peak memory of a rank of a training run, from sizes alone: GPU memory, or on a CPU the
/// process's resident memory. Counts what the run keeps, what autograd saves for the layers
/// (model/decoder_layer.cpp), and the largest of the moments between which memory is freed.
/// Held-out generation (the watch) and the tokenizer are left out.
class MemoryPlan {
 public:
  /// A CUDA context with its kernels and cuBLAS's workspace.
  static constexpr int64_t kContextBytes = int64_t{600} << 20;

  struct Term {
    std::string what;
    int64_t bytes = 0;
  };

  MemoryPlan(const ModelConfig& model, const TrainConfig& train, const PlanCase& plan_case);

  /// What is held from loading to the end.
  const std::vector<Term>& held() const { return held_; }
  /// What a step keeps from its forward pass until the backward pass has used it.
  int64_t kept_bytes() const { return kept_; }
  /// What is added on top, one at a time: on kept_bytes() in a step, or alone while loading.
  const std::vector<Term>& step_moments() const { return step_moments_; }
  const Term& loading() const { return loading_; }
  /// kept_bytes() and the largest of step_moments().
  int64_t step_bytes() const;
  /// Memory lost to fragmentation between the tensors of a step.
  int64_t lost_bytes() const;
  int64_t peak_bytes() const;
  /// Frozen weights in host memory, when training on a GPU.
  int64_t host_bytes() const { return host_; }

  int64_t trained_values() const { return trained_values_; }
  int64_t checkpoint_bytes() const { return 12 * trained_values_; }  // weights, two moments
  int64_t final_bytes() const;

 private:
  void add_weights(const PlanSizes& sizes);
  void add_step(const PlanSizes& sizes);

  std::vector<Term> held_, step_moments_;
  Term loading_;
  int64_t kept_ = 0, fetch_ = 0, host_ = 0, trained_values_ = 0;
  double lost_share_ = 0.0;
  bool is_cuda_ = false, final_is_bfloat16_ = false;
};

std::string to_gib(int64_t bytes);  // "18.34 GiB"

/// A setting that saves memory, and the peak of the run with it.
struct MemoryKnob {
  std::string setting;
  int64_t peak_bytes = 0;
};

/// The changes to make, each on top of those before, until the run takes at most `limit` bytes or
/// nothing is left to change. Cheapest in time first.
std::vector<MemoryKnob> memory_knobs(const ModelConfig& model, const TrainConfig& train,
                                     const PlanCase& plan_case, int64_t limit);
/// The changes in one line: "the plan says 31.24 GiB; `recompute: all` takes 18.34 GiB, then ...".
std::string memory_advice(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t limit);

/// The part of a device's memory that a plan may fill: 95 %; the rest is lost to fragmentation.
int64_t usable(int64_t memory_bytes);

/// UserError for a model whose layers read what others made, if any of them is to be run twice or
/// is fetched for a pass.
void check_recomputed(const ModelConfig& model, const TrainConfig& train);

/// The fewest recomputed layers with which the run takes at most `limit` bytes; all that may be if
/// none do.
int64_t layers_to_recompute(const ModelConfig& model, const TrainConfig& train,
                            const PlanCase& plan_case, int64_t limit);

/// How many layers a run recomputes: as configured or, with kAutoLayers, the most that any rank
/// needs to fit into its `memory` bytes (free_memory()), so the same number on all ranks. A
/// collective. UserError as check_recomputed().
int64_t choose_recomputed(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t memory, Communicator& communicator);

}  // namespace predgen::train
