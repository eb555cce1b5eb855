// The kernels of one set of instructions that has nothing of its own for a kind of weights.
#pragma once

#include "kernels/row_kernels_along_inputs.h"
#include "kernels/row_kernels_int4.h"

namespace predgen {
namespace {

constexpr RowKernels kIsaRowKernels{
    .float32 = {.pack = pack_as<Float32>, .multiply = multiply_along_inputs<Float32>},
    .bfloat16 = {.pack = pack_bfloat16, .multiply = multiply_bfloat16},
    .int8 = {.pack = pack_int8, .multiply = multiply_along_inputs<Int8Values>},
    .int4 = {.pack = pack_int4, .multiply = multiply_int4},
    .widen_int4 = widen_int4,
};

}  // namespace
}  // namespace predgen
