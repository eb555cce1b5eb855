#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>

namespace predgen {

/// Reads `num_bytes` from `offset` of a stored tensor to `to`; throws if it cannot. Called by
/// several threads at once.
using ReadBytes = std::function<void(char* to, size_t num_bytes, size_t offset)>;

/// Fills `to`, contiguous on the CPU, with a tensor of the same shape that is stored as `stored`:
/// blocks that fit into a cache are read and converted by as many threads as LibTorch was told to
/// use, one reading while another converts. Throws what `read` throws first.
void read_converted(const ReadBytes& read, at::ScalarType stored, const at::Tensor& to);

}  // namespace predgen
