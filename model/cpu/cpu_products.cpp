#include "model/cpu/cpu_products.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "kernels/token_kernels.h"

namespace predgen {
namespace {

bool lies_here(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.is_cpu() && tensor.scalar_type() == type && tensor.is_contiguous();
}

RowProduct product_of(const at::Tensor& weight) {
  return {.weight = weight.const_data_ptr(), .in = weight.size(1), .out = weight.size(0)};
}

}  // namespace

std::optional<CpuLinear> CpuLinear::of(const Linear& linear, bool with_adapter) {
  CpuLinear result;
  if (linear.quantized) {
    if (!linear.quantized->is_on_cpu()) return {};
    std::tie(result.weights, result.product) = linear.quantized->row_product();
  } else {
    const bool is_wide = linear.weight.scalar_type() == at::kFloat;
    if (!is_wide && linear.weight.scalar_type() != at::kBFloat16) return {};
    if (!lies_here(linear.weight, linear.weight.scalar_type())) return {};
    result.weights = is_wide ? RowWeights::kFloat32 : RowWeights::kBfloat16;
    result.product = product_of(linear.weight);
  }
  if (linear.bias.defined()) {
    result.has_wide_bias = linear.bias.scalar_type() == at::kFloat;
    if (!lies_here(linear.bias, result.has_wide_bias ? at::kFloat : at::kBFloat16)) return {};
    result.bias = linear.bias.const_data_ptr();
  }
  if (with_adapter && linear.has_adapter()) {
    if (!lies_here(linear.lora_A, at::kFloat) || !lies_here(linear.lora_B, at::kFloat)) return {};
    if (linear.training && linear.lora_dropout > 0) return {};
    result.lora_A = product_of(linear.lora_A);
    result.lora_B = product_of(linear.lora_B);
    result.lora_scaling = static_cast<float>(linear.lora_scaling);
  }
  return result;
}

namespace {

constexpr int64_t kUnit = 16;     // outputs: a cache line, a panel of groups
constexpr int64_t kFewRows = 64;  // beyond, tiles of rows alternate ..
constexpr int64_t kCached = 64;   // .. over this many outputs, whose weights stay in cache

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// Outputs [begin,end), multiples of kUnit except the last.
void multiply_share(RowWeights weights, RowProduct product, const PackedRows& x, int64_t rows,
                    float* y, std::pair<int64_t, int64_t> outputs) {
  product.rows = rows;
  product.wide_y = y;
  const RowKernel& kernel = row_kernel(weights);
  const int64_t unit = outputs_of_unit(weights);
  const int64_t step = rows <= kFewRows ? product.out : kCached;
  for (int64_t begin = outputs.first; begin < outputs.second; begin += step) {
    const int64_t end = std::min(begin + step, outputs.second);
    kernel.multiply(product, x, begin / unit, round_up(end, unit) / unit);
  }
}

/// The first linear whose weights need x packed in the same way as linear
/// `index`.
size_t packing_of(std::span<const CpuLinear> linears, size_t index) {
  const CpuLinear& linear = linears[index];
  const auto is_alike = [&](const CpuLinear& other) {
    const bool same_kind = other.weights == linear.weights ||
                           (are_groups(other.weights) && are_groups(linear.weights));
    return same_kind && other.product.group == linear.product.group;
  };
  return static_cast<size_t>(std::ranges::find_if(linears, is_alike) - linears.begin());
}

bool is_narrow(const CpuLinear& linear) { return linear.weights != RowWeights::kFloat32; }

void add_bias(const CpuLinear& linear, int64_t rows, float* y,
              std::pair<int64_t, int64_t> outputs) {
  const auto [begin, end] = outputs;
  for (int64_t row = 0; row < rows; ++row) {
    float* to = y + row * linear.product.out;
    if (linear.has_wide_bias) {
      const auto* bias = static_cast<const float*>(linear.bias);
      for (int64_t o = begin; o < end; ++o) to[o] += bias[o];
    } else {
      const auto* bias = static_cast<const uint16_t*>(linear.bias);
      for (int64_t o = begin; o < end; ++o) {
        to[o] += std::bit_cast<float>(static_cast<uint32_t>(bias[o]) << 16);
      }
    }
  }
}

}  // namespace

std::pair<int64_t, int64_t> share(int64_t total, int64_t unit, int thread, int num_threads) {
  const int64_t units = round_up(total, unit) / unit;
  return {std::min(units * thread / num_threads * unit, total),
          std::min(units * (thread + 1) / num_threads * unit, total)};
}

PackedRows CpuProducts::Packed::rows(RowWeights weights, RowProduct product, int64_t rows) {
  product.rows = rows;
  const PackedSizes sizes = packed_sizes(weights, product);
  return {.values = room(values, sizes.num_values),
          .scales = room(scales, sizes.num_scales),
          .sums = room(sums, sizes.num_scales),
          .stride = sizes.stride,
          .scale_stride = sizes.scale_stride};
}

void CpuProducts::prepare(Linears linears, int64_t rows) {
  const CpuLinear& first = linears.front();
  if (packed_.size() < linears.size()) packed_.resize(linears.size());
  for (size_t i = 0; i < linears.size(); ++i) {
    if (packing_of(linears, i) == i) packed_[i].rows(linears[i].weights, linears[i].product, rows);
  }
  if (std::ranges::any_of(linears, is_narrow)) room(narrow_, rows * first.product.in);
  if (std::ranges::none_of(linears, &CpuLinear::has_adapter)) return;
  wide_.rows(RowWeights::kFloat32, first.product, rows);
  if (adapted_.size() < linears.size()) adapted_.resize(linears.size());
  for (size_t i = 0; i < linears.size(); ++i) {
    if (!linears[i].has_adapter()) continue;
    room(adapted_[i].narrowed, rows * linears[i].lora_A.out);
    adapted_[i].packed.rows(RowWeights::kFloat32, linears[i].lora_B, rows);
    room(adapted_[i].widened, rows * linears[i].lora_B.out);
  }
}

void CpuProducts::pack(Linears linears, const float* x, int64_t rows, int64_t begin, int64_t end) {
  const CpuLinear& first = linears.front();
  RowProduct product = first.product;
  product.rows = rows;
  product.x = x;
  if (std::ranges::any_of(linears, &CpuLinear::has_adapter)) {
    row_kernel(RowWeights::kFloat32)
        .pack(product, wide_.rows(RowWeights::kFloat32, product, rows), begin, end);
  }
  if (std::ranges::any_of(linears, is_narrow)) {
    const int64_t place = begin * product.in;
    token_kernels().bfloat16.store(x + place, (end - begin) * product.in, narrow_.data() + place);
  }
  for (size_t i = 0; i < linears.size(); ++i) {
    if (packing_of(linears, i) != i) continue;
    const RowWeights weights = linears[i].weights;
    product = linears[i].product;
    product.rows = rows;
    product.x = is_narrow(linears[i]) ? static_cast<const void*>(narrow_.data()) : x;
    row_kernel(weights).pack(product, packed_[i].rows(weights, product, rows), begin, end);
  }
}

std::pair<int64_t, int64_t> CpuProducts::outputs(int64_t out, const ThreadTeam& team, int thread) {
  return share(out, kUnit, thread, team.width());
}

void CpuProducts::multiply(Linears linears, int64_t rows, std::span<float* const> y,
                           ThreadTeam& team, int thread) {
  for (size_t i = 0; i < linears.size(); ++i) {
    const CpuLinear& linear = linears[i];
    const PackedRows packed =
        packed_[packing_of(linears, i)].rows(linear.weights, linear.product, rows);
    const auto own = outputs(linear.product.out, team, thread);
    multiply_share(linear.weights, linear.product, packed, rows, y[i], own);
    if (linear.bias != nullptr) add_bias(linear, rows, y[i], own);
  }
  if (std::ranges::any_of(linears, &CpuLinear::has_adapter)) {
    multiply_adapters(linears, rows, y, team, thread);
  }
}

void CpuProducts::multiply_adapters(Linears linears, int64_t rows, std::span<float* const> y,
                                    ThreadTeam& team, int thread) {
  const auto for_each_adapter = [&](const auto& visit) {
    for (size_t i = 0; i < linears.size(); ++i) {
      if (linears[i].has_adapter()) visit(linears[i], adapted_[i], y[i]);
    }
  };
  for_each_adapter([&](const CpuLinear& linear, Adapted& adapted, float*) {
    multiply_share(RowWeights::kFloat32, linear.lora_A,
                   wide_.rows(RowWeights::kFloat32, linear.lora_A, rows), rows,
                   adapted.narrowed.data(), outputs(linear.lora_A.out, team, thread));
  });
  team.meet();
  const std::pair<int64_t, int64_t> own_rows = share(rows, 1, thread, team.width());
  for_each_adapter([&](const CpuLinear& linear, Adapted& adapted, float*) {
    RowProduct product = linear.lora_B;
    product.rows = rows;
    product.x = adapted.narrowed.data();
    row_kernel(RowWeights::kFloat32)
        .pack(product, adapted.packed.rows(RowWeights::kFloat32, product, rows), own_rows.first,
              own_rows.second);
  });
  team.meet();
  for_each_adapter([&](const CpuLinear& linear, Adapted& adapted, float* to) {
    const int64_t out = linear.lora_B.out;
    const auto own = outputs(out, team, thread);
    multiply_share(RowWeights::kFloat32, linear.lora_B,
                   adapted.packed.rows(RowWeights::kFloat32, linear.lora_B, rows), rows,
                   adapted.widened.data(), own);
    for (int64_t row = 0; row < rows; ++row) {
      if (!adapted_rows_.empty() && !adapted_rows_[static_cast<size_t>(row)]) continue;
      const int64_t place = row * out + own.first;
      token_kernels().float32.add(to + place, adapted.widened.data() + place, linear.lora_scaling,
                                  own.second - own.first);
    }
  });
}

}  // namespace predgen
