#pragma once

#include <ATen/ATen.h>

#include <string>
#include <string_view>

#include "model/model_config.h"

namespace predgen {

/// What llama.cpp calls the weight that transformers calls `name`, one of weight_layout():
/// "model.layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight".
std::string gguf_name(const std::string& name, const BlockSpec& block);

/// How many rows of the weight `name` a head has whose rotary pairs lie as llama.cpp's
/// `architecture` has them: (2j, 2j + 1), where transformers has (j, j + half). 0: they are the
/// same.
int64_t rows_in_pairs(const std::string& name, std::string_view architecture, int64_t head_dim);
/// Rows of whole heads in llama.cpp's order, in transformers'.
at::Tensor in_halves(const at::Tensor& rows, int64_t head_dim);
/// And the other way round.
at::Tensor in_pairs(const at::Tensor& rows, int64_t head_dim);

/// What llama.cpp's conversion adds to the weight `name`: the offset of norms.
double added_to(const std::string& name, const BlockSpec& block);

}  // namespace predgen
