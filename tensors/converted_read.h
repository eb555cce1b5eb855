#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>

namespace predgen {

/// Reads `num_bytes` at `offset` of a stored tensor into `to`; throws on failure. Called by several
/// threads at once.
using ReadBytes = std::function<void(char* to, size_t num_bytes, size_t offset)>;

/// Fills `to`, contiguous on the CPU, with a tensor of the same shape stored in type `stored`:
/// blocks that fit into a cache are read and converted by as many threads as LibTorch is set to
/// use, one reading while another converts. Rethrows the first exception of `read`.
void read_converted(const ReadBytes& read, at::ScalarType stored, const at::Tensor& to);

}  // namespace predgen
