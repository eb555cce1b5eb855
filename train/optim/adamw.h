#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace predgen::train {

struct Parameter {
  std::string name;
  at::Tensor tensor;  // float32, requires grad
};

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
};

/// AdamW (Loshchilov & Hutter 2019) with float32 moments. Vectors (norms, biases) are not decayed.
/// Gives every parameter a zero gradient, a view of one tensor that never moves.
class AdamW {
 public:
  AdamW(std::vector<Parameter> parameters, const AdamWOptions& options);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::vector<at::Tensor> gradients() const;
  /// All gradients concatenated, [number of values]; shared storage.
  const at::Tensor& flat_gradient() const { return flat_gradient_; }
  void zero_gradients();
  void step(double learning_rate);

  /// "step", "m.<parameter>", "v.<parameter>"; shared storage.
  std::map<std::string, at::Tensor> state() const;
  /// UserError if a tensor is missing, superfluous or misshapen.
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  std::vector<Parameter> parameters_;
  const AdamWOptions options_;
  at::Tensor flat_gradient_;
  std::vector<at::Tensor> first_moments_, second_moments_;
  int64_t num_steps_ = 0;
};

enum class ScheduleKind { kConstant, kLinear, kCosine };

/// The kinds by their names in configurations.
const std::vector<std::pair<std::string, ScheduleKind>>& schedule_kinds();

struct LrSchedule {
  ScheduleKind kind = ScheduleKind::kCosine;
  double peak = 1e-4;
  double min_ratio = 0.0;  // share of the peak at which linear and cosine end
  int64_t warmup_steps = 0;
  int64_t total_steps = 1;
};

/// The learning rate of a step in [1, total_steps]: rises as step / (warmup_steps + 1), then falls
/// from the peak; no step is spent at exactly 0 or at the very end of the curve.
double learning_rate(const LrSchedule& schedule, int64_t step);

}  // namespace predgen::train
