#pragma once

#include <ATen/ATen.h>

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "model/parts/decoder_layer.h"

namespace predgen {

/// Makes the weights of each layer's products over one input contiguous, so that they are one
/// product: queries, keys and values; gate and up. They stay separate tensors, views of the whole.
void join_products(std::span<DecoderLayer> layers);

/// The results of up to three products over one input: for each, where its rows begin and their
/// stride in values.
struct JoinedProducts {
  /// x [T,in]. One product if weights and biases are contiguous, otherwise one each.
  static JoinedProducts multiply(std::initializer_list<const Linear*> linears, const at::Tensor& x);

  std::array<const void*, 3> rows{};
  std::array<int64_t, 3> strides{};
  std::vector<at::Tensor> kept;  // owns the rows
};

}  // namespace predgen
