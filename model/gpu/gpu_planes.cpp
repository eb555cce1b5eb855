#include "model/gpu/gpu_planes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "core/error.h"
#include "kernels/grouped_matrix.h"
#include "tensors/gguf_blocks.h"
#include "tensors/stored_tensors.h"

namespace predgen {
namespace {

// As BlockLayout of kernels/gpu/gpu_group_chunks.cuh. A lane of a kernel has outputs `lane` and
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

/// Packs some rows of one matrix, one after another.
class PlanePacker {
 public:
  PlanePacker(const CodeLayout& layout, int64_t in, GpuPlanes& planes)
      : layout_(layout), in_(in), planes_(planes), low_(static_cast<size_t>(in)), high_(low_) {}

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

  /// Its scales; false if a float16 number is not finite.
  bool pack_scales(const CodedRows& from, int64_t row, int64_t to) {
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
    return is_finite;
  }

 private:
  static int32_t* words_of(at::Tensor& plane, int64_t row) {
    return plane.mutable_data_ptr<int32_t>() + row / kGroupPanel * plane.stride(0) +
           row % kGroupPanel;
  }

  const CodeLayout& layout_;
  const int64_t in_;
  GpuPlanes& planes_;
  std::vector<uint8_t> low_, high_;
};

int bits_of(const CodeLayout& layout) {
  const bool is_six = layout.blocks == BlockScales::kSixBits && layout.group == 32 &&
                      layout.has_offsets && layout.lowest == 0;
  const bool is_eight = layout.blocks == BlockScales::kEightBits && layout.group == 16 &&
                        !layout.has_offsets && layout.lowest == -32;
  if (is_six && layout.highest == 15) return 4;
  if (is_six && layout.highest == 31) return 5;
  if (is_eight && layout.highest == 31) return 6;
  throw Error("no planes for codes from {} to {} in groups of {}", layout.lowest, layout.highest,
              layout.group);
}

}  // namespace

GpuPlanes pack_planes(const CodeLayout& layout, int64_t out, int64_t in, const CodedRowsOf& rows,
                      RowError& error) {
  GpuPlanes planes{.bits = bits_of(layout), .out = out, .low = {}, .high = {}, .scales = {}};
  const int64_t panels = (out + kGroupPanel - 1) / kGroupPanel;
  planes.low = at::zeros({panels, in / 8, kGroupPanel}, at::kInt);
  if (planes.bits > 4) planes.high = at::zeros_like(planes.low);
  const int64_t block_bytes = kGroupPanel * block_scale_bytes(layout.blocks);
  planes.scales = at::zeros({panels, in / kBlockInputs, block_bytes}, at::kByte);
  std::vector<uint8_t> is_valid(static_cast<size_t>(out)), is_finite(is_valid);
  for_each_coded_rows(layout, out, in, rows, [&](const CodedRows& coded, int64_t begin) {
    PlanePacker packer(layout, in, planes);
    for (int64_t row = 0; row < coded.codes.size(0); ++row) {
      const auto to = static_cast<size_t>(begin + row);
      is_valid[to] = packer.pack_codes(coded, row, begin + row);
      is_finite[to] = packer.pack_scales(coded, row, begin + row);
    }
  });
  PREDGEN_CHECK(std::ranges::count(is_valid, 0) == 0, "codes not from {} to {}", layout.lowest,
                layout.highest);
  const bool has_numbers = std::ranges::count(is_finite, 0) == 0;
  error = {.lost = has_numbers ? 0.0 : std::numeric_limits<double>::infinity(), .total = 0.0};
  return planes;
}

}  // namespace predgen
