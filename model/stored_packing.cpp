#include "model/stored_packing.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "kernels/half.h"
#include "kernels/threads/thread_team.h"
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

/// Packs some rows of one matrix, one after another.
class RowPacker {
 public:
  RowPacker(const CodeLayout& layout, const Recoding& recoding, int64_t in)
      : layout_(layout),
        recoding_(recoding),
        in_(in),
        num_groups_(in / layout.group),
        q_(static_cast<size_t>(in)),
        sums_(static_cast<size_t>(num_groups_)),
        squares_(sums_.size()),
        scales_(sums_.size()),
        offsets_(sums_.size()),
        lost_(sums_.size()),
        total_(sums_.size()) {}

  /// Row `row` of `from` to `to`.
  RowFound pack(const CodedRows& from, int64_t row, const PackedRow& to) {
    const auto* codes = from.codes.const_data_ptr<int8_t>() + row * in_;
    if (!recode(codes)) return {.error = {}, .is_valid = false};
    pack_row(q_.data(), in_, recoding_.bits, to.words);
    const int64_t place = row * num_groups_;
    const float* scales = from.scales.const_data_ptr<float>() + place;
    const float* offsets =
        layout_.has_offsets ? from.offsets.const_data_ptr<float>() + place : nullptr;
    keep_scales(scales, offsets, to);
    return {.error = recoding_.book ? error_by_book(codes, scales)
                                    : error_of_numbers(codes, scales, offsets)};
  }

 private:
  /// To q_; false if a code is not of the layout.
  bool recode(const int8_t* __restrict codes) {
    const auto added = static_cast<uint8_t>(recoding_.middle - recoding_.shift);
    const auto lowest = static_cast<uint8_t>(layout_.lowest);
    uint8_t highest = 0;  // above the lowest; what is below it is far above, as unsigned
    uint8_t* __restrict q = q_.data();
    for (int64_t i = 0; i < in_; ++i) {
      const auto code = static_cast<uint8_t>(codes[i]);
      q[i] = static_cast<uint8_t>(code + added);
      highest = std::max(highest, static_cast<uint8_t>(code - lowest));
    }
    return highest <= layout_.highest - layout_.lowest;
  }

  /// In float16, scales_ and offsets_, too. `offsets`: null if they are 0.
  void keep_scales(const float* scales, const float* offsets, const PackedRow& to) {
    for (int64_t g = 0; g < num_groups_; ++g) scales_[g] = to_half(scales[g]);
    for (int64_t g = 0; g < num_groups_; ++g) to.scales[g * to.scale_step] = scales_[g];
    if (!recoding_.has_offsets) return;
    const auto shift = static_cast<float>(recoding_.shift);
    for (int64_t g = 0; g < num_groups_; ++g) {
      offsets_[g] = to_half((offsets ? offsets[g] : 0.0f) + shift * scales[g]);
    }
    for (int64_t g = 0; g < num_groups_; ++g) to.offsets[g * to.scale_step] = offsets_[g];
  }

  /// w = scale * code + offset, of which the kept numbers are off by a * code + b.
  RowError error_of_numbers(const int8_t* codes, const float* scales, const float* offsets) {
    sum_codes(codes, num_groups_, layout_.group, sums_.data(), squares_.data());
    const auto count = static_cast<double>(layout_.group),
               shift = static_cast<double>(recoding_.shift);
    const auto of = [&](double slope, double constant, int64_t g) {
      return slope * slope * squares_[g] + 2 * slope * constant * sums_[g] +
             constant * constant * count;
    };
    for (int64_t g = 0; g < num_groups_; ++g) {
      const double kept = static_cast<double>(from_half(scales_[g]));
      const double scale = static_cast<double>(scales[g]);
      const double offset = offsets ? static_cast<double>(offsets[g]) : 0.0;
      double b = -offset;
      if (recoding_.has_offsets) b += static_cast<double>(from_half(offsets_[g])) - shift * kept;
      const double lost = of(kept - scale, b, g);
      lost_[g] = lost < 0 ? 0 : lost;  // zero up to rounding
      total_[g] = of(scale, offset, g);
    }
    RowError error;
    for (int64_t g = 0; g < num_groups_; ++g) {
      error.lost += lost_[g];
      error.total += total_[g];
    }
    return error;
  }

  RowError error_by_book(const int8_t* codes, const float* scales) const {
    RowError error;
    for (int64_t g = 0; g < num_groups_; ++g) {
      const RowError own = error_of(codes + g * layout_.group, layout_.group, *layout_.book,
                                    scales[g], *recoding_.book, from_half(scales_[g]));
      error.lost += own.lost;
      error.total += own.total;
    }
    return error;
  }

  const CodeLayout& layout_;
  const Recoding& recoding_;
  const int64_t in_, num_groups_;
  std::vector<uint8_t> q_;
  // Of the groups, each loop over which is worth vectors.
  std::vector<int32_t> sums_, squares_;
  std::vector<uint16_t> scales_, offsets_;
  std::vector<double> lost_, total_;
};

void check(const CodedRows& rows, const CodeLayout& layout, int64_t count, int64_t in) {
  const auto is = [](const at::Tensor& tensor, at::ScalarType type, int64_t height, int64_t width) {
    return tensor.dim() == 2 && tensor.size(0) == height && tensor.size(1) == width &&
           tensor.scalar_type() == type && tensor.is_cpu() && tensor.is_contiguous();
  };
  const int64_t groups = in / layout.group;
  PREDGEN_CHECK(
      is(rows.codes, at::kChar, count, in) && is(rows.scales, at::kFloat, count, groups) &&
          (!layout.has_offsets || is(rows.offsets, at::kFloat, count, groups)) &&
          (layout.blocks == BlockScales::kNone ||
           is(rows.blocks, at::kByte, count, in / kBlockInputs * block_scale_bytes(layout.blocks))),
      "codes of {} for {} rows of {}", c10::str(rows.codes.sizes()), count, in);
}

/// Whole panels whose codes stay in a core's cache; whole heads, too, where they fit, as rows may
/// be stored in another order within a head.
int64_t rows_at_once(int64_t in) {
  constexpr int64_t kValues = int64_t{1} << 18, kHead = 64;
  const int64_t rows = kValues / in;
  if (rows >= kHead) return rows / kHead * kHead;
  return std::max(kGroupPanel, rows / kGroupPanel * kGroupPanel);
}

}  // namespace

void for_each_coded_rows(const CodeLayout& layout, int64_t out, int64_t in, const CodedRowsOf& rows,
                         const std::function<void(const CodedRows& coded, int64_t begin)>& visit) {
  const int64_t unit = layout.blocks == BlockScales::kNone ? layout.group : kBlockInputs;
  PREDGEN_CHECK(layout.group > 0 && in % layout.group == 0 && in % unit == 0,
                "groups of {} for {} inputs", layout.group, in);
  const int64_t step = rows_at_once(in), num_steps = (out + step - 1) / step;
  parallel_ranges(num_steps, 1, [&](int64_t first, int64_t last) {
    for (int64_t begin = first * step; begin < std::min(last * step, out); begin += step) {
      const int64_t count = std::min(step, out - begin);
      const CodedRows coded = rows(begin, begin + count);
      check(coded, layout, count, in);
      visit(coded, begin);
    }
  });
}

GroupedMatrix pack_as_stored(const CodeLayout& layout, int64_t out, int64_t in,
                             const CodedRowsOf& rows, RowError& error) {
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
  std::vector<RowFound> found(static_cast<size_t>(out));
  for_each_coded_rows(layout, out, in, rows, [&](const CodedRows& coded, int64_t begin) {
    RowPacker packer(layout, recoding, in);
    for (int64_t row = 0; row < coded.codes.size(0); ++row) {
      found[static_cast<size_t>(begin + row)] =
          packer.pack(coded, row, PackedRow(matrix, begin + row));
    }
  });
  for (const RowFound& own : found) {  // in row order, whatever the threads
    PREDGEN_CHECK(own.is_valid, "codes not from {} to {}", layout.lowest, layout.highest);
    error.lost += own.error.lost;
    error.total += own.error.total;
  }
  matrix.check();
  return matrix;
}

}  // namespace predgen
