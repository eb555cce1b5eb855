#include "model/gpu/gpu_matrix.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kernels/row_tiles.h"
#include "model/gpu/gpu_planes.h"
#include "model/gpu/gpu_product.h"

namespace predgen {
namespace {

constexpr int64_t kPanel = 16, kStep = 16;

int64_t chunk_inputs(int bits) { return bits == 8 ? 32 : 64; }
int64_t rounded_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

/// Pads dimension 1 with zeros up to `size`.
at::Tensor filled_up(const at::Tensor& tensor, int64_t size) {
  std::vector<int64_t> sizes = tensor.sizes().vec();
  if (sizes[1] == size) return tensor;
  sizes[1] = size - sizes[1];
  return at::cat({tensor, at::zeros(sizes, tensor.options())}, 1);
}

/// From [panels,words,16] with 8 inputs per word to GpuMatrix's words, [panels,words,16].
at::Tensor steps_together(const at::Tensor& words) {
  constexpr int kHalves = 0x00FF00FF;
  const int64_t panels = words.size(0);
  // Two steps of 16 inputs, two words each, whose low and high bytes hold 4 inputs each.
  const at::Tensor by_step = words.reshape({panels, -1, 2, 2, kPanel});
  const at::Tensor fours =
      at::stack({at::bitwise_and(by_step, kHalves),
                 at::bitwise_and(at::bitwise_right_shift(by_step, 8), kHalves)},
                4);
  const at::Tensor early = fours.select(2, 0), late = fours.select(2, 1);
  return at::bitwise_or(early, at::bitwise_left_shift(late, 8)).reshape({panels, -1, kPanel});
}

/// Words of whole chunks in a lane's order. Per chunk, two words of four lanes, for outputs o and
/// o + 8: [panels,chunks,8,4,2,2].
at::Tensor in_lanes(const at::Tensor& words, int64_t chunks) {
  return words.view({words.size(0), chunks, 2, 4, 2, 8}).permute({0, 1, 5, 3, 2, 4}).contiguous();
}

bool are_alike(const GpuMatrix& a, const GpuMatrix& b) {
  return a.words.defined() && b.words.defined() && a.bits == b.bits && a.in == b.in &&
         a.words.sizes().slice(1) == b.words.sizes().slice(1) &&
         a.scales.sizes().slice(1) == b.scales.sizes().slice(1) && a.book == b.book &&
         a.scaling == b.scaling && a.words.device() == b.words.device();
}

bool can_stack(std::span<const GpuMatrix> matrices) {
  for (size_t i = 1; i < matrices.size(); ++i) {
    if (!are_alike(matrices[i - 1], matrices[i]) || matrices[i - 1].out % kPanel != 0) return false;
  }
  return !matrices.empty() && matrices[0].words.defined();
}

/// Their words and their scales.
std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>> tensors_of(
    std::span<const GpuMatrix> matrices) {
  std::vector<at::Tensor> words, scales;
  for (const GpuMatrix& matrix : matrices) {
    words.push_back(matrix.words);
    scales.push_back(matrix.scales);
  }
  return {words, scales};
}

int64_t outputs_of(std::span<const GpuMatrix> matrices) {
  int64_t out = 0;
  for (const GpuMatrix& matrix : matrices) out += matrix.out;
  return out;
}

GpuCodeBook gpu_book(const CodeBook& book) {
  GpuCodeBook result{.num_bytes = book.num_bytes, .high = {}, .low = {}, .unit = book.unit};
  std::memcpy(result.high, book.high, sizeof(result.high));
  std::memcpy(result.low, book.low, sizeof(result.low));
  return result;
}

/// The weights of codes, without scale, offset and a book's unit.
at::Tensor values_of(const GpuMatrix& matrix, const at::Tensor& codes) {
  if (!matrix.book) return (codes - (1 << (matrix.bits - 1))).to(at::kFloat);
  std::vector<float> values;
  for (int code = 0; code < 16; ++code) values.push_back(matrix.book->without_unit(code));
  return at::tensor(values).to(codes.device()).index_select(0, codes.flatten()).view(codes.sizes());
}

}  // namespace

at::Tensor counters_for(int64_t out, at::Device device) {
  return at::zeros({num_gpu_counters(out)}, at::TensorOptions(at::kInt).device(device));
}

GpuMatrix GpuMatrix::panels(int64_t begin, int64_t end) const {
  return {.bits = bits,
          .out = std::min(end * kPanel, out) - begin * kPanel,
          .in = in,
          .scaling = scaling,
          .words = words.narrow(0, begin, end - begin),
          .scales = scales.narrow(0, begin, end - begin),
          .counters = counters,
          .book = book};
}

int64_t GpuMatrix::group() const {
  if (scaling == GpuScaling::kSixBits) return 32;
  return scaling == GpuScaling::kEightBits ? 16 : in / scales.size(1);
}

GpuGroupProduct GpuMatrix::product() const {
  PREDGEN_CHECK(bits != 8 || !has_gpu_offsets(scaling), "no kernel for offsets in 8 bits");
  return {.words = words.const_data_ptr(),
          .scales = scales.const_data_ptr(),
          .bits = bits,
          .group = static_cast<int>(group()),
          .scaling = scaling,
          .book = book ? gpu_book(*book) : GpuCodeBook{},
          .in = in,
          .out = out,
          .x = nullptr,
          .bias = nullptr,
          .y = nullptr,
          .rows = 0,
          .is_wide = false,
          .num_splits = 0,
          .counters = counters.mutable_data_ptr<int>(),
          .parts = nullptr};
}

GpuMatrix to_gpu_matrix(int bits, int64_t out, const at::Tensor& words, const at::Tensor& scales,
                        at::Device device, const std::optional<CodeBook>& book) {
  const int64_t unit = 32 / bits, in = rounded_up(words.size(1) * unit, kStep);
  const int64_t panels = words.size(0), groups = scales.size(1);
  const int64_t group = in / groups;
  PREDGEN_CHECK(groups == 1 || (in == words.size(1) * unit && in % groups == 0 && group >= 16 &&
                                (group & (group - 1)) == 0),
                "groups of {} for {} inputs", group, in);
  PREDGEN_CHECK(!book || (bits == 4 && scales.size(2) == 1), "a code book for {} bits", bits);
  const int64_t chunks = rounded_up(in, chunk_inputs(bits)) / chunk_inputs(bits);
  at::Tensor units = filled_up(words.to(device), chunks * chunk_inputs(bits) / unit);
  if (bits == 4) units = steps_together(units);
  return {.bits = bits,
          .out = out,
          .in = in,
          .scaling = scales.size(2) == 2 ? GpuScaling::kHalfOffsets : GpuScaling::kHalf,
          .words = in_lanes(units, chunks),
          .scales = scales.to(device)
                        .view({panels, groups, scales.size(2), 2, 8})
                        .transpose(3, 4)
                        .contiguous(),
          .counters = counters_for(out, device),
          .book = book};
}

GpuMatrix to_gpu_matrix(const GpuPlanes& planes, at::Device device) {
  const int high_bits = planes.bits - 4;
  const int64_t panels = planes.low.size(0), in = planes.low.size(1) * 8;
  const int64_t chunk = chunk_inputs(planes.bits), chunks = rounded_up(in, chunk) / chunk;
  const auto of_lanes = [&](const at::Tensor& plane) {
    return in_lanes(steps_together(filled_up(plane.to(device), chunks * chunk / 8)), chunks);
  };
  at::Tensor words = of_lanes(planes.low).view({panels, chunks, -1});
  if (high_bits > 0) {
    const at::Tensor apart =
        of_lanes(planes.high).view({panels, chunks, 32, high_bits, 4 / high_bits});
    at::Tensor together = apart.select(4, 0);
    for (int i = 1; i < 4 / high_bits; ++i) {
      together = together.bitwise_or(apart.select(4, i).bitwise_left_shift(i * high_bits));
    }
    words = at::cat({words, together.reshape({panels, chunks, -1})}, 2);
  }
  return {.bits = planes.bits,
          .out = planes.out,
          .in = in,
          .scaling = planes.scaling,
          .words = words,
          .scales = planes.scales.to(device),
          .counters = counters_for(planes.out, device),
          .book = planes.book};
}

GpuMatrix stacked(std::span<const GpuMatrix> matrices) {
  if (!can_stack(matrices)) return {};
  const auto [words, scales] = tensors_of(matrices);
  return {.bits = matrices[0].bits,
          .out = outputs_of(matrices),
          .in = matrices[0].in,
          .scaling = matrices[0].scaling,
          .words = at::cat(words),
          .scales = at::cat(scales),
          .counters = counters_for(outputs_of(matrices), matrices[0].words.device()),
          .book = matrices[0].book};
}

at::Tensor whole_of(std::span<const at::Tensor> parts) {
  const at::Tensor& first = parts.front();
  const char* end = nullptr;
  std::vector<int64_t> sizes;
  for (const at::Tensor& part : parts) {
    if (!part.defined() || !part.is_contiguous()) return {};
    const auto* begin = static_cast<const char*>(part.const_data_ptr());
    if (end == nullptr) {
      sizes = part.sizes().vec();
    } else if (begin == end && part.is_alias_of(first)) {
      sizes[0] += part.size(0);
    } else {
      return {};
    }
    end = begin + part.nbytes();
  }
  return first.as_strided(sizes, first.strides());
}

GpuMatrix whole_of(std::span<const GpuMatrix> matrices) {
  if (!can_stack(matrices)) return {};
  const auto [words, scales] = tensors_of(matrices);
  GpuMatrix whole{.bits = matrices[0].bits,
                  .out = outputs_of(matrices),
                  .in = matrices[0].in,
                  .scaling = matrices[0].scaling,
                  .words = whole_of(words),
                  .scales = whole_of(scales),
                  .counters = matrices[0].counters,
                  .book = matrices[0].book};
  return whole.words.defined() && whole.scales.defined() ? whole : GpuMatrix();
}

at::Tensor widened_product(const GpuKernels* kernels, const GpuMatrix& matrix, const at::Tensor& x,
                           int64_t tile) {
  constexpr int64_t kPanelsAtOnce = 1024;
  const int64_t num_panels = matrix.words.size(0);
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < num_panels; begin += kPanelsAtOnce) {
    const int64_t end = std::min(begin + kPanelsAtOnce, num_panels);
    const at::Tensor wide = widen(kernels, matrix.panels(begin, end)).narrow(1, 0, x.size(1));
    const auto times = [&](const at::Tensor& rows) { return at::linear(rows, wide); };
    parts.push_back(tile == 0 ? times(x) : in_row_tiles(x, tile, times));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, -1);
}

at::Tensor widen(const GpuKernels* kernels, const GpuMatrix& matrix) {
  if (kernels != nullptr) {
    at::Tensor wide =
        at::empty({matrix.out, matrix.in}, matrix.words.options().dtype(at::kBFloat16));
    GpuGroupProduct product = matrix.product();
    product.y = wide.mutable_data_ptr();
    const c10::DeviceGuard guard(wide.device());
    kernels->widen_groups(product, stream_of(wide));
    check_launched(*kernels);
    return wide;
  }
  PREDGEN_CHECK(!is_of_gpu_blocks(matrix.scaling) && matrix.scaling != GpuScaling::kExponents &&
                    matrix.bits != 5,
                "no kernels for a matrix in planes");
  // Codes in the order of outputs and inputs: [panels,8,2 (o, o + 8),chunks,..,4 lanes,4 inputs].
  const int bits = matrix.bits, steps_a_word = bits == 4 ? 2 : 1;
  std::vector<at::Tensor> codes;
  for (int i = 0; i < 4 * steps_a_word; ++i) {
    const int shift = i / 4 * 8 + i % 4 / 2 * bits + i % 2 * 16;
    codes.push_back(at::bitwise_and(at::bitwise_right_shift(matrix.words, shift), (1 << bits) - 1));
  }
  const int64_t panels = matrix.words.size(0), chunks = matrix.words.size(1);
  const at::Tensor q = at::stack(codes, -1)
                           .view({panels, chunks, 8, 4, 2, 2, steps_a_word, 4})
                           .permute({0, 5, 2, 1, 4, 6, 3, 7})
                           .reshape({panels * kPanel, chunks * chunk_inputs(bits)})
                           .narrow(1, 0, matrix.in);
  const auto numbers = [&](int64_t which) {  // [outputs,groups,1]
    return matrix.scales.select(2, which)
        .permute({0, 3, 2, 1})
        .reshape({panels * kPanel, -1, 1})
        .to(at::kFloat);
  };
  at::Tensor wide = values_of(matrix, q).view({q.size(0), -1, matrix.group()});
  wide = wide * (matrix.book ? numbers(0) * matrix.book->unit : numbers(0));
  if (has_gpu_offsets(matrix.scaling)) wide = wide + numbers(1);
  return wide.view(q.sizes()).narrow(0, 0, matrix.out).to(at::kBFloat16);
}

}  // namespace predgen
