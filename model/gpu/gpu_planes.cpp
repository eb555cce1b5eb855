#include "model/gpu/gpu_planes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/error.h"
#include "kernels/grouped_matrix.h"
#include "kernels/half.h"
#include "tensors/gguf_blocks.h"
#include "tensors/stored_tensors.h"

namespace predgen {
namespace {

// As BlockLayout of kernels/gpu/gpu_group_codes.cuh. A lane of a kernel has outputs `lane` and
// lane + 8 of a panel, which are its sides.
static_assert(std::endian::native == std::endian::little);
constexpr int64_t kLanesOfPanel = kGroupPanel / 2;

struct RowOfPanel {
  int64_t lane, side;
  explicit RowOfPanel(int64_t row)
      : lane(row % kGroupPanel % kLanesOfPanel), side(row % kGroupPanel / kLanesOfPanel) {}
  /// Of two bytes each.
  int64_t of_halves() const { return lane * 4 + side * 2; }
};

/// A row's scales and offsets of a block, to the panel's, which are 0 at first.
void put_six_bits(const uint8_t* stored, const RowOfPanel& row, uint8_t* to) {
  std::memcpy(to + row.of_halves(), stored, 2);
  std::memcpy(to + 2 * kGroupPanel + row.of_halves(), stored + 2, 2);
  uint8_t* const chunks = to + 4 * kGroupPanel;
  for (int group = 0; group < 8; ++group) {
    const SixBitFactors factors = six_bit_factors(stored + 4, group);
    uint8_t* const chunk = chunks + group / 2 * 48 + row.side;
    // Four bits, those of the chunk's second group above; behind them two, of two lanes in a byte.
    const auto put = [&](int64_t byte, int factor) {
      chunk[row.lane * 4 + byte] |= static_cast<uint8_t>((factor & 15) << group % 2 * 4);
      chunk[4 * kLanesOfPanel + row.lane / 2 * 4 + byte] |=
          static_cast<uint8_t>(factor >> 4 << (row.lane % 2 * 4 + group % 2 * 2));
    };
    put(0, factors.scale);
    put(2, factors.offset);
  }
}

/// The same of scales alone, which count from -128.
void put_eight_bits(const uint8_t* stored, const RowOfPanel& row, uint8_t* to) {
  std::memcpy(to + row.of_halves(), stored + 16, 2);
  uint8_t* const chunks = to + 2 * kGroupPanel;
  for (int group = 0; group < 16; ++group) {
    chunks[group / 4 * 64 + row.lane * 8 + group % 4 * 2 + row.side] = stored[group] ^ 0x80;
  }
}

bool is_finite_half(const uint8_t* stored) { return (stored[1] & 0x7C) != 0x7C; }

GpuScaling scaling_of(const CodeLayout& layout) {
  if (layout.blocks == BlockScales::kSixBits) return GpuScaling::kSixBits;
  if (layout.blocks == BlockScales::kEightBits) return GpuScaling::kEightBits;
  if (layout.has_exponents) return GpuScaling::kExponents;
  return layout.has_offsets ? GpuScaling::kHalfOffsets : GpuScaling::kHalf;
}

constexpr RowError kNotFinite{.lost = std::numeric_limits<double>::infinity(), .total = 0.0};

/// Packs some rows of one matrix, one after another.
class PlanePacker {
 public:
  PlanePacker(const CodeLayout& layout, int64_t in, GpuPlanes& planes)
      : layout_(layout),
        in_(in),
        num_groups_(in / layout.group),
        planes_(planes),
        low_(static_cast<size_t>(in)),
        high_(low_),
        sums_(static_cast<size_t>(num_groups_)),
        squares_(sums_) {}

  /// Row `row` of `from`; false if a code is not of the layout.
  bool pack_codes(const CodedRows& from, int64_t row, int64_t to) {
    const auto* __restrict codes = from.codes.const_data_ptr<int8_t>() + row * in_;
    uint8_t* __restrict low = low_.data();
    uint8_t* __restrict high = high_.data();
    const auto lowest = static_cast<uint8_t>(layout_.lowest);
    uint8_t highest = 0;
    for (int64_t i = 0; i < in_; ++i) {
      const auto q = static_cast<uint8_t>(static_cast<uint8_t>(codes[i]) - lowest);
      highest = std::max(highest, q);
      low[i] = q & 15;
      high[i] = q >> 4;
    }
    if (highest > layout_.highest - layout_.lowest) return false;
    pack_row(low, in_, 4, words_of(planes_.low, to));
    if (planes_.high.defined()) pack_row(high, in_, 4, words_of(planes_.high, to));
    return true;
  }

  /// Its scales, and what rounding them loses.
  RowError pack_scales(const CodedRows& from, int64_t row, int64_t to) {
    if (is_of_gpu_blocks(planes_.scaling)) return pack_blocks(from, row, to);
    return layout_.has_exponents ? pack_exponents(from, row, to) : pack_halves(from, row, to);
  }

 private:
  RowError pack_blocks(const CodedRows& from, int64_t row, int64_t to) {
    const bool has_six = layout_.blocks == BlockScales::kSixBits;
    const int64_t num_blocks = in_ / kBlockInputs, stored_bytes = block_scale_bytes(layout_.blocks);
    const uint8_t* stored = from.blocks.const_data_ptr<uint8_t>() + row * num_blocks * stored_bytes;
    at::Tensor& scales = planes_.scales;
    uint8_t* of_panel = scales.mutable_data_ptr<uint8_t>() + to / kGroupPanel * scales.stride(0);
    bool is_finite = true;
    for (int64_t block = 0; block < num_blocks; ++block) {
      if (has_six) {
        is_finite = is_finite && is_finite_half(stored) && is_finite_half(stored + 2);
        put_six_bits(stored, RowOfPanel(to), of_panel);
      } else {
        is_finite = is_finite && is_finite_half(stored + 16);
        put_eight_bits(stored, RowOfPanel(to), of_panel);
      }
      stored += stored_bytes;
      of_panel += scales.size(2);
    }
    return is_finite ? RowError{} : kNotFinite;
  }

  /// Their exponents.
  RowError pack_exponents(const CodedRows& from, int64_t row, int64_t to) {
    const float* scales = from.scales.const_data_ptr<float>() + row * num_groups_;
    const RowOfPanel place(to);
    uint8_t* of_group = planes_.scales.mutable_data_ptr<uint8_t>() +
                        to / kGroupPanel * planes_.scales.stride(0) + place.lane * 2 + place.side;
    uint8_t highest = 0;
    for (int64_t g = 0; g < num_groups_; ++g, of_group += kGroupPanel) {
      const auto exponent =
          static_cast<uint8_t>(static_cast<unsigned>(std::ilogb(scales[g])) + 128u);
      PREDGEN_CHECK(half_of_e8m0(exponent) == scales[g], "a scale of {}", scales[g]);
      highest = std::max(highest, exponent);
      *of_group = exponent;
    }
    return highest == 255 ? kNotFinite : RowError{};
  }

  /// In float16, offsets, too.
  RowError pack_halves(const CodedRows& from, int64_t row, int64_t to) {
    const auto* codes = from.codes.const_data_ptr<int8_t>() + row * in_;
    const float* scales = from.scales.const_data_ptr<float>() + row * num_groups_;
    const float* offsets =
        layout_.has_offsets ? from.offsets.const_data_ptr<float>() + row * num_groups_ : nullptr;
    const RowOfPanel place(to);
    uint8_t* halves = static_cast<uint8_t*>(planes_.scales.mutable_data_ptr()) +
                      to / kGroupPanel * planes_.scales.stride(0) * 2 + place.of_halves();
    const auto keep = [&](float value) {
      const uint16_t bits = to_half(value);
      std::memcpy(halves, &bits, sizeof bits);
      halves += 2 * kGroupPanel;
      return static_cast<double>(from_half(bits));
    };
    sum_codes(codes, num_groups_, layout_.group, sums_.data(), squares_.data());
    const auto count = static_cast<double>(layout_.group);
    RowError error;
    for (int64_t g = 0; g < num_groups_; ++g) {
      // Of scale * code + offset.
      const auto square = [&](double scale, double offset) {
        return scale * scale * squares_[g] + 2 * scale * offset * sums_[g] +
               offset * offset * count;
      };
      const double scale = static_cast<double>(scales[g]), kept = keep(scales[g]);
      const double offset = offsets ? static_cast<double>(offsets[g]) : 0.0;
      const double kept_offset = offsets ? keep(offsets[g]) : 0.0;
      const double lost = square(kept - scale, kept_offset - offset);
      error.lost += lost < 0 ? 0 : lost;  // zero up to rounding
      error.total += square(scale, offset);
    }
    return error;
  }

  static int32_t* words_of(at::Tensor& plane, int64_t row) {
    return plane.mutable_data_ptr<int32_t>() + row / kGroupPanel * plane.stride(0) +
           row % kGroupPanel;
  }

  const CodeLayout& layout_;
  const int64_t in_, num_groups_;
  GpuPlanes& planes_;
  std::vector<uint8_t> low_, high_;
  std::vector<int32_t> sums_, squares_;  // of a group's codes
};

/// The scales of all panels, 0.
at::Tensor no_scales(const CodeLayout& layout, GpuScaling scaling, int64_t panels, int64_t in) {
  const int64_t groups = in / layout.group;
  if (is_of_gpu_blocks(scaling)) {
    const int64_t block_bytes = kGroupPanel * block_scale_bytes(layout.blocks);
    return at::zeros({panels, in / kBlockInputs, block_bytes}, at::kByte);
  }
  if (layout.has_exponents) return at::zeros({panels, groups, kGroupPanel}, at::kByte);
  return at::zeros({panels, groups, layout.has_offsets ? 2 : 1, kLanesOfPanel, 2}, at::kHalf);
}

}  // namespace

int plane_bits(const CodeLayout& layout) {
  const bool is_six = layout.blocks == BlockScales::kSixBits && layout.group == 32 &&
                      layout.has_offsets && layout.lowest == 0;
  const bool is_eight = layout.blocks == BlockScales::kEightBits && layout.group == 16 &&
                        !layout.has_offsets && layout.lowest == -32;
  if (is_six && layout.highest == 15) return 4;
  if (is_six && layout.highest == 31) return 5;
  if (is_eight && layout.highest == 31) return 6;
  if (layout.blocks != BlockScales::kNone) return 0;
  if (layout.has_exponents) return layout.group == 32 && layout.book ? 4 : 0;
  const int more_codes = layout.highest - layout.lowest;
  return layout.lowest == (layout.has_offsets ? 0 : -16) && more_codes >= 16 && more_codes < 32 &&
                 layout.group % 32 == 0
             ? 5
             : 0;
}

int64_t plane_bytes(const CodeLayout& layout, int64_t count) {
  const int64_t codes = count * plane_bits(layout) / 8, groups = count / layout.group;
  if (layout.blocks != BlockScales::kNone) {
    return codes + count / kBlockInputs * block_scale_bytes(layout.blocks);
  }
  return codes + groups * (layout.has_exponents ? 1 : layout.has_offsets ? 4 : 2);
}

GpuPlanes pack_planes(const CodeLayout& layout, int64_t out, int64_t in, const CodedRowsOf& rows,
                      RowError& error) {
  GpuPlanes planes{.bits = plane_bits(layout),
                   .out = out,
                   .scaling = scaling_of(layout),
                   .low = {},
                   .high = {},
                   .scales = {}};
  PREDGEN_CHECK(planes.bits > 0, "no planes for codes from {} to {} in groups of {}", layout.lowest,
                layout.highest, layout.group);
  if (layout.book) {
    planes.book.emplace(*layout.book);
    PREDGEN_CHECK(planes.book->num_bytes == 1, "exponents with a book of two bytes");
  }
  const int64_t panels = (out + kGroupPanel - 1) / kGroupPanel;
  planes.low = at::zeros({panels, in / 8, kGroupPanel}, at::kInt);
  if (planes.bits > 4) planes.high = at::zeros_like(planes.low);
  planes.scales = no_scales(layout, planes.scaling, panels, in);
  std::vector<uint8_t> is_valid(static_cast<size_t>(out));
  std::vector<RowError> errors(is_valid.size());
  for_each_coded_rows(layout, out, in, rows, [&](const CodedRows& coded, int64_t begin) {
    PlanePacker packer(layout, in, planes);
    for (int64_t row = 0; row < coded.codes.size(0); ++row) {
      const auto to = static_cast<size_t>(begin + row);
      is_valid[to] = packer.pack_codes(coded, row, begin + row);
      errors[to] = packer.pack_scales(coded, row, begin + row);
    }
  });
  PREDGEN_CHECK(std::ranges::count(is_valid, 0) == 0, "codes not from {} to {}", layout.lowest,
                layout.highest);
  error = {};
  for (const RowError& own : errors) {  // in row order, whatever the threads
    error.lost += own.lost;
    error.total += own.total;
  }
  return planes;
}

}  // namespace predgen
