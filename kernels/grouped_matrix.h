#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "kernels/code_book.h"
#include "kernels/row_product_cpu.h"

namespace predgen {

/// A matrix [out,in] in 4 or 8 bits for CPUs: W = (q - 2^(bits - 1)) * scale + offset, where a
/// group of inputs of a row shares scale and offset; with a book, in 4 bits,
/// W = book.value(q) * scale. 16 adjacent outputs form a panel; the last panel may have fewer.
struct GroupedMatrix {
  int bits = 4;
  int64_t out = 0;
  at::Tensor words;   // of pack_words()
  at::Tensor scales;  // of pack_scales()
  std::optional<CodeBook> book = std::nullopt;

  /// Number of inputs per word.
  int64_t unit() const { return 32 / bits; }
  int64_t in() const { return words.size(1) * unit(); }
  int64_t group() const { return in() / scales.size(1); }
  bool has_offsets() const { return scales.size(2) == 2; }
  /// Error unless words and scales have these forms and consistent sizes.
  void check() const;

  RowWeights weights() const {
    return bits == 4 ? RowWeights::kGroupsOf4Bits : RowWeights::kGroupsOf8Bits;
  }
  /// The product without x and y. Borrows the tensors and the book.
  RowProduct product() const;
  /// Panels [begin,end) as a matrix of their own; shares memory.
  GroupedMatrix panels(int64_t begin, int64_t end) const;

  /// W in bfloat16.
  at::Tensor widen() const;
  /// One row of W, to [in].
  void widen_row(int64_t row, float* to) const;
};

/// Packs one row, `q` [in] in [0,2^bits), `in` a multiple of 8. `to`: the row's first word; each
/// further one lies 16 words on. A word's inputs 2k and 2k + 1 are at bits `bits` * k and
/// 16 + `bits` * k.
void pack_row(const uint8_t* q, int64_t in, int bits, int32_t* to);
/// `q` uint8 [rows,in] in [0,2^bits), `in` a multiple of 8, as int32 [panels,in/unit,16], each row
/// as by pack_row().
at::Tensor pack_words(const at::Tensor& q, int bits);
/// `scales` and `offsets` of one floating type [rows,groups], `offsets` undefined if there are
/// none, as float16 [panels,groups,1 or 2,16], scales before offsets.
at::Tensor pack_scales(const at::Tensor& scales, const at::Tensor& offsets);

}  // namespace predgen
