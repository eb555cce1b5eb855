// 4-bit weights in groups, packed as Int4Matrix does it: lanes are outputs.
#pragma once

#include "kernels/row_kernels_pack.h"

namespace predgen {
namespace {

constexpr int64_t kInt4Rows = 64;     // whose sums stay in the first-level cache
constexpr int64_t kInt4Ahead = 4096;  // bytes that weights are sent for ahead of need
constexpr int kInt4Parts = kInt4Panel / Isa::kLanes;  // vectors of a panel

/// Group `index` of a panel.
struct Int4Group {
  const uint32_t* words;  // [group/kInt4Unit,kInt4Panel]: inputs 2k and 2k+1 in bits 4k and 16+4k
  int64_t index;
  Isa::Floats scales[kInt4Parts], offsets[kInt4Parts];
};

/// A row's sums of a group, to be scaled and added to `to` [kInt4Panel].
inline void add_int4_totals(const PackedRows& x, const Int4Group& group, int64_t row,
                            const Isa::Ints* totals, float* to) {
  const int64_t place = group.index * x.scale_stride + row;
  const float scale = x.scales[place];
  const float sum = scale * static_cast<float>(x.sums[place]);
#pragma GCC unroll 8
  for (int part = 0; part < kInt4Parts; ++part, to += Isa::kLanes) {
    const auto centred = Isa::to_floats(Isa::minus(totals[part], 8 * x.sums[place]));
    Isa::store(to, Isa::load_floats(to) + centred * Isa::all(scale) * group.scales[part] +
                       Isa::all(sum) * group.offsets[part]);
  }
}

/// A group for rows from `row` on, added to `sums` [kRows,kInt4Panel].
template <int kRows>
void add_int4_group(const RowProduct& product, const PackedRows& x, const Int4Group& group,
                    int64_t row, float* sums) {
  const auto* values =
      static_cast<const int16_t*>(x.values) + row * x.stride + group.index * product.group;
  // Few rows have several sums for each of theirs, so that one need not wait for the one before.
  constexpr int kMost = Isa::kInt4Sums / (kRows * kInt4Parts);
  constexpr int kSums = kMost >= 4 ? 4 : kMost >= 2 ? 2 : 1;
  Isa::Ints totals[kSums][kRows][kInt4Parts];
#pragma GCC unroll 4
  for (int s = 0; s < kSums; ++s) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int part = 0; part < kInt4Parts; ++part) totals[s][r][part] = Isa::zero();
    }
  }
  for (int64_t i = 0; i < product.group; i += kInt4Unit) {
    const uint32_t* unit = group.words + i / kInt4Unit * kInt4Panel;
    if (kRows == 1) __builtin_prefetch(reinterpret_cast<const char*>(unit) + kInt4Ahead);
    Isa::Ints words[kInt4Parts];
#pragma GCC unroll 8
    for (int part = 0; part < kInt4Parts; ++part) {
      words[part] = Isa::load_ints(unit + part * Isa::kLanes);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      Isa::Ints pairs[kInt4Parts];
#pragma GCC unroll 8
      for (int part = 0; part < kInt4Parts; ++part) {
        pairs[part] = Isa::four_bits(words[part], 4 * k);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Isa::Ints pair = Isa::all_pairs(values + r * x.stride + i + 2 * k);
#pragma GCC unroll 8
        for (int part = 0; part < kInt4Parts; ++part) {
          Isa::Ints& total = totals[k % kSums][r][part];
          total = Isa::multiply_add(total, pairs[part], pair);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int s = 1; s < kSums; ++s) {
#pragma GCC unroll 8
      for (int part = 0; part < kInt4Parts; ++part) {
        totals[0][r][part] = Isa::plus(totals[0][r][part], totals[s][r][part]);
      }
    }
    add_int4_totals(x, group, row + r, totals[0][r], sums + r * kInt4Panel);
  }
}

inline Int4Group int4_group(const RowProduct& product, int64_t panel, int64_t index) {
  const int64_t place = (panel * (product.in / product.group) + index) * kInt4Panel;
  Int4Group group;
  group.words = static_cast<const uint32_t*>(product.weight) + place * (product.group / kInt4Unit);
  group.index = index;
  for (int part = 0; part < kInt4Parts; ++part) {
    Isa::load_pairs(product.scales + 2 * (place + part * Isa::kLanes), group.scales[part],
                    group.offsets[part]);
  }
  return group;
}

/// Groups of panels beside each other, for so many rows (Isa::kInt4ManyRows) that it pays.
struct UnpackedInt4 {
  static constexpr int kPanels = Isa::kInt4Panels, kParts = kPanels * kInt4Parts;
  Int4Group groups[kPanels];
  Isa::Ints pairs[kInt4MaxGroup / 2][kParts];

  UnpackedInt4(const RowProduct& product, int64_t panel, int64_t index) {
    for (int p = 0; p < kPanels; ++p) {
      groups[p] = int4_group(product, panel + p, index);
      for (int64_t unit = 0; unit < product.group / kInt4Unit; ++unit) {
        const uint32_t* from = groups[p].words + unit * kInt4Panel;
        __builtin_prefetch(reinterpret_cast<const char*>(from) + kInt4Ahead);
        for (int part = 0; part < kInt4Parts; ++part) {
          const Isa::Ints words = Isa::load_ints(from + part * Isa::kLanes);
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) {
            pairs[4 * unit + k][p * kInt4Parts + part] = Isa::four_bits(words, 4 * k);
          }
        }
      }
    }
  }

  /// As add_int4_group(); `sums` of the panels are `stride` apart.
  template <int kRows>
  void add(const RowProduct& product, const PackedRows& x, int64_t row, float* sums,
           int64_t stride) const {
    const auto* values =
        static_cast<const int16_t*>(x.values) + row * x.stride + groups[0].index * product.group;
    Isa::Ints totals[kRows][kParts];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int part = 0; part < kParts; ++part) totals[r][part] = Isa::zero();
    }
    for (int64_t i = 0; i < product.group / 2; ++i) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Isa::Ints pair = Isa::all_pairs(values + r * x.stride + 2 * i);
#pragma GCC unroll 8
        for (int part = 0; part < kParts; ++part) {
          totals[r][part] = Isa::multiply_add(totals[r][part], pairs[i][part], pair);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        add_int4_totals(x, groups[p], row + r, totals[r] + p * kInt4Parts,
                        sums + p * stride + r * kInt4Panel);
      }
    }
  }
};

/// Rows [first,last) of UnpackedInt4::kPanels panels.
inline void add_many_int4_rows(const RowProduct& product, const PackedRows& x, int64_t first,
                               int64_t last, int64_t panel, float* sums, int64_t stride) {
  for (int64_t index = 0; index < product.in / product.group; ++index) {
    const UnpackedInt4 unpacked(product, panel, index);
    constexpr int kRows = Isa::kInt4RegisterRows;
    int64_t row = first;
    for (; row + kRows <= last; row += kRows) {
      unpacked.add<kRows>(product, x, row, sums + (row - first) * kInt4Panel, stride);
    }
    for (; row < last; ++row) {
      unpacked.add<1>(product, x, row, sums + (row - first) * kInt4Panel, stride);
    }
  }
}

inline void add_few_int4_rows(const RowProduct& product, const PackedRows& x, int64_t first,
                              int64_t last, int64_t panel, float* sums) {
  for (int64_t index = 0; index < product.in / product.group; ++index) {
    const Int4Group group = int4_group(product, panel, index);
    constexpr int kRows = Isa::kInt4RegisterRows;  // fewer sums than theirs wait for each other
    int64_t row = first;
    for (; row + kRows <= last; row += kRows) {
      add_int4_group<kRows>(product, x, group, row, sums + (row - first) * kInt4Panel);
    }
    for (; row < last; row += kRegisterRows) {
      with_rows(last - row, [&]<int kFew>() {
        add_int4_group<kFew>(product, x, group, row, sums + (row - first) * kInt4Panel);
      });
    }
  }
}

inline void multiply_int4(const RowProduct& product, const PackedRows& x, int64_t begin,
                          int64_t end) {
  constexpr int64_t kPanels = UnpackedInt4::kPanels;
  alignas(64) float sums[kPanels * kInt4Rows * kInt4Panel];
  for (int64_t first = 0; first < product.rows; first += kInt4Rows) {
    const int64_t last = least(first + kInt4Rows, product.rows);
    const int64_t size = (last - first) * kInt4Panel;
    const bool are_many = last - first >= Isa::kInt4ManyRows;
    for (int64_t panel = begin; panel < end;) {
      const bool are_beside = are_many && panel + kPanels <= end;
      const int64_t count = are_beside ? kPanels : 1;
      for (int64_t i = 0; i < count * size; ++i) sums[i] = 0.0f;
      if (are_beside) {
        add_many_int4_rows(product, x, first, last, panel, sums, size);
      } else {
        add_few_int4_rows(product, x, first, last, panel, sums);
      }
      for (int64_t row = first; row < last; ++row) {
        for (int64_t p = 0; p < count; ++p) {
          store_line(product, row, (panel + p) * kInt4Panel,
                     sums + p * size + (row - first) * kInt4Panel, kInt4Panel);
        }
      }
      panel += count;
    }
  }
}

/// A group in bfloat16, to [kInt4Panel,in].
inline void widen_int4_group(const RowProduct& product, const Int4Group& group, uint16_t* to) {
  for (int64_t i = 0; i < product.group; i += kInt4Unit) {
    const uint32_t* unit = group.words + i / kInt4Unit * kInt4Panel;
    Isa::Ints wide[kInt4Unit / 2][kInt4Parts];  // two inputs each
#pragma GCC unroll 8
    for (int part = 0; part < kInt4Parts; ++part) {
      const Isa::Ints words = Isa::load_ints(unit + part * Isa::kLanes);
      const auto value = [&](Isa::Ints q) {
        return Isa::to_floats(Isa::minus(q, 8)) * group.scales[part] + group.offsets[part];
      };
#pragma GCC unroll 4
      for (int k = 0; k < kInt4Unit / 2; ++k) {
        const Isa::Ints pairs = Isa::four_bits(words, 4 * k);
        wide[k][part] = Isa::narrow_pairs(value(Isa::even(pairs)), value(Isa::odd(pairs)));
      }
    }
    uint32_t lanes[kInt4Unit / 2][kInt4Panel];
    __builtin_memcpy(lanes, wide, sizeof(lanes));
    for (int64_t out = 0; out < kInt4Panel; ++out) {
      const uint32_t row[] = {lanes[0][out], lanes[1][out], lanes[2][out], lanes[3][out]};
      __builtin_memcpy(to + out * product.in + group.index * product.group + i, row, sizeof(row));
    }
  }
}

inline void widen_int4(const RowProduct& product, uint16_t* to, int64_t begin, int64_t end) {
  for (int64_t panel = begin; panel < end; ++panel) {
    for (int64_t index = 0; index < product.in / product.group; ++index) {
      widen_int4_group(product, int4_group(product, panel, index),
                       to + panel * kInt4Panel * product.in);
    }
  }
}

inline void pack_int4(const RowProduct& product, const PackedRows& to, int64_t begin, int64_t end) {
  pack_integers(product, to, product.group, begin, end);
}

}  // namespace
}  // namespace predgen
