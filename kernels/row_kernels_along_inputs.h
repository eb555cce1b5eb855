// float32, bfloat16 and 8-bit weights [out,in]: lanes are inputs.
#pragma once

#include "kernels/row_kernels_pack.h"

namespace predgen {

// What lanes along the inputs hold: float32, bfloat16 and 8-bit weights [out,in], and the matching
// x.
namespace {

using Four __attribute__((vector_size(16))) = float;

struct PlainSums {
  static constexpr bool kHasScales = false;
  static float finish(const RowProduct&, int64_t, float sum) { return sum; }
};

struct NarrowBias {
  static float bias(const RowProduct& product, int64_t output) {
    return widen(static_cast<const uint16_t*>(product.bias) + output);
  }
};

struct Float32 : PlainSums {
  using Value = float;
  using Vector = Isa::Floats;
  using Sum = Isa::Floats;
  using Packed = float;
  static constexpr int kParts = 1;
  static constexpr int64_t kStep = Isa::kLanes;

  static void pack(const float* x, int64_t in, int64_t stride, float* to) {
    __builtin_memcpy(to, x, static_cast<size_t>(in) * sizeof(*x));
    __builtin_memset(to + in, 0, static_cast<size_t>(stride - in) * sizeof(*x));
  }
  static Sum zero() { return Isa::all(0.0f); }
  static void load(const float* from, Vector (&to)[kParts]) { to[0] = Isa::load_floats(from); }
  static Vector load_x(const float* from, int) { return Isa::load_floats(from); }
  static Sum multiply_add(Sum sum, Vector a, Vector b) { return Isa::multiply_add(sum, a, b); }
  static Four sum(Sum a, Sum b, Sum c, Sum d) { return Isa::sum(a, b, c, d); }
  static Isa::Floats sum(const Sum (&sums)[Isa::kLanes]) { return Isa::sum(sums); }
  static float bias(const RowProduct& product, int64_t output) {
    return static_cast<const float*>(product.bias)[output];
  }
};

struct Bfloat16Base : PlainSums, NarrowBias {
  using Value = uint16_t;
};

/// The even, then the odd inputs of each step: widening them is a shift and a mask.
struct WideBfloat16 : Bfloat16Base {
  using Vector = Isa::Floats;
  using Sum = Isa::Floats;
  using Packed = float;
  static constexpr int kParts = 2;
  static constexpr int64_t kStep = 2 * Isa::kLanes;

  static void pack(const uint16_t* x, int64_t in, int64_t stride, float* to) {
    for (int64_t i = 0; i < stride; i += kStep) {
      uint16_t last[kStep] = {};
      if (i + kStep > in && i < in) {
        __builtin_memcpy(last, x + i, static_cast<size_t>(in - i) * sizeof(*x));
      }
      Vector even, odd;
      Isa::load_pairs(i + kStep > in ? last : x + i, even, odd);
      Isa::store(to + i, even);
      Isa::store(to + i + Isa::kLanes, odd);
    }
  }
  static Sum zero() { return Isa::all(0.0f); }
  static void load(const uint16_t* from, Vector (&to)[kParts]) {
    Isa::load_pairs(from, to[0], to[1]);
  }
  static Vector load_x(const float* from, int part) {
    return Isa::load_floats(from + part * Isa::kLanes);
  }
  static Sum multiply_add(Sum sum, Vector a, Vector b) { return Isa::multiply_add(sum, a, b); }
  static Four sum(Sum a, Sum b, Sum c, Sum d) { return Isa::sum(a, b, c, d); }
  static Isa::Floats sum(const Sum (&sums)[Isa::kLanes]) { return Isa::sum(sums); }
};

/// Sums as above, but x stays in 16 bits, so that it fits into the L1 cache along with a tile's
/// rows of W.
struct NarrowBfloat16 : WideBfloat16 {
  using Packed = uint16_t;

  static void pack(const uint16_t* x, int64_t in, int64_t stride, uint16_t* to) {
    __builtin_memcpy(to, x, static_cast<size_t>(in) * sizeof(*x));
    __builtin_memset(to + in, 0, static_cast<size_t>(stride - in) * sizeof(*x));
  }
  static Vector load_x(const uint16_t* from, int part) {
    Vector parts[kParts];
    Isa::load_pairs(from, parts[0], parts[1]);
    return parts[part];
  }
};

struct Int8Values : NarrowBias {
  using Value = int8_t;
  using Vector = Isa::Ints;
  using Sum = Isa::Ints;
  using Packed = int16_t;
  static constexpr int kParts = 1;
  static constexpr int64_t kStep = 2 * Isa::kLanes;
  static constexpr bool kHasScales = true;

  static Sum zero() { return Isa::zero(); }
  static void load(const int8_t* from, Vector (&to)[kParts]) { to[0] = Isa::load_bytes(from); }
  static Vector load_x(const int16_t* from, int) { return Isa::load_ints(from); }
  static Sum multiply_add(Sum sum, Vector a, Vector b) { return Isa::multiply_add(sum, a, b); }
  static Four sum(Sum a, Sum b, Sum c, Sum d) { return Isa::sum(a, b, c, d); }
  static Isa::Floats sum(const Sum (&sums)[Isa::kLanes]) { return Isa::sum(sums); }
  static float finish(const RowProduct& product, int64_t output, float sum) {
    return sum * widen(product.scales + output);
  }
};

}  // namespace

namespace {

constexpr int64_t kMaxRows = 64;      // rows whose sums of a panel stay in the L1 cache
constexpr int64_t kPanel = 16;        // outputs processed in turn over a block of inputs
constexpr int64_t kLine = 64;         // bytes of a cache line
constexpr int kTile = Isa::kOutputs;  // outputs with adjacent sums

/// The sums of a few rows and outputs, kept in registers.
template <class Kind, int kRows, int kOutputs>
struct Sums {
  static constexpr int kCount = kRows * kOutputs;
  typename Kind::Sum sums[kCount];

  Sums() {
#pragma GCC unroll 16
    for (auto& sum : sums) sum = Kind::zero();
  }

  void add(const typename Kind::Packed* x, int64_t x_stride, const typename Kind::Value* weight,
           int64_t weight_stride) {
    typename Kind::Vector weights[kOutputs][Kind::kParts];
#pragma GCC unroll 8
    for (int output = 0; output < kOutputs; ++output) {
      Kind::load(weight + output * weight_stride, weights[output]);
    }
#pragma GCC unroll 2
    for (int part = 0; part < Kind::kParts; ++part) {
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        const auto values = Kind::load_x(x + row * x_stride, part);
#pragma GCC unroll 8
        for (int output = 0; output < kOutputs; ++output) {
          const int i = row * kOutputs + output;
          sums[i] = Kind::multiply_add(sums[i], weights[output][part], values);
        }
      }
    }
  }

  /// Adds them to those of earlier blocks, `to` [kRows,kTile].
  void add_to(float* to, const PackedRows& x, int64_t block, int64_t row) const {
    const float* scales = Kind::kHasScales ? x.scales + block * x.scale_stride + row : nullptr;
    if constexpr (kCount == Isa::kLanes && kOutputs == kTile) {
      auto all = Kind::sum(sums);
      if (Kind::kHasScales) all = all * Isa::for_outputs(scales);
      return Isa::store(to, Isa::load_floats(to) + all);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; i += 4) {
      Four four = Kind::sum(sums[i], sums[(i + 1) % kCount], sums[(i + 2) % kCount],
                            sums[(i + 3) % kCount]);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        if (i + j >= kCount) break;
        const int own_row = (i + j) / kOutputs, output = (i + j) % kOutputs;
        to[own_row * kTile + output] += four[j] * (Kind::kHasScales ? scales[own_row] : 1);
      }
    }
  }
};

/// A place in a product: a panel, or, for few rows, a tile of the whole.
struct Place {
  const RowProduct& product;
  const PackedRows& x;
  int64_t first_row, last_row, output, end;  // at most kMaxRows
  int64_t begin = 0;                         // inputs of the block
  float* sums = nullptr;  // [..,kMaxRows,kTile]; a tile's [kMaxRows or fewer,kTile]
  // What to prefetch: the next panel or tile in address order, so that the hardware prefetcher
  // continues by itself; at the end the memory after W, which is not read.
  const char* next = nullptr;

  float* sums_of(int64_t of_output, int64_t row) const {
    const int64_t o = of_output - output;
    return sums + (o / kTile * kMaxRows + row - first_row) * kTile + o % kTile;
  }
};

/// Cache lines to prefetch for so many weights, shared by all that use them.
template <class Kind>
int64_t lines_for_each(const Place& place, int64_t weights) {
  const int64_t users = (place.last_row - place.first_row + kRegisterRows - 1) / kRegisterRows;
  const int64_t bytes = weights * static_cast<int64_t>(sizeof(typename Kind::Value));
  return (bytes + users * kLine - 1) / (users * kLine);
}

/// A block of inputs for rows from `row` and outputs from `output` on. kFetches: it is the only
/// user of the weights and prefetches the next ones as it goes; several users share that, a few
/// lines each, since one that prefetched all would wait for memory.
template <class Kind, int kRows, int kOutputs, bool kFetches>
void add_block(Place& place, int64_t row, int64_t output) {
  using Value = typename Kind::Value;
  const PackedRows& x = place.x;
  const int64_t in = place.product.in, end = least(place.begin + kRowBlock, in);
  const auto* weight = static_cast<const Value*>(place.product.weight) + output * in;
  const auto* values = static_cast<const typename Kind::Packed*>(x.values) + row * x.stride;
  if constexpr (!kFetches) {
    int64_t lines = lines_for_each<Kind>(place, kOutputs * (end - place.begin));
    for (; lines > 0; --lines, place.next += kLine) __builtin_prefetch(place.next);
  }
  Sums<Kind, kRows, kOutputs> block;
  int64_t i = place.begin;
  for (; i + Kind::kStep <= end; i += Kind::kStep) {
    if constexpr (kFetches) {
      constexpr int64_t kBytes = kOutputs * Kind::kStep * static_cast<int64_t>(sizeof(Value));
#pragma GCC unroll 8
      for (int64_t byte = 0; byte < kBytes; byte += kLine) __builtin_prefetch(place.next + byte);
      place.next += kBytes;
    }
    block.add(values + i, x.stride, weight + i, in);
  }
  if (i < end) {
    Value last[kOutputs][Kind::kStep] = {};
    for (int o = 0; o < kOutputs; ++o) {
      __builtin_memcpy(last[o], weight + o * in + i, static_cast<size_t>(end - i) * sizeof(Value));
    }
    block.add(values + i, x.stride, last[0], Kind::kStep);
  }
  block.add_to(place.sums_of(output, row), x, place.begin / kRowBlock, row);
}

template <class Kind, int kRows>
void add_outputs(Place& place, int64_t row) {
  int64_t output = place.output;
  for (; output + kTile <= place.end; output += kTile) {
    add_block<Kind, kRows, kTile, false>(place, row, output);
  }
  for (; output < place.end; ++output) add_block<Kind, kRows, 1, false>(place, row, output);
}

/// Stores a row's sums of kCount outputs from `output` on, with scales and bias.
template <class Kind, int kCount>
void finish(const Place& place, int64_t row, int64_t output) {
  const RowProduct& product = place.product;
  float line[kCount];
  for (int o = 0; o < kCount; ++o) {
    line[o] = Kind::finish(product, output + o, *place.sums_of(output + o, row));
  }
  if (product.bias != nullptr) {
    for (int o = 0; o < kCount; ++o) line[o] += Kind::bias(product, output + o);
  }
  store_line(product, row, output, line, kCount);
}

template <class Kind>
const char* weight_of(const RowProduct& product, int64_t output) {
  return static_cast<const char*>(product.weight) +
         output * product.in * static_cast<int64_t>(sizeof(typename Kind::Value));
}

/// Outputs from place.output on, for rows whose sums stay in registers.
template <class Kind, int kRows, int kOutputs>
void multiply_outputs(Place& place) {
  alignas(64) float sums[kRows * kTile] = {};
  place.sums = sums;
  place.next = weight_of<Kind>(place.product, place.output + kTile);
  for (place.begin = 0; place.begin < place.product.in; place.begin += kRowBlock) {
    add_block<Kind, kRows, kOutputs, true>(place, place.first_row, place.output);
  }
  for (int64_t row = place.first_row; row < place.first_row + kRows; ++row) {
    finish<Kind, kOutputs>(place, row, place.output);
  }
  place.output += kOutputs;
}

/// Up to kRegisterRows rows: W is read in order.
template <class Kind, int kRows>
void multiply_few_rows(Place place) {
  while (place.output + kTile <= place.end) multiply_outputs<Kind, kRows, kTile>(place);
  while (place.output < place.end) multiply_outputs<Kind, kRows, 1>(place);
}

/// More rows, which share a panel's weights.
template <class Kind>
void multiply_panel(Place place) {
  const RowProduct& product = place.product;
  alignas(64) float sums[kPanel * kMaxRows];
  const int64_t rows = place.last_row - place.first_row;
  for (int64_t o = 0; o < place.end - place.output; o += kTile) {
    for (int64_t i = 0; i < rows * kTile; ++i) sums[o * kMaxRows + i] = 0.0f;
  }
  place.sums = sums;
  place.next = weight_of<Kind>(product, place.end);
  for (place.begin = 0; place.begin < product.in; place.begin += kRowBlock) {
    for (int64_t row = place.first_row; row < place.last_row; row += kRegisterRows) {
      with_rows(place.last_row - row, [&]<int kRows>() { add_outputs<Kind, kRows>(place, row); });
    }
  }
  for (int64_t row = place.first_row; row < place.last_row; ++row) {
    if (place.end - place.output == kPanel) {
      finish<Kind, kPanel>(place, row, place.output);
      continue;
    }
    for (int64_t o = place.output; o < place.end; ++o) finish<Kind, 1>(place, row, o);
  }
}

template <class Kind>
void multiply_along_inputs(const RowProduct& product, const PackedRows& x, int64_t begin,
                           int64_t end) {
  for (int64_t first = 0; first < product.rows; first += kMaxRows) {
    const int64_t last = least(first + kMaxRows, product.rows);
    if (last - first <= kRegisterRows) {
      with_rows(last - first, [&]<int kRows>() {
        multiply_few_rows<Kind, kRows>({product, x, first, last, begin, end});
      });
      continue;
    }
    for (int64_t output = begin; output < end; output += kPanel) {
      multiply_panel<Kind>({product, x, first, last, output, least(output + kPanel, end)});
    }
  }
}

template <class Kind>
void pack_as(const RowProduct& product, const PackedRows& to, int64_t begin, int64_t end) {
  const auto* x = static_cast<const typename Kind::Value*>(product.x);
  for (int64_t row = begin; row < end; ++row) {
    Kind::pack(x + row * product.in, product.in, to.stride,
               static_cast<typename Kind::Packed*>(to.values) + row * to.stride);
  }
}

inline bool is_narrow(const RowProduct& product) { return product.rows <= 2; }

inline void pack_bfloat16(const RowProduct& product, const PackedRows& to, int64_t begin,
                          int64_t end) {
  is_narrow(product) ? pack_as<NarrowBfloat16>(product, to, begin, end)
                     : pack_as<WideBfloat16>(product, to, begin, end);
}

inline void multiply_bfloat16(const RowProduct& product, const PackedRows& x, int64_t begin,
                              int64_t end) {
  is_narrow(product) ? multiply_along_inputs<NarrowBfloat16>(product, x, begin, end)
                     : multiply_along_inputs<WideBfloat16>(product, x, begin, end);
}

inline void pack_int8(const RowProduct& product, const PackedRows& to, int64_t begin, int64_t end) {
  pack_integers(product, to, kRowBlock, begin, end);
}

}  // namespace
}  // namespace predgen
