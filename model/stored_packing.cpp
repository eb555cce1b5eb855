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

/// Where a row of a GroupedMatrix lies: its first word, scale and offset, each 16 before the next
/// of its kind.
struct PackedRow {
  int32_t* words;
  uint16_t *scales, *offsets;  // `offsets` null if there are none
  int64_t scale_step;          // from one group's scale to the next

  PackedRow(GroupedMatrix& matrix, int64_t row)
      : words(matrix.words.mutable_data_ptr<int32_t>() + first(matrix.words, row)),
        scales(reinterpret_cast<uint16_t*>(matrix.scales.mutable_data_ptr<at::Half>()) +
               first(matrix.scales, row)),
        offsets(matrix.has_offsets() ? scales + kGroupPanel : nullptr),
        scale_step(matrix.scales.size(2) * kGroupPanel) {}

  static int64_t first(const at::Tensor& panels, int64_t row) {
    return row / kGroupPanel * panels.stride(0) + row % kGroupPanel;
  }
};

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

/// What packing finds in a row: its error, and whether all codes are of the layout.
struct RowFound {
  RowError error;
  bool is_valid = true;
};

/// `q`: room for the row's numbers.
RowFound recode(const CodedRows& from, const CodeLayout& layout, const Recoding& recoding,
                int64_t row, uint8_t* __restrict q, const PackedRow& to) {
  const int64_t in = from.codes.size(1), group = layout.group, place = row * (in / group);
  // Fetched once per row: each tensor access is checked.
  const auto* scales = from.scales.const_data_ptr<float>() + place;
  const auto* offsets = layout.has_offsets ? from.offsets.const_data_ptr<float>() + place : nullptr;
  const auto* __restrict codes = from.codes.const_data_ptr<int8_t>() + row * in;
  const auto added = static_cast<uint8_t>(recoding.middle - recoding.shift);
  const auto lowest = static_cast<uint8_t>(layout.lowest);
  uint8_t highest = 0;  // above the lowest; what is below it is far above, as unsigned
  for (int64_t i = 0; i < in; ++i) {
    const auto code = static_cast<uint8_t>(codes[i]);
    q[i] = static_cast<uint8_t>(code + added);
    highest = std::max(highest, static_cast<uint8_t>(code - lowest));
  }
  if (highest > layout.highest - layout.lowest) return {.error = {}, .is_valid = false};
  pack_row(q, in, recoding.bits, to.words);
  RowError error;
  for (int64_t g = 0; g < in / group; ++g) {
    const float scale = scales[g], offset = offsets ? offsets[g] : 0.0f;
    const uint16_t kept = to_half(scale);
    to.scales[g * to.scale_step] = kept;
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
      to.offsets[g * to.scale_step] = kept_offset;
      b += static_cast<double>(from_half(kept_offset)) -
           recoding.shift * static_cast<double>(from_half(kept));
    }
    const RowError own = error_of(codes + g * group, group, scale, offset, a, b);
    error.lost += own.lost;
    error.total += own.total;
  }
  return {.error = error};
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
  if (out % kGroupPanel != 0) {  // the rows that the last panel lacks
    matrix.words[panels - 1].zero_();
    matrix.scales[panels - 1].zero_();
  }
  constexpr int64_t kValues = int64_t{1} << 20, kGrain = int64_t{1} << 16;
  const int64_t step = std::max<int64_t>(1, kValues / in / kGroupPanel) * kGroupPanel;
  for (int64_t begin = 0; begin < out; begin += step) {
    const int64_t count = std::min(step, out - begin);
    const CodedRows coded = rows(begin, begin + count);
    check(coded, layout, count, in);
    std::vector<RowFound> found(static_cast<size_t>(count));
    parallel_ranges(count, kGrain / in + 1, [&](int64_t first, int64_t last) {
      std::vector<uint8_t> q(static_cast<size_t>(in));
      for (int64_t row = first; row < last; ++row) {
        found[static_cast<size_t>(row)] =
            recode(coded, layout, recoding, row, q.data(), PackedRow(matrix, begin + row));
      }
    });
    for (const RowFound& own : found) {  // in row order, whatever the threads
      PREDGEN_CHECK(own.is_valid, "codes not from {} to {}", layout.lowest, layout.highest);
      error.lost += own.error.lost;
      error.total += own.error.total;
    }
  }
  matrix.check();
  return matrix;
}

}  // namespace predgen
