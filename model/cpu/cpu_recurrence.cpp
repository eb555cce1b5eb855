#include "model/cpu/cpu_recurrence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "kernels/token_kernels.h"
#include "model/cpu/cpu_products.h"
#include "model/parts/delta_net.h"
#include "model/parts/short_convolution.h"

namespace predgen {
namespace {

class CpuConvolution : public CpuRecurrence {
 public:
  CpuConvolution(const ShortConvolution& part, int64_t width)
      : CpuRecurrence(num_convolution_units(width),
                      (part.shape.taps - 1) * (width / num_convolution_units(width)),
                      2 * (width / num_convolution_units(width))),
        part_(part),
        width_(width),
        channels_(width / num_convolution_units(width)) {}

  at::Tensor shaped(const at::Tensor& state) const override {
    return state.view({num_units(), part_.shape.taps - 1, channels_});
  }

 protected:
  std::vector<const Linear*> read_weights() override {
    taps_ = taps_copy_.of(part_.taps_E1K, [&] {
      return part_.taps_E1K.to(at::kFloat).view({num_units(), channels_, -1}).transpose(1, 2);
    });
    bias_ = part_.bias_E.defined()
                ? bias_copy_.of(part_.bias_E, [&] { return part_.bias_E.to(at::kFloat); })
                : nullptr;
    return {&part_.in, &part_.out};
  }
  void advance(int64_t unit, int64_t token, std::span<float* const> x, float* state, float* found,
               float* scratch) const override {
    const int64_t n = channels_, first = unit * n, taps = part_.shape.taps;
    const float* const b = x[0] + token * 3 * width_ + first;
    const float *const c = b + width_, *const values = c + width_;
    float* const to = found + token * width_ + first;
    for (int64_t i = 0; i < n; ++i) scratch[i] = b[i] * values[i];
    token_kernels().float32.convolve({.x = scratch,
                                      .taps = taps_ + unit * taps * n,
                                      .window = state,
                                      .to = scratch + n,
                                      .num_taps = taps,
                                      .channels = n,
                                      .stride = n});
    for (int64_t i = 0; i < n; ++i) {
      to[i] = (bias_ == nullptr ? scratch[n + i] : scratch[n + i] + bias_[first + i]) * c[i];
    }
  }

 private:
  const ShortConvolution& part_;
  const int64_t width_, channels_;  // the latter of a unit
  WideCopy taps_copy_, bias_copy_;
  const float *taps_ = nullptr, *bias_ = nullptr;  // [units,taps,channels], [width]
};

class CpuDeltaNet : public CpuRecurrence {
 public:
  explicit CpuDeltaNet(const DeltaNet& part)
      : CpuRecurrence(part.shape.key_heads, part.shape.unit_size(),
                      part.shape.unit_channels() + 2 * part.shape.shared()),
        part_(part),
        shape_(part.shape) {}

  at::Tensor shaped(const at::Tensor& state) const override { return state; }

 protected:
  std::vector<const Linear*> read_weights() override {
    taps_ = taps_copy_.of(part_.taps_C1K, [&] { return part_.unit_taps().transpose(0, 1); });
    norm_ = norm_copy_.of(part_.norm_V, [&] { return part_.norm_V.to(at::kFloat); });
    rates_ = rates_copy_.of(part_.A_log_H, [&] { return part_.A_log_H.to(at::kFloat).exp(); });
    biases_ = biases_copy_.of(part_.dt_bias_H, [&] { return part_.dt_bias_H.to(at::kFloat); });
    return {&part_.qkv, &part_.opening, &part_.beta, &part_.alpha, &part_.out};
  }
  void advance(int64_t unit, int64_t token, std::span<float* const> x, float* state, float* found,
               float* scratch) const override {
    const TokenKernels& kernels = token_kernels().float32;
    const int64_t D = shape_.key_dim, RV = shape_.shared() * shape_.value_dim;
    const int64_t U = shape_.unit_channels(), R = shape_.shared(), K = shape_.taps;
    const float* const qkv = x[0] + token * shape_.channels();
    const auto convolve = [&](int64_t from, int64_t begin, int64_t count) {
      kernels.convolve({.x = qkv + from,
                        .taps = taps_ + unit * K * U + begin,
                        .window = state + begin,
                        .to = scratch + begin,
                        .num_taps = K,
                        .channels = count,
                        .stride = U,
                        .has_silu = true});
    };
    convolve(unit * D, 0, D);
    convolve(shape_.all_keys() + unit * D, D, D);
    convolve(2 * shape_.all_keys() + unit * RV, 2 * D, RV);
    float *const decays = scratch + U, *const betas = decays + R;
    for (int64_t i = 0; i < R; ++i) {
      const int64_t head = unit * R + i, place = token * shape_.value_heads + head;
      const float raised = x[3][place] + biases_[head];
      const float step = raised > 20.0f ? raised : std::log1p(std::exp(raised));  // softplus
      decays[i] = std::exp(-rates_[head] * step);
      betas[i] = 1.0f / (1.0f + std::exp(-x[2][place]));
    }
    float* const to = found + token * shape_.all_values() + unit * RV;
    kernels.advance_delta({.query = scratch,
                           .key = scratch + D,
                           .values = scratch + 2 * D,
                           .decays = decays,
                           .betas = betas,
                           .state = state + (K - 1) * U,
                           .to = to,
                           .heads = R,
                           .key_dim = D,
                           .value_dim = shape_.value_dim});
    float* const gates = x[1] + token * shape_.all_values() + unit * RV;
    for (int64_t i = 0; i < R; ++i) {
      float* const head = to + i * shape_.value_dim;
      kernels.norm(head, norm_, 0.0f, shape_.value_dim, static_cast<float>(part_.eps), head);
    }
    kernels.gate_silu(gates, to, RV);
    std::copy_n(gates, RV, to);
  }

 private:
  const DeltaNet& part_;
  const DeltaNetShape shape_;
  WideCopy taps_copy_, norm_copy_, rates_copy_, biases_copy_;
  const float *taps_ = nullptr, *norm_ = nullptr;     // [units,taps,channels], [V]
  const float *rates_ = nullptr, *biases_ = nullptr;  // [H]
};

}  // namespace

const float* WideCopy::of(const at::Tensor& weight, const std::function<at::Tensor()>& make) {
  const int64_t version = weight.is_inference() ? 0 : static_cast<int64_t>(weight._version());
  if (weight.const_data_ptr() != place_ || version != version_) {
    copy_ = make().to(at::kFloat).contiguous();
    place_ = weight.const_data_ptr();
    version_ = version;
  }
  return copy_.const_data_ptr<float>();
}

std::unique_ptr<CpuRecurrence> CpuRecurrence::of(const RecurrentPart& part) {
  if (const auto* delta = dynamic_cast<const DeltaNet*>(&part)) {
    return std::make_unique<CpuDeltaNet>(*delta);
  }
  if (const auto* convolution = dynamic_cast<const ShortConvolution*>(&part)) {
    return std::make_unique<CpuConvolution>(*convolution, convolution->taps_E1K.size(0));
  }
  return nullptr;
}

bool CpuRecurrence::read(bool with_adapter) {
  const std::vector<const Linear*> linears = read_weights();
  inputs_.clear();
  for (const Linear* linear : linears) {
    std::optional<CpuLinear> found = CpuLinear::of(*linear, with_adapter);
    if (!found) return false;
    if (linear == linears.back()) {
      output_ = *found;
    } else {
      inputs_.push_back(*found);
    }
  }
  return true;
}

void CpuRecurrence::run_share(std::span<const CpuStates> steps, int thread, int num_threads,
                              std::span<float* const> x, float* found,
                              std::vector<float>& memory) const {
  const auto [begin, end] = share(std::ssize(steps) * num_units_, 1, thread, num_threads);
  for (int64_t i = begin; i < end; ++i) {
    run(i % num_units_, steps[static_cast<size_t>(i / num_units_)], x, found, memory);
  }
}

void CpuRecurrence::run(int64_t unit, const CpuStates& states, std::span<float* const> x,
                        float* found, std::vector<float>& memory) const {
  const bool is_tree = !states.parents.empty();
  const int64_t drafted =
      is_tree ? states.count - (states.points.empty() ? 0 : states.points.back().num_new) : 0;
  float* const scratch = room(memory, scratch_size_ + (1 + drafted) * unit_size_);
  float* const own = scratch + scratch_size_;
  const auto copy = [&](const float* from, float* to) { std::copy_n(from, unit_size_, to); };
  const auto of_unit = [&](float* all) { return all + unit * unit_size_; };
  float* state = states.points.empty() ? own : of_unit(states.points.front().to);
  if (states.begin != nullptr) {
    copy(states.begin + unit * unit_size_, state);
  } else {
    std::fill_n(state, unit_size_, 0.0f);
  }
  int64_t i = 0;
  const auto advance_to = [&](int64_t end) {
    for (; i < end; ++i) advance(unit, states.first + i, x, state, found, scratch);
  };
  for (const CpuStates::Point& point : states.points) {
    if (float* const to = of_unit(point.to); to != state) copy(std::exchange(state, to), to);
    advance_to(point.num_new);
  }
  if (i == states.count) return;
  if (state != own) copy(std::exchange(state, own), own);  // what comes now is kept by nobody
  if (!is_tree) return advance_to(states.count);
  const int64_t first = i;
  for (; i < states.count; ++i) {
    const int64_t parent = states.parents[static_cast<size_t>(i)];
    PREDGEN_CHECK(parent >= first - 1, "a tree that begins at {} before {}", parent, first);
    state = own + (1 + i - first) * unit_size_;
    copy(own + (parent < first ? 0 : 1 + parent - first) * unit_size_, state);
    advance(unit, states.first + i, x, state, found, scratch);
  }
}

}  // namespace predgen
