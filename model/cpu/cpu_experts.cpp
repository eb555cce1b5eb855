#include "model/cpu/cpu_experts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"

namespace predgen {
namespace {

/// Softmax in place.
void soften(float* values, int64_t count) {
  const float largest = *std::max_element(values, values + count);
  float total = 0.0f;
  for (int64_t i = 0; i < count; ++i) total += values[i] = std::exp(values[i] - largest);
  for (int64_t i = 0; i < count; ++i) values[i] /= total;
}

/// As Experts::choose(), for one token; `scores` [count] are the router's products, which change.
void choose_for(const ExpertsSpec& spec, const float* score_bias, float* scores, int32_t* experts,
                float* weights) {
  const int64_t X = spec.count, K = spec.chosen;
  if (spec.routing == Routing::kSoftmax) soften(scores, X);
  if (spec.routing == Routing::kSigmoid) {
    for (int64_t i = 0; i < X; ++i) scores[i] = 1.0f / (1.0f + std::exp(-scores[i]));
  }
  const auto compared = [&](int64_t i) {
    return score_bias != nullptr ? scores[i] + score_bias[i] : scores[i];
  };
  for (int64_t k = 0; k < K; ++k) {
    int64_t best = -1;
    for (int64_t i = 0; i < X; ++i) {
      const bool is_taken = std::find(experts, experts + k, i) != experts + k;
      if (!is_taken && (best < 0 || compared(i) > compared(best))) best = i;
    }
    experts[k] = static_cast<int32_t>(best);
    weights[k] = scores[best];
  }
  if (spec.routing == Routing::kSoftmaxOfChosen) soften(weights, K);
  float factor = static_cast<float>(spec.scale);
  if (spec.is_normalised) {
    float sum = static_cast<float>(spec.sum_offset);
    for (int64_t k = 0; k < K; ++k) sum += weights[k];
    factor /= sum;
  }
  for (int64_t k = 0; k < K; ++k) weights[k] *= factor;
}

}  // namespace

GateKernel gate_kernel(const TokenKernels& kernels, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return kernels.gate_silu;
    case Activation::kGeluTanh:
      return kernels.gate_gelu;
    case Activation::kClampedSwiglu:
      return kernels.gate_clamped;
  }
  throw Error("an unknown activation");
}

void CpuExperts::prepare(const ExpertsSpec& spec, int64_t hidden_size, int64_t num_tokens) {
  const int64_t rows = num_tokens * spec.chosen;
  hidden_size_ = hidden_size;
  room(logits_, num_tokens * spec.count);
  room(weights_, rows);
  room(experts_, rows);
  room(row_of_, rows);
  room(token_of_, rows);
  room(x_, rows * hidden_size);
  room(gate_, rows * spec.width);
  room(up_, rows * spec.width);
  room(out_, rows * hidden_size);
}

void CpuExperts::choose(const Experts& experts, std::span<const float> scale, int64_t begin,
                        int64_t end) {
  const ExpertsSpec& spec = experts.spec;
  const float* bias =
      experts.score_bias.defined() ? experts.score_bias.const_data_ptr<float>() : nullptr;
  for (int64_t token = begin; token < end; ++token) {
    const int32_t* const chosen = experts_.data() + token * spec.chosen;
    float* const weights = weights_.data() + token * spec.chosen;
    choose_for(spec, bias, logits_.data() + token * spec.count,
               experts_.data() + token * spec.chosen, weights);
    for (int64_t k = 0; k < spec.chosen && !scale.empty(); ++k) {
      weights[k] *= scale[static_cast<size_t>(chosen[k])];
    }
  }
}

bool CpuExperts::group(const Experts& experts, int64_t num_tokens) {
  chosen_ = experts.spec.chosen;
  num_rows_ = num_tokens * chosen_;
  begins_.assign(static_cast<size_t>(experts.spec.count) + 1, 0);
  for (int64_t i = 0; i < num_rows_; ++i) {
    ++begins_[static_cast<size_t>(experts_[static_cast<size_t>(i)]) + 1];
  }
  active_.clear();
  is_supported_ = true;
  for (size_t i = 0; i < experts.all.size(); ++i) {
    const int64_t begin = begins_[i], end = begin + begins_[i + 1];
    begins_[i + 1] = end;
    if (begin == end) continue;
    const Experts::Expert& own = experts.all[i];
    const auto gate = CpuLinear::of(own.gate, true), up = CpuLinear::of(own.up, true),
               down = CpuLinear::of(own.down, true);
    is_supported_ = is_supported_ && gate && up && down && !gate->has_adapter() &&
                    !up->has_adapter() && !down->has_adapter();
    if (!is_supported_) return false;
    active_.push_back({begin, end, {*gate, *up}, {*down}});
  }
  for (int64_t i = 0; i < num_rows_; ++i) {
    const auto expert = static_cast<size_t>(experts_[static_cast<size_t>(i)]);
    const int64_t row = begins_[expert]++;
    row_of_[static_cast<size_t>(i)] = static_cast<int32_t>(row);
    token_of_[static_cast<size_t>(row)] = i / chosen_;
  }
  if (products_.size() < active_.size()) products_.resize(active_.size());
  for (size_t i = 0; i < active_.size(); ++i) {
    const Active& own = active_[i];
    products_[i].prepare(own.gate_up, own.end - own.begin);
    products_[i].prepare(own.down, own.end - own.begin);
  }
  return true;
}

void CpuExperts::pack(size_t index, CpuProducts::Linears linears, const float* from, int64_t begin,
                      int64_t end) {
  const Active& own = active_[index];
  const int64_t first = std::max(begin, own.begin), last = std::min(end, own.end);
  if (first >= last) return;
  products_[index].pack(linears, from + own.begin * linears.front().product.in, own.end - own.begin,
                        first - own.begin, last - own.begin);
}

void CpuExperts::run(const Experts& experts, const float* x_TE, const TokenKernels& kernels,
                     ThreadTeam& team, int thread) {
  const int64_t E = hidden_size_, I = experts.spec.width;
  const auto [first, last] = share(num_rows_, 1, thread, team.width());
  for (int64_t row = first; row < last; ++row) {
    std::copy_n(x_TE + token_of_[static_cast<size_t>(row)] * E, E, x_.data() + row * E);
  }
  for (size_t i = 0; i < active_.size(); ++i) {
    pack(i, active_[i].gate_up, x_.data(), first, last);
  }
  team.meet();
  const GateKernel gate = gate_kernel(kernels, experts.spec.activation);
  const auto [begin, end] = CpuProducts::outputs(I, team, thread);
  for (size_t i = 0; i < active_.size(); ++i) {
    const Active& own = active_[i];
    float* const y[] = {gate_.data() + own.begin * I, up_.data() + own.begin * I};
    products_[i].multiply(own.gate_up, own.end - own.begin, y, team, thread);
    for (int64_t row = own.begin; row < own.end; ++row) {
      gate(gate_.data() + row * I + begin, up_.data() + row * I + begin, end - begin);
    }
  }
  team.meet();
  for (size_t i = 0; i < active_.size(); ++i) {
    pack(i, active_[i].down, gate_.data(), first, last);
  }
  team.meet();
  for (size_t i = 0; i < active_.size(); ++i) {
    const Active& own = active_[i];
    float* const y = out_.data() + own.begin * E;
    products_[i].multiply(own.down, own.end - own.begin, {&y, 1}, team, thread);
  }
  team.meet();
}

void CpuExperts::add_outputs(int64_t token, const TokenKernels& kernels, float* to_E) const {
  for (int64_t k = 0; k < chosen_; ++k) {
    const auto place = static_cast<size_t>(token * chosen_ + k);
    kernels.add(to_E, out_.data() + row_of_[place] * hidden_size_, weights_[place], hidden_size_);
  }
}

}  // namespace predgen
