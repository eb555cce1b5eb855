#include "train/optim/clip_gradients.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

namespace predgen {

double clip_gradients(const std::vector<at::Tensor>& gradients, double max_norm) {
  const at::NoGradGuard no_grad;
  const double norm = at::stack(at::_foreach_norm(gradients)).norm().item<double>();
  if (max_norm > 0 && norm > max_norm && std::isfinite(norm)) {
    at::_foreach_mul_(gradients, max_norm / norm);
  }
  return norm;
}

}  // namespace predgen
