#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "model/model_config.h"

namespace predgen {

// Shapes: B rows, T tokens, H heads, D head size.

/// Cosines and sines that rotate queries and keys to their positions, [B,1,T,R]: the first R values
/// of a head turn. The sines for the second half of them carry the minus sign of the rotation.
struct Rotation {
  /// `inverse_frequencies`: from RopeConfig, on the device of the positions.
  Rotation(const RopeConfig& rope, const at::Tensor& inverse_frequencies,
           const at::Tensor& positions_BT, at::ScalarType type);
  /// Rotates pairs (x[i], x[i + R/2]), the layout of Hugging Face checkpoints.
  at::Tensor operator()(const at::Tensor& x_BHTD) const;
  /// The same of queries, which are also multiplied by RopeConfig::query_scale().
  at::Tensor of_queries(const at::Tensor& x_BHTD) const;

  at::Tensor cos, signed_sin;
  at::Tensor query_scale;  // [B,1,T,1], undefined without RopeConfig::query_beta
};
/// One for each of ModelConfig::ropes. `inverse_frequencies`: from ModelConfig, on the device of
/// the positions.
std::vector<Rotation> make_rotations(const ModelConfig& config,
                                     const at::Tensor& inverse_frequencies,
                                     const at::Tensor& positions_BT, at::ScalarType type);

}  // namespace predgen
