#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "kernels/gpu/gpu_kernels.h"
#include "model/linear.h"

namespace predgen {

/// The results of up to three products over one input: for each, where its rows begin and their
/// stride in values.
struct JoinedProducts {
  std::array<const void*, 3> rows{};
  std::array<int64_t, 3> strides{};
  std::vector<at::Tensor> kept;  // owns the rows
};

/// The products of a pass by GpuKernels. The bits of a row depend neither on the others nor on how
/// many there are: weights in few bits and in bfloat16 are multiplied by our kernels, others in
/// calls of LibTorch that all have the same number of rows.
class PassProducts {
 public:
  /// `tokens` [T], on the device; `counters`: counters_for() the most outputs. Borrows `kernels`
  /// and `tokens`.
  PassProducts(const GpuKernels& kernels, const GpuToken* tokens, const at::Tensor& counters);

  /// x [T,in] -> [T,out] in the type of x, with the share of an adapter.
  at::Tensor operator()(const Linear& linear, const at::Tensor& x) const;
  /// x [N,in] -> [N,out] in float32, for rows that are not the pass's tokens: without an adapter.
  at::Tensor wide(const Linear& linear, const at::Tensor& x) const;
  /// One product for as many as have contiguous weights and biases (join_products()).
  JoinedProducts joined(std::initializer_list<const Linear*> linears, const at::Tensor& x) const;

 private:
  /// `base`: float32 [T,*], the product without the adapter in columns from `begin` on.
  at::Tensor adapted(const Linear& linear, const at::Tensor& x, const at::Tensor& base,
                     int64_t begin) const;
  at::Tensor product(const Linear& linear, const at::Tensor& x, at::ScalarType type) const;

  const GpuKernels& kernels_;
  const GpuToken* const tokens_;
  const at::Tensor counters_;
  const bool has_tensor_cores_;
};

}  // namespace predgen
