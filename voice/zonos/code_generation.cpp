#include "voice/zonos/code_generation.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace predgen {
namespace {

/// The frame of `codebook` in column `column`: the delay pattern.
int64_t frame_of(int64_t codebook, int64_t column) { return column - codebook - 1; }

/// Column after the one that completes a frame, the last codebook's.
constexpr int64_t kDelay = kZonosCodebooks;

int64_t* cell(const at::Tensor& codes, int64_t codebook, int64_t index) {
  return codes.mutable_data_ptr<int64_t>() + codebook * codes.size(1) + index;
}

}  // namespace

CodeGrid::CodeGrid(const at::Tensor& prefix_KP, int64_t max_new_frames) {
  if (max_new_frames < 1) {
    throw UserError("the limit is {} frames, but must be 1 or more", max_new_frames);
  }
  if (prefix_KP.defined()) take_prefix(prefix_KP);
  limit_frame_ = end_frame_ = num_prefix_frames() + max_new_frames;
  for (int64_t i = 0; i <= num_prefix_frames(); ++i) append({});
}

void CodeGrid::take_prefix(const at::Tensor& prefix_KP) {
  if (prefix_KP.dim() != 2 || prefix_KP.size(0) != kZonosCodebooks) {
    throw UserError("codes of the audio before have shape {}, but must have {} codebooks",
                    c10::str(prefix_KP.sizes()), kZonosCodebooks);
  }
  const at::Tensor codes = prefix_KP.to(at::kCPU, at::kLong).contiguous();
  prefix_.resize(static_cast<size_t>(codes.size(1)));
  for (int64_t k = 0; k < kZonosCodebooks; ++k) {
    for (int64_t frame = 0; frame < codes.size(1); ++frame) {
      const int64_t code = *cell(codes, k, frame);
      if (code < 0 || code >= kZonosEos) {
        throw UserError("codes of the audio before: {} is outside of 0..{}", code, kZonosEos - 1);
      }
      prefix_[static_cast<size_t>(frame)][static_cast<size_t>(k)] = code;
    }
  }
}

const CodeColumn& CodeGrid::column(int64_t index) const {
  PREDGEN_CHECK(index >= 0 && index < num_columns(), "column {} of {}", index, num_columns());
  return columns_[static_cast<size_t>(index)];
}

std::span<const CodeColumn> CodeGrid::last_columns(int64_t count) const {
  return std::span(columns_).last(static_cast<size_t>(std::min(count, num_columns())));
}

at::Tensor CodeGrid::first_columns(int64_t count) const {
  const at::Tensor codes = at::empty({kZonosCodebooks, count}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      *cell(codes, k, i) = column(i)[static_cast<size_t>(k)];
    }
  }
  return codes;
}

bool CodeGrid::may_end() const {
  // Never in place of the first new frame: speech must have some sound.
  return !is_first() && frame_of(0, num_columns()) < end_frame_;
}

void CodeGrid::append(const CodeColumn& sampled) {
  const int64_t index = num_columns();
  if (may_end() && sampled[0] == kZonosEos) end_frame_ = frame_of(0, index);
  CodeColumn column;
  for (int64_t k = 0; k < kZonosCodebooks; ++k) {
    const int64_t frame = frame_of(k, index);
    int64_t& value = column[static_cast<size_t>(k)];
    if (frame < 0 || frame > end_frame_ || frame == limit_frame_) {
      value = kZonosMask;
    } else if (frame == end_frame_) {
      value = kZonosEos;
    } else if (frame < num_prefix_frames()) {
      value = prefix_[static_cast<size_t>(frame)][static_cast<size_t>(k)];
    } else {
      value = sampled[static_cast<size_t>(k)];
      PREDGEN_CHECK(value >= 0 && value < kZonosEos, "code {} of codebook {}", value, k);
    }
  }
  columns_.push_back(column);
}

bool CodeGrid::is_complete() const { return num_columns() - kDelay >= end_frame_; }

int64_t CodeGrid::num_frames() const {
  return std::min(end_frame_, std::max(num_prefix_frames(), num_columns() - kDelay));
}

at::Tensor CodeGrid::codes(int64_t first) const {
  const int64_t count = num_frames() - first;
  PREDGEN_CHECK(first >= 0 && count >= 0, "frames from {} of {}", first, num_frames());
  const at::Tensor codes = at::empty({kZonosCodebooks, count}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t frame = first + i;
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      const CodeColumn& source =
          frame < num_prefix_frames() ? prefix_[static_cast<size_t>(frame)] : column(frame + k + 1);
      *cell(codes, k, i) = source[static_cast<size_t>(k)];
    }
  }
  return codes;
}

namespace {

constexpr int64_t kPythonDraws = 1026;  // Python pads the heads by one row
constexpr double kSmallest = 1e-20;     // below it a probability's logarithm is useless

void check_range(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    throw UserError("{} is {}, but must be in [{}, {}]", name, value, low, high);
  }
}

void check_finite(const char* name, double value, double low) {
  if (!(value >= low) || !std::isfinite(value)) {
    throw UserError("{} is {}, but must be {} or more", name, value, low);
  }
}

at::Tensor renormalized(const at::Tensor& probabilities) {
  return probabilities / probabilities.sum(-1, /*keepdim=*/true);
}

at::Tensor unified(const at::Tensor& probabilities, const CodeSamplingConfig& config) {
  const at::Tensor logs = probabilities.clamp_min(kSmallest).log();
  const at::Tensor entropy = -(probabilities * logs).sum(-1, /*keepdim=*/true);
  return at::softmax(
      logs * (config.linear + entropy * config.confidence) - logs * logs * config.quadratic, -1);
}

at::Tensor keep_top_p(const at::Tensor& probabilities, double top_p) {
  const auto [sorted, ids] = probabilities.sort(-1, /*descending=*/true);
  const at::Tensor before = sorted.cumsum(-1) - sorted;
  return renormalized(
      at::zeros_like(probabilities).scatter(-1, ids, sorted.masked_fill(before > top_p, 0.0)));
}

at::Tensor keep_top_k(const at::Tensor& probabilities, int64_t top_k) {
  const int64_t count = std::min(top_k, probabilities.size(-1));
  const at::Tensor least = std::get<0>(probabilities.topk(count, -1)).narrow(-1, count - 1, 1);
  return renormalized(probabilities.masked_fill(probabilities < least, 0.0));
}

at::Tensor keep_min_p(const at::Tensor& probabilities, double min_p) {
  const at::Tensor least = probabilities.amax(-1, /*keepdim=*/true) * min_p;
  return renormalized(probabilities.masked_fill(probabilities < least, 0.0));
}

}  // namespace

void CodeSamplingConfig::validate() const {
  if (!(repetition_penalty > 0) || !std::isfinite(repetition_penalty)) {
    throw UserError("repetition penalty is {}, but must be above 0 (1: none)", repetition_penalty);
  }
  if (repetition_window < 0) {
    throw UserError("repetition window is {}, but must be 0 or more", repetition_window);
  }
  check_finite("temperature", temperature, 0);
  check_finite("linear", linear, 0);
  if (!std::isfinite(confidence) || !std::isfinite(quadratic)) {
    throw UserError("confidence {} and quadratic {} must be finite", confidence, quadratic);
  }
  if (linear == 0 && (confidence != 0 || quadratic != 0)) {
    throw UserError("confidence {} and quadratic {} need linear above 0", confidence, quadratic);
  }
  check_range("top-p", top_p, 0, 1);
  if (top_k < 0) throw UserError("top-k is {}, but must be 0 (all) or more", top_k);
  check_range("min-p", min_p, 0, 1);
  check_finite("EOS penalty", eos_penalty, 0);
}

at::Tensor filtered_probabilities(const at::Tensor& logits, const CodeSamplingConfig& config) {
  at::Tensor probabilities = at::softmax(logits / config.temperature, -1);
  if (config.linear > 0) probabilities = unified(probabilities, config);
  if (config.top_p > 0) probabilities = keep_top_p(probabilities, config.top_p);
  if (config.top_k > 0) probabilities = keep_top_k(probabilities, config.top_k);
  if (config.min_p > 0) probabilities = keep_min_p(probabilities, config.min_p);
  return probabilities;
}

at::Tensor penalize_repetition(const at::Tensor& logits_KV, std::span<const CodeColumn> history,
                               double penalty) {
  const at::Tensor factors_KV = at::ones_like(logits_KV);
  auto factors = factors_KV.accessor<float, 2>();
  for (const CodeColumn& column : history) {
    for (int64_t k = 0; k < factors.size(0); ++k) {
      const int64_t code = column[static_cast<size_t>(k)];
      if (code < factors.size(1)) factors[k][code] *= static_cast<float>(penalty);
    }
  }
  return at::where(logits_KV <= 0, logits_KV * factors_KV, logits_KV / factors_KV);
}

CodeSampler::CodeSampler(const CodeSamplingConfig& config) : config_(config) {
  config.validate();
  generator_ = at::detail::createCPUGenerator(config.seed);
}

CodeColumn CodeSampler::sample(const at::Tensor& logits_KV, const CodeGrid& grid) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();  // below 0 it is a mask
  if (!(logits_KV < kInfinity).all().item<bool>()) {
    throw UserError(
        std::string("the voice model's logits are not numbers: its model.safetensors is damaged, "
                    "download it again"));
  }
  at::Tensor logits = logits_KV.clone();
  auto values = logits.accessor<float, 2>();
  values[0][kZonosEos] -= static_cast<float>(config_.eos_penalty);
  for (int64_t k = grid.may_end() ? 1 : 0; k < kZonosCodebooks; ++k) {
    values[k][kZonosEos] = -std::numeric_limits<float>::infinity();
  }
  if (!grid.is_first() && config_.repetition_penalty != 1.0) {
    logits = penalize_repetition(logits, grid.last_columns(config_.repetition_window),
                                 config_.repetition_penalty);
  }
  at::Tensor best;
  if (config_.temperature == 0) {
    best = logits.argmax(-1);
  } else {
    const at::Tensor probabilities = filtered_probabilities(logits, config_);
    // The minimum of independent exponential waiting times per code: a draw by probability.
    const int64_t draws = config_.python_draws ? kPythonDraws : kZonosLogits;
    const at::Tensor waits =
        at::empty({kZonosCodebooks, draws}, at::kFloat).exponential_(1.0, generator_);
    best = (probabilities / waits.narrow(1, 0, kZonosLogits)).argmax(-1);
  }
  const at::Tensor chosen = best.contiguous();
  CodeColumn column;
  std::copy_n(chosen.const_data_ptr<int64_t>(), kZonosCodebooks, column.begin());
  return column;
}

namespace {

const CodeGenerationConfig& validated(const CodeGenerationConfig& config) {
  config.validate();
  return config;
}

}  // namespace

void CodeGenerationConfig::validate() const {
  sampling.validate();
  if (!(cfg_scale >= 0) || !std::isfinite(cfg_scale)) {
    throw UserError("CFG scale is {}, but must be 0 or more (1: no guidance)", cfg_scale);
  }
  if (max_new_frames < 1) {
    throw UserError("the limit is {} frames, but must be 1 or more", max_new_frames);
  }
}

CodeGeneration::CodeGeneration(const ZonosModel& model, const at::Tensor& prefix_2PD,
                               const CodeGenerationConfig& config,
                               const at::Tensor& audio_prefix_KP, GraphedStep* graphs)
    : model_(&model),
      graphs_(graphs),
      cfg_scale_(validated(config).cfg_scale),
      grid_(audio_prefix_KP, config.max_new_frames),
      sampler_(config.sampling),
      cache_(model.make_cache(config.cfg_scale)) {
  const at::Tensor logits =
      model.prefill(prefix_2PD, grid_.first_columns(grid_.num_columns()), cfg_scale_, cache_);
  grid_.append(sampler_.sample(logits, grid_));
}

bool CodeGeneration::step() {
  if (is_complete()) return false;
  CodeColumn last = grid_.column(grid_.num_columns() - 1);
  const at::Tensor codes_K = at::from_blob(last.data(), {kZonosCodebooks}, at::kLong);
  const at::Tensor logits = graphs_ ? graphs_->run(codes_K, cfg_scale_, cache_)
                                    : model_->step(codes_K, cfg_scale_, cache_);
  grid_.append(sampler_.sample(logits, grid_));
  return !is_complete();
}

}  // namespace predgen
