#pragma once

#include <ATen/ATen.h>

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "model/decoder_layer.h"

namespace predgen {

/// Lays the weights of each layer's products over one input together, so that they are one product:
/// queries, keys and values; gate and up. They stay tensors of their own, views of the whole.
void join_products(std::span<DecoderLayer> layers);

/// What up to three products over one input gave: of each, where its rows begin and how many values
/// they are apart.
struct JoinedProducts {
  /// x [T,in]. One product where weights and biases lie together, otherwise one each.
  static JoinedProducts multiply(std::initializer_list<const Linear*> linears, const at::Tensor& x);

  std::array<const void*, 3> rows{};
  std::array<int64_t, 3> strides{};
  std::vector<at::Tensor> kept;  // which the rows are of
};

}  // namespace predgen
