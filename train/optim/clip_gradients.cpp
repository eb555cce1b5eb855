#include "train/optim/clip_gradients.h"

#include <ATen/core/grad_mode.h>

namespace predgen::train {

at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  return at::stack(at::_foreach_norm(gradients)).norm();
}

void clip_gradients(const std::vector<at::Tensor>& gradients, double norm, double max_norm) {
  const at::NoGradGuard no_grad;
  if (max_norm > 0 && norm > max_norm) at::_foreach_mul_(gradients, max_norm / norm);
}

}  // namespace predgen::train
