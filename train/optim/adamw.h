#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>
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

}  // namespace predgen::train
