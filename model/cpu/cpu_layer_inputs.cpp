#include "model/cpu/cpu_layer_inputs.h"

#include <algorithm>
#include <cmath>

#include "model/parts/transformer_parts.h"

namespace predgen {

bool CpuLayerInputs::read(const LayerInputs& from, const ModelConfig& config,
                          const at::Tensor& embedding) {
  const auto projection = CpuLinear::of(from.projection, /*with_adapter=*/false);
  if (!projection || !is_ready(from.norm, embedding)) return false;
  if (!from.packed && !is_ready(from.embedding, embedding)) return false;
  from_ = &from;
  projection_ = {*projection};
  num_layers_ = config.num_layers();
  width_ = config.layer_input_width;
  eps_ = static_cast<float>(config.rms_norm_eps);
  projected_scale_ = 1.0f / std::sqrt(static_cast<float>(config.hidden_size));
  row_scale_ = static_cast<float>(from.row_scale(config));
  return true;
}

void CpuLayerInputs::prepare(int64_t num_tokens) {
  room(values_, num_tokens * num_layers_ * width_);
  room(rows_, num_tokens * num_layers_ * width_);
}

void CpuLayerInputs::combine(std::span<const PassToken> tokens, int64_t begin, int64_t end,
                             const TokenKernels& kernels) {
  const int64_t width = num_layers_ * width_;
  const float half = std::sqrt(0.5f);
  for (int64_t token = begin; token < end; ++token) {
    const int64_t id = tokens[static_cast<size_t>(token)].id;
    float *const own = values_.data() + token * width, *const row = rows_.data() + token * width;
    if (from_->packed) {
      from_->packed->widen_row(id, row);
    } else {
      const auto bytes = static_cast<int64_t>(from_->embedding.element_size()) * width;
      kernels.load(static_cast<const char*>(from_->embedding.const_data_ptr()) + id * bytes, width,
                   row);
    }
    std::for_each_n(own, width, [&](float& value) { value *= projected_scale_; });
    for (int64_t begin_of_layer = 0; begin_of_layer < width; begin_of_layer += width_) {
      float* const part = own + begin_of_layer;
      kernels.norm(part, from_->norm.const_data_ptr(), 0.0f, width_, eps_, part);
    }
    for (int64_t i = 0; i < width; ++i) own[i] = (own[i] + row[i] * row_scale_) * half;
  }
}

}  // namespace predgen
