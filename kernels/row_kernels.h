#pragma once

#include <cstdint>

// The kernels of row_product.h for CPUs, without LibTorch and the standard library: one source,
// row_kernels_*.h, compiled for each instruction set. Integer weights are multiplied by rows of x
// in 16 bits with exact sums: the same bits on all of them. A row of y never depends on the number
// of rows.

namespace predgen {

/// A CodeBook as kernels look its values up: (high - 128 + (low - 128) / 256) * unit.
struct CodeTable {
  bool operator==(const CodeTable&) const = default;

  alignas(16) uint8_t high[16] = {};
  alignas(16) uint8_t low[16] = {};  // 128 where one byte is enough
  float unit = 1.0f;
  int num_bytes = 1;
};

/// y = x W^T + bias. bfloat16 as its bits; W at any address.
struct RowProduct {
  const void* x = nullptr;           // [rows,in] bfloat16; float32 with float32 weights
  const void* weight = nullptr;      // float32, bfloat16 or int8 [out,in]; groups: GroupedMatrix
  const uint16_t* scales = nullptr;  // for integers: bfloat16 [out], or a GroupedMatrix's
  const void* bias = nullptr;        // [out] in the type of x; null: none
  uint16_t* y = nullptr;             // bfloat16 [rows,out]
  float* wide_y = nullptr;           // float32, if y is null
  int64_t rows = 0, in = 0, out = 0;
  int64_t group = 0;                // inputs that share a scale in groups, 16 to kMaxGroup
  bool has_offsets = false;         // in groups
  const CodeTable* book = nullptr;  // of groups of 4 bits: what codes stand for; null: themselves
};

/// The rows of x as a kernel reads them.
struct PackedRows {
  void* values = nullptr;    // [rows,stride] of at most 4 bytes
  float* scales = nullptr;   // [blocks,scale_stride] integers: x ~ scale * value
  int32_t* sums = nullptr;   // [blocks,scale_stride] of the values of a block
  int64_t stride = 0;        // `in` rounded up to kRowStep
  int64_t scale_stride = 0;  // rows rounded up to kRegisterRows
};

constexpr int64_t kRowStep = 64;      // a multiple of any kernel's input step
constexpr int64_t kRowBlock = 512;    // inputs that are summed by themselves: 2^9 products of 8 and
                                      // 16 bits fit into 32
constexpr int64_t kRegisterRows = 4;  // rows whose sums share the registers
constexpr int64_t kGroupPanel = 16;   // adjacent outputs with groups
constexpr int64_t kMaxGroup = 256;    // inputs that share a scale

struct RowKernel {
  /// Packs rows [begin,end); threads may split them.
  void (*pack)(const RowProduct& product, const PackedRows& to, int64_t begin, int64_t end);
  /// Computes outputs [begin,end); with groups, panels.
  void (*multiply)(const RowProduct& product, const PackedRows& x, int64_t begin, int64_t end);
};

struct RowKernels {
  RowKernel float32, bfloat16, int8, groups_of_4_bits, groups_of_8_bits;
  /// Widens panels [begin,end) of the matrix of `product`, whose x and y are ignored, to bfloat16
  /// [out,in].
  void (*widen_4_bits)(const RowProduct& product, uint16_t* to, int64_t begin, int64_t end);
  void (*widen_8_bits)(const RowProduct& product, uint16_t* to, int64_t begin, int64_t end);
};

extern const RowKernels kPlainRowKernels;
#if defined(__x86_64__)
extern const RowKernels kAvx2RowKernels;        // with FMA and F16C
extern const RowKernels kAvx512RowKernels;      // F, BW, DQ, VL
extern const RowKernels kAvx512VnniRowKernels;  // and VNNI
extern const RowKernels kAvx512Bf16RowKernels;  // and BF16
#endif

}  // namespace predgen
