// The kernels of an instruction set that has no special ones for a kind of weights.
#pragma once

#include "kernels/row_kernels_along_inputs.h"
#include "kernels/row_kernels_groups.h"
#include "kernels/row_kernels_widen.h"

namespace predgen {
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
