#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace predgen {

/// Rows of a call on CUDA in the width-invariant mode: as many as a draft has; up to there, the
/// weights' bytes decide the time.
constexpr int64_t kTileRows = 32;

/// `map` of x [..,E], which takes and gives rows [tile,..]: every call has the same shape, the last
/// one with rows of zeros, so how LibTorch goes about it does not depend on the number of rows.
template <typename Map>
at::Tensor in_row_tiles(const at::Tensor& x, int64_t tile, const Map& map) {
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  const int64_t count = rows.size(0), missing = (tile - count % tile) % tile;
  const at::Tensor whole =
      missing == 0 ? rows : at::cat({rows, at::zeros({missing, rows.size(1)}, rows.options())});
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : whole.split(tile)) parts.push_back(map(part));
  const at::Tensor mapped = parts.size() == 1 ? parts.front() : at::cat(parts);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = mapped.size(-1);
  return mapped.narrow(0, 0, count).reshape(sizes);
}

}  // namespace predgen
