#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "kernels/grouped_matrix.h"
#include "model/gpu/gpu_matrix.h"
#include "tests/fakes/tensors.h"

namespace predgen {

/// A random matrix in few bits, on the CPU, and its values.
struct CodedGpuMatrix {
  CodedGpuMatrix(int num_bits, int64_t num_out, int64_t in, int64_t group, bool with_offsets,
                 uint64_t seed = 1, const std::optional<CodeValues>& values = {})
      : bits(num_bits), out(num_out), has_offsets(with_offsets) {
    if (values) book.emplace(*values);
    const int64_t levels = int64_t{1} << bits;
    q = ((normal({out, in}, seed) * (levels / 5.0)) + levels / 2)
            .round()
            .clamp(0, levels - 1)
            .to(at::kByte);
    scales = (normal({out, in / group}, seed + 1).abs() * 0.1 / levels + 1e-4).to(at::kHalf);
    offsets =
        has_offsets ? (normal({out, in / group}, seed + 2) * 0.02).to(at::kHalf) : at::Tensor();
  }

  GpuMatrix on(at::Device device) const {
    return to_gpu_matrix(bits, out, pack_words(q, bits), pack_scales(scales, offsets), device,
                         book);
  }
  /// float64 [out,in]
  at::Tensor values() const {
    at::Tensor centred = q.to(at::kDouble) - (1 << (bits - 1));
    if (book) {
      std::vector<double> values;
      for (int code = 0; code < 16; ++code) values.push_back(double{book->value(code)});
      centred = at::tensor(values).index_select(0, q.to(at::kInt).flatten());
    }
    centred = centred.view({out, scales.size(1), -1});
    at::Tensor wide = centred * scales.to(at::kDouble).unsqueeze(2);
    if (has_offsets) wide = wide + offsets.to(at::kDouble).unsqueeze(2);
    return wide.view(q.sizes());
  }

  int bits;
  int64_t out;
  bool has_offsets;
  at::Tensor q, scales, offsets;
  std::optional<CodeBook> book;
};

/// By how much more than a rounding to bfloat16 a product's largest error is off, as a share of its
/// largest value.
inline double error_beyond_rounding(const at::Tensor& found, const at::Tensor& exact) {
  const at::Tensor beyond = (found.cpu().to(at::kDouble) - exact).abs() - exact.abs() / 256;
  return beyond.max().item<double>() / exact.abs().max().item<double>();
}

}  // namespace predgen
