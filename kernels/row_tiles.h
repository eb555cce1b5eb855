#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace predgen {

/// Rows per call on CUDA where our kernels have no product: as many as a draft has; up to this
/// number the time is bound by the weights' bytes.
constexpr int64_t kTileRows = 32;

/// Applies `map`, from rows [tile,..] to rows [tile,..], to x [..,E]: every call has the same
/// shape, the last zero-padded, so LibTorch's algorithm does not depend on the number of rows.
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
