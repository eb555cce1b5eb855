#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "train/train_config.h"

namespace predgen {

/// What a run's memory depends on beside its configuration.
struct PlanCase {
  int64_t row_tokens = 0;     // of the longest row
  int64_t taught_tokens = 0;  // of it, at most
  bool has_segments = false;  // rows hold parts that do not see each other
  int world_size = 1;
  bool is_cuda = false;
  bool bfloat16_products = true;  // has_bfloat16_products()
  int64_t process_bytes = 0;      // on a CPU: resident before a model is loaded
};

/// The memory that a rank of a training run takes at its worst moment, from sizes alone: that of
/// the GPU, or on a CPU what is resident of the process. Counts what the run keeps, what autograd
/// saves of the layers (model/decoder_layer.cpp) and the largest of the moments between which
/// memory is given back. Held-out generation (the watch) and the tokenizer are left out.
class MemoryPlan {
 public:
  struct Term {
    std::string what;
    int64_t bytes = 0;
  };

  MemoryPlan(const ModelConfig& model, const TrainConfig& train, const PlanCase& plan_case);

  /// What is there from loading to the end.
  const std::vector<Term>& held() const { return held_; }
  /// What a step keeps of its forward pass until the backward pass has used it.
  int64_t kept_bytes() const { return kept_; }
  /// What comes on top, one at a time: in a step with kept_bytes(), or while loading without.
  const std::vector<Term>& step_moments() const { return step_moments_; }
  const Term& loading() const { return loading_; }
  /// kept_bytes() and the largest of step_moments().
  int64_t step_bytes() const;
  /// What lies free between the tensors of a step, on a CPU.
  int64_t lost_bytes() const;
  int64_t peak_bytes() const;
  /// Of frozen weights in the memory of the host, beside a GPU.
  int64_t host_bytes() const { return host_; }

  int64_t trained_values() const { return trained_values_; }
  int64_t checkpoint_bytes() const { return 12 * trained_values_; }  // weights, two moments
  int64_t final_bytes() const;

 private:
  struct Sizes;
  void add_weights(const Sizes& sizes);
  void add_step(const Sizes& sizes);

  std::vector<Term> held_, step_moments_;
  Term loading_;
  int64_t kept_ = 0, host_ = 0, trained_values_ = 0;
  double lost_share_ = 0.0;
  bool is_cuda_ = false, final_is_bfloat16_ = false;
};

/// A setting that takes less memory, with what the run then takes.
struct MemoryKnob {
  std::string setting;
  int64_t peak_bytes = 0;
};

/// What to change, one after the other and each on top of those before, until the run takes at most
/// `limit` bytes or nothing is left to change. Cheapest in time first.
std::vector<MemoryKnob> memory_knobs(const ModelConfig& model, const TrainConfig& train,
                                     const PlanCase& plan_case, int64_t limit);
/// These in one line: "the plan says 31.24 GiB; `recompute: all` takes 18.34 GiB, then ...".
std::string memory_advice(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t limit);

/// The fewest recomputed layers with which the run takes at most `limit` bytes; all if none do.
int64_t layers_to_recompute(const ModelConfig& model, const TrainConfig& train,
                            const PlanCase& plan_case, int64_t limit);

/// Of a device's memory what a plan may fill: 95 %, the rest is lost between blocks.
int64_t usable(int64_t memory_bytes);

std::string to_gib(int64_t bytes);  // "18.34 GiB"

}  // namespace predgen
