#include "voice/zonos/code_generation.h"

#include <cmath>

#include "core/error.h"

namespace predgen {
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
