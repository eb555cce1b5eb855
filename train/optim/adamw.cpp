#include "train/optim/adamw.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace predgen::train {

AdamW::AdamW(std::vector<Parameter> parameters, const AdamWOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  PREDGEN_CHECK(!parameters_.empty(), "nothing to train");
  int64_t size = 0;
  for (const Parameter& parameter : parameters_) size += parameter.tensor.numel();
  flat_gradient_ = at::zeros({size}, parameters_.front().tensor.options().requires_grad(false));
  int64_t begin = 0;
  for (Parameter& parameter : parameters_) {
    PREDGEN_CHECK(parameter.tensor.scalar_type() == at::kFloat, "{} is not float32",
                  parameter.name);
    const int64_t count = parameter.tensor.numel();
    parameter.tensor.mutable_grad() =
        flat_gradient_.narrow(0, begin, count).view(parameter.tensor.sizes());
    begin += count;
    first_moments_.push_back(at::zeros_like(parameter.tensor, at::MemoryFormat::Contiguous));
    second_moments_.push_back(at::zeros_like(parameter.tensor, at::MemoryFormat::Contiguous));
  }
}

std::vector<at::Tensor> AdamW::gradients() const {
  std::vector<at::Tensor> gradients;
  for (const Parameter& parameter : parameters_) gradients.push_back(parameter.tensor.grad());
  return gradients;
}

void AdamW::zero_gradients() { flat_gradient_.zero_(); }

void AdamW::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  ++num_steps_;
  for (const bool decays : {true, false}) {
    std::vector<at::Tensor> weights, gradients, first, second, steps;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& weight = parameters_[i].tensor;
      if ((weight.dim() >= 2) != decays) continue;
      weights.push_back(weight.detach());
      gradients.push_back(weight.grad());
      first.push_back(first_moments_[i]);
      second.push_back(second_moments_[i]);
      steps.push_back(
          at::full({}, static_cast<double>(num_steps_), weight.options().requires_grad(false)));
    }
    if (weights.empty()) continue;
    at::_fused_adamw_(weights, gradients, first, second, {}, steps, learning_rate, options_.beta1,
                      options_.beta2, decays ? options_.weight_decay : 0.0, options_.eps,
                      /*amsgrad=*/false, /*maximize=*/false);
  }
}

std::map<std::string, at::Tensor> AdamW::state() const {
  std::map<std::string, at::Tensor> state{{"step", at::full({1}, num_steps_, at::kLong)}};
  for (size_t i = 0; i < parameters_.size(); ++i) {
    state["m." + parameters_[i].name] = first_moments_[i];
    state["v." + parameters_[i].name] = second_moments_[i];
  }
  return state;
}

void AdamW::load_state(const std::map<std::string, at::Tensor>& state) {
  const std::map<std::string, at::Tensor> own = this->state();
  for (const auto& [name, tensor] : own) {
    const auto found = state.find(name);
    if (found == state.end()) throw UserError("the optimizer's file lacks {}", name);
    if (found->second.sizes() != tensor.sizes()) {
      throw UserError("{} in the optimizer's file has another shape than the parameter", name);
    }
  }
  for (const auto& [name, tensor] : state) {
    if (!own.contains(name)) throw UserError("the optimizer's file has an unknown tensor {}", name);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    first_moments_[i].copy_(state.at("m." + parameters_[i].name));
    second_moments_[i].copy_(state.at("v." + parameters_[i].name));
  }
  num_steps_ = state.at("step").item<int64_t>();
}

const std::vector<std::pair<std::string, ScheduleKind>>& schedule_kinds() {
  static const std::vector<std::pair<std::string, ScheduleKind>> kinds{
      {"constant", ScheduleKind::kConstant},
      {"linear", ScheduleKind::kLinear},
      {"cosine", ScheduleKind::kCosine}};
  return kinds;
}

double learning_rate(const LrSchedule& schedule, int64_t step) {
  if (step <= schedule.warmup_steps) {
    return schedule.peak * static_cast<double>(step) /
           static_cast<double>(schedule.warmup_steps + 1);
  }
  const double span =
      static_cast<double>(std::max<int64_t>(1, schedule.total_steps - schedule.warmup_steps));
  const double progress =
      std::min(1.0, static_cast<double>(step - 1 - schedule.warmup_steps) / span);
  double fraction = 1.0;
  if (schedule.kind == ScheduleKind::kLinear) fraction = 1.0 - progress;
  if (schedule.kind == ScheduleKind::kCosine) {
    fraction = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  }
  return schedule.peak * (schedule.min_ratio + (1.0 - schedule.min_ratio) * fraction);
}

}  // namespace predgen::train
