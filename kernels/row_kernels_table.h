// The kernels of an instruction set that has no special ones for a kind of weights.
#pragma once

#include "kernels/row_kernels_along_inputs.h"
#include "kernels/row_kernels_groups.h"

namespace predgen {

// 4- and 8-bit weights in groups as a matrix in bfloat16.
namespace {

/// Widens a group to bfloat16 [kGroupPanel,in], of which the matrix has `outputs` rows.
template <class Kind>
void widen_group(const RowProduct& product, const Group<Kind>& group, int64_t outputs,
                 uint16_t* to) {
  for (int64_t i = 0; i < product.group; i += kInputStep) {
    Isa::Ints wide[kInputStep / 2][kParts];  // two inputs each
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part) {
      Isa::Ints words[Kind::kWords];
      group.load(i, part, words);
      const auto value = [&](const Isa::Ints* planes) {
        const auto scaled = joined<Kind>(planes, 1) * group.scales[part];
        return Kind::kOffsets ? scaled + group.offsets[part] : scaled;
      };
#pragma GCC unroll 4
      for (int k = 0; k < kInputStep / 2; ++k) {
        Isa::Ints even[kVectors<Kind>], odd[kVectors<Kind>];
        group.load_pairs(words, k, 0, even);
#pragma GCC unroll 2
        for (int plane = 0; plane < Kind::kPlanes; ++plane) {
          odd[plane * kParts] = Isa::odd(even[plane * kParts]);
          even[plane * kParts] = Isa::even(even[plane * kParts]);
        }
        wide[k][part] = Isa::narrow_pairs(value(even), value(odd));
      }
    }
    uint32_t lanes[kInputStep / 2][kGroupPanel];
    __builtin_memcpy(lanes, wide, sizeof(lanes));
    for (int64_t out = 0; out < outputs; ++out) {
      const uint32_t row[] = {lanes[0][out], lanes[1][out], lanes[2][out], lanes[3][out]};
      __builtin_memcpy(to + out * product.in + group.index * product.group + i, row, sizeof(row));
    }
  }
}

template <class Kind>
void widen_panels(const RowProduct& product, uint16_t* to, int64_t begin, int64_t end) {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t output = panel * kGroupPanel;
    for (int64_t index = 0; index < product.in / product.group; ++index) {
      widen_group<Kind>(product, Group<Kind>(product, panel, index),
                        least(kGroupPanel, product.out - output), to + output * product.in);
    }
  }
}

template <int kBits>
void widen_groups(const RowProduct& product, uint16_t* to, int64_t begin, int64_t end) {
  with_kind<kBits>(product, [&]<class Kind>() { widen_panels<Kind>(product, to, begin, end); });
}

}  // namespace

namespace {

constexpr RowKernels kIsaRowKernels{
    .float32 = {.pack = pack_as<Float32>, .multiply = multiply_along_inputs<Float32>},
    .bfloat16 = {.pack = pack_bfloat16, .multiply = multiply_bfloat16},
    .int8 = {.pack = pack_int8, .multiply = multiply_along_inputs<Int8Values>},
    .groups_of_4_bits = {.pack = pack_groups, .multiply = multiply_groups<4>},
    .groups_of_8_bits = {.pack = pack_groups, .multiply = multiply_groups<8>},
    .widen_4_bits = widen_groups<4>,
    .widen_8_bits = widen_groups<8>,
};

}  // namespace
}  // namespace predgen
