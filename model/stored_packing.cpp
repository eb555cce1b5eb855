#include "model/stored_packing.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "kernels/half.h"
#include "kernels/threads/parallel_ranges.h"
#include "tensors/stored_tensors.h"

namespace predgen {
namespace {

/// How codes become q of a GroupedMatrix: w = (q - middle) * scale + (offset + shift * scale), or
/// book.value(q) * scale.
struct Recoding {
  int bits, middle, shift;
  bool has_offsets;
  std::optional<CodeBook> book;

  explicit Recoding(const CodeLayout& layout)
      : bits(layout.highest - layout.lowest < 16 ? 4 : 8), middle(1 << (bits - 1)) {
    if (layout.book) {
      PREDGEN_CHECK(layout.lowest == 0 && layout.highest == 15 && !layout.has_offsets,
                    "a code book for codes from {} to {}", layout.lowest, layout.highest);
      book.emplace(*layout.book);
      middle = shift = 0;
      has_offsets = false;
      return;
    }
    const bool fits = layout.lowest >= -middle && layout.highest < middle;
    // Offsets refer to the middle of the codes, where they are small and lose little to rounding.
    shift = layout.has_offsets || !fits ? (layout.lowest + layout.highest + 1) / 2 : 0;
    has_offsets = layout.has_offsets || shift != 0;
  }
};

/// The result for some rows, computed by one thread.
struct Block {
  Block(int64_t rows, int64_t in, int64_t groups, bool has_offsets)
      : q(at::empty({rows, in}, at::kByte)),
        scales(at::empty({rows, groups}, at::kHalf)),
        offsets(has_offsets ? at::empty({rows, groups}, at::kHalf) : at::Tensor()) {}

  at::Tensor q, scales, offsets;
};

uint16_t* bits_of(at::Tensor& halves, int64_t place) {
  return reinterpret_cast<uint16_t*>(halves.mutable_data_ptr<at::Half>()) + place;
}

/// Of `group` codes, w = scale * code + offset, of which the kept numbers are off by a * code + b.
RowError error_of(const int8_t* codes, int64_t group, float scale, float offset, double a,
                  double b) {
  int32_t sum = 0, squares = 0;
  for (int64_t i = 0; i < group; ++i) {
    sum += codes[i];
    squares += codes[i] * codes[i];
  }
  const auto of = [&](double slope, double constant) {
    return slope * slope * squares + 2 * slope * constant * sum +
           constant * constant * static_cast<double>(group);
  };
  RowError error{of(a, b), of(static_cast<double>(scale), static_cast<double>(offset))};
  if (error.lost < 0) error.lost = 0;  // zero up to rounding
  return error;
}

/// Of `group` codes, w = scale * values[code], kept as `kept` * book.value(code).
RowError error_of(const int8_t* codes, int64_t group, const CodeValues& values, float scale,
                  const CodeBook& book, float kept) {
  double losses[16], squares[16];
  for (int code = 0; code < 16; ++code) {
    const double value =
        static_cast<double>(scale) * static_cast<double>(values[static_cast<size_t>(code)]);
    const double lost = static_cast<double>(kept) * static_cast<double>(book.value(code)) - value;
    losses[code] = lost * lost;
    squares[code] = value * value;
  }
  RowError error;
  for (int64_t i = 0; i < group; ++i) {
    error.lost += losses[codes[i]];
    error.total += squares[codes[i]];
  }
  return error;
}

RowError recode(const CodedRows& from, const CodeLayout& layout, const Recoding& recoding,
                int64_t row, Block& to) {
  const int64_t in = from.codes.size(1), group = layout.group, place = row * (in / group);
  // Fetched once per row: each tensor access is checked.
  const auto* scales = from.scales.const_data_ptr<float>() + place;
  const auto* offsets = layout.has_offsets ? from.offsets.const_data_ptr<float>() + place : nullptr;
  uint16_t* kept_scales = bits_of(to.scales, place);
  uint16_t* kept_offsets = recoding.has_offsets ? bits_of(to.offsets, place) : nullptr;
  const auto* codes = from.codes.const_data_ptr<int8_t>() + row * in;
  auto* q = to.q.mutable_data_ptr<uint8_t>() + row * in;
  for (int64_t i = 0; i < in; ++i) {
    q[i] = static_cast<uint8_t>(codes[i] - recoding.shift + recoding.middle);
  }
  RowError error;
  for (int64_t g = 0; g < in / group; ++g) {
    const float scale = scales[g], offset = offsets ? offsets[g] : 0.0f;
    const uint16_t kept = to_half(scale);
    kept_scales[g] = kept;
    if (recoding.book) {
      const RowError own =
          error_of(codes + g * group, group, *layout.book, scale, *recoding.book, from_half(kept));
      error.lost += own.lost;
      error.total += own.total;
      continue;
    }
    const double a = static_cast<double>(from_half(kept)) - static_cast<double>(scale);
    double b = -static_cast<double>(offset);
    if (recoding.has_offsets) {
      const uint16_t kept_offset = to_half(offset + static_cast<float>(recoding.shift) * scale);
      kept_offsets[g] = kept_offset;
      b += static_cast<double>(from_half(kept_offset)) -
           recoding.shift * static_cast<double>(from_half(kept));
    }
    const RowError own = error_of(codes + g * group, group, scale, offset, a, b);
    error.lost += own.lost;
    error.total += own.total;
  }
  return error;
}

void check(const CodedRows& rows, const CodeLayout& layout, int64_t count, int64_t in) {
  const auto is = [](const at::Tensor& tensor, at::ScalarType type, int64_t height, int64_t width) {
    return tensor.dim() == 2 && tensor.size(0) == height && tensor.size(1) == width &&
           tensor.scalar_type() == type && tensor.is_cpu() && tensor.is_contiguous();
  };
  const int64_t groups = in / layout.group;
  PREDGEN_CHECK(is(rows.codes, at::kChar, count, in) &&
                    is(rows.scales, at::kFloat, count, groups) &&
                    (!layout.has_offsets || is(rows.offsets, at::kFloat, count, groups)),
                "codes of {} for {} rows of {}", c10::str(rows.codes.sizes()), count, in);
  const auto [lowest, highest] = at::aminmax(rows.codes);
  PREDGEN_CHECK(lowest.item<int>() >= layout.lowest && highest.item<int>() <= layout.highest,
                "codes from {} to {}, not {} to {}", lowest.item<int>(), highest.item<int>(),
                layout.lowest, layout.highest);
}

}  // namespace

GroupedMatrix pack_as_stored(const CodeLayout& layout, int64_t out, int64_t in,
                             const CodedRowsOf& rows, RowError& error) {
  PREDGEN_CHECK(layout.group > 0 && in % layout.group == 0, "groups of {} for {} inputs",
                layout.group, in);
  const Recoding recoding(layout);
  const int64_t groups = in / layout.group, panels = (out + kGroupPanel - 1) / kGroupPanel;
  GroupedMatrix matrix{
      .bits = recoding.bits, .out = out, .words = {}, .scales = {}, .book = recoding.book};
  matrix.words = at::empty({panels, in / matrix.unit(), kGroupPanel}, at::kInt);
  matrix.scales = at::empty({panels, groups, recoding.has_offsets ? 2 : 1, kGroupPanel}, at::kHalf);
  constexpr int64_t kValues = int64_t{1} << 20, kGrain = int64_t{1} << 16;
  const int64_t step = std::max<int64_t>(1, kValues / in / kGroupPanel) * kGroupPanel;
  for (int64_t begin = 0; begin < out; begin += step) {
    const int64_t count = std::min(step, out - begin);
    const CodedRows coded = rows(begin, begin + count);
    check(coded, layout, count, in);
    Block block(count, in, groups, recoding.has_offsets);
    std::vector<RowError> errors(static_cast<size_t>(count));
    parallel_ranges(count, kGrain / in + 1, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        errors[static_cast<size_t>(row)] = recode(coded, layout, recoding, row, block);
      }
    });
    for (const RowError& own : errors) {  // in row order, whatever the threads
      error.lost += own.lost;
      error.total += own.total;
    }
    const int64_t first = begin / kGroupPanel;
    const at::Tensor words = pack_words(block.q, recoding.bits);
    matrix.words.narrow(0, first, words.size(0)).copy_(words);
    matrix.scales.narrow(0, first, words.size(0)).copy_(pack_scales(block.scales, block.offsets));
  }
  matrix.check();
  return matrix;
}

}  // namespace predgen
