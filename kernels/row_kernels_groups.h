// 4- and 8-bit weights in groups, packed as in GroupedMatrix: lanes are outputs.
#pragma once

#include "kernels/row_kernels_pack.h"

namespace predgen {
namespace {

constexpr int64_t kGroupRows = 64;                 // rows whose sums stay in the L1 cache
constexpr int64_t kGroupAhead = 4096;              // bytes by which weights are prefetched
constexpr int64_t kInputStep = 8;                  // inputs processed at a time: four pairs
constexpr int kParts = kGroupPanel / Isa::kLanes;  // vectors of a panel

/// How a panel's words hold its weights.
template <int kBits, bool kHasOffsets>
struct Grouped {
  static constexpr int kPairs = 16 / kBits;     // of inputs in a word
  static constexpr int64_t kUnit = 2 * kPairs;  // inputs of a word
  static constexpr int kWords = kInputStep / kUnit;
  static constexpr int kCentre = 1 << (kBits - 1);  // the code of a weight equal to the offset
  static constexpr int64_t kScales = kHasOffsets ? 2 : 1;
  static constexpr bool kOffsets = kHasOffsets;

  /// Inputs 2k and 2k + 1 of a step, from each of its words.
  static Isa::Ints pair(const Isa::Ints* words, int k) {
    return Isa::pairs<kBits>(words[k / kPairs], k % kPairs);
  }
};

/// Group `index` of a panel.
template <class Kind>
struct Group {
  const uint32_t* words;  // [group/kUnit,kGroupPanel]
  int64_t index;
  Isa::Floats scales[kParts], offsets[kParts];

  Group() = default;
  Group(const RowProduct& product, int64_t panel, int64_t of_index) : index(of_index) {
    const int64_t place = (panel * (product.in / product.group) + index) * kGroupPanel;
    words = static_cast<const uint32_t*>(product.weight) + place * (product.group / Kind::kUnit);
    const uint16_t* from = product.scales + place * Kind::kScales;
    for (int part = 0; part < kParts; ++part) {
      scales[part] = Isa::load_halves(from + part * Isa::kLanes);
      if (Kind::kOffsets) offsets[part] = Isa::load_halves(from + kGroupPanel + part * Isa::kLanes);
    }
  }

  /// The words of eight inputs from `input` on.
  void load(int64_t input, int part, Isa::Ints (&to)[Kind::kWords]) const {
    const uint32_t* from = words + input / Kind::kUnit * kGroupPanel + part * Isa::kLanes;
#pragma GCC unroll 2
    for (int w = 0; w < Kind::kWords; ++w) to[w] = Isa::load_ints(from + w * kGroupPanel);
  }
  void send_for_later(int64_t input) const {
    const auto* from = reinterpret_cast<const char*>(words + input / Kind::kUnit * kGroupPanel);
#pragma GCC unroll 2
    for (int w = 0; w < Kind::kWords; ++w) {
      __builtin_prefetch(from + kGroupAhead + w * kGroupPanel * 4);
    }
  }

  /// A row's sums of the group, to be scaled and added to `to` [kGroupPanel].
  void add_totals(const PackedRows& x, int64_t row, const Isa::Ints* totals, float* to) const {
    const int64_t place = index * x.scale_stride + row;
    const float scale = x.scales[place];
    const float sum = scale * static_cast<float>(x.sums[place]);
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part, to += Isa::kLanes) {
      const Isa::Ints centred = Isa::minus(totals[part], Kind::kCentre * x.sums[place]);
      auto value =
          Isa::load_floats(to) + Isa::to_floats(centred) * (Isa::all(scale) * scales[part]);
      if (Kind::kOffsets) value = value + Isa::all(sum) * offsets[part];
      Isa::store(to, value);
    }
  }
};

/// A group for rows from `row` on, added to `sums` [kRows,kGroupPanel]. `sends`: also prefetches
/// later weights.
template <class Kind, int kRows>
void add_group(const RowProduct& product, const PackedRows& x, const Group<Kind>& group,
               int64_t row, bool sends, float* sums) {
  const auto* values =
      static_cast<const int16_t*>(x.values) + row * x.stride + group.index * product.group;
  // Few rows use several partial sums each, so that additions need not wait for each other.
  constexpr int kMost = Isa::kGroupSums / (kRows * kParts);
  constexpr int kSums = kMost >= 4 ? 4 : kMost >= 2 ? 2 : 1;
  Isa::Ints totals[kSums][kRows][kParts];
#pragma GCC unroll 4
  for (int s = 0; s < kSums; ++s) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int part = 0; part < kParts; ++part) totals[s][r][part] = Isa::zero();
    }
  }
  for (int64_t i = 0; i < product.group; i += kInputStep) {
    if (sends) group.send_for_later(i);
    Isa::Ints words[kParts][Kind::kWords];
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part) group.load(i, part, words[part]);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      Isa::Ints pairs[kParts];
#pragma GCC unroll 8
      for (int part = 0; part < kParts; ++part) pairs[part] = Kind::pair(words[part], k);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Isa::Ints pair = Isa::all_pairs(values + r * x.stride + i + 2 * k);
#pragma GCC unroll 8
        for (int part = 0; part < kParts; ++part) {
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
      for (int part = 0; part < kParts; ++part) {
        totals[0][r][part] = Isa::plus(totals[0][r][part], totals[s][r][part]);
      }
    }
    group.add_totals(x, row + r, totals[0][r], sums + r * kGroupPanel);
  }
}

/// Groups of adjacent panels, for enough rows (Isa::kManyGroupRows) to pay off.
template <class Kind>
struct UnpackedGroups {
  static constexpr int kPanels = Isa::kGroupPanels, kAllParts = kPanels * kParts;
  Group<Kind> groups[kPanels];
  Isa::Ints pairs[kMaxGroup / 2][kAllParts];

  UnpackedGroups(const RowProduct& product, int64_t panel, int64_t index) {
    for (int p = 0; p < kPanels; ++p) {
      groups[p] = Group<Kind>(product, panel + p, index);
      for (int64_t i = 0; i < product.group; i += kInputStep) {
        groups[p].send_for_later(i);
        for (int part = 0; part < kParts; ++part) {
          Isa::Ints words[Kind::kWords];
          groups[p].load(i, part, words);
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) pairs[i / 2 + k][p * kParts + part] = Kind::pair(words, k);
        }
      }
    }
  }

  /// Like add_group(); the panels' `sums` are `stride` apart.
  template <int kRows>
  void add(const RowProduct& product, const PackedRows& x, int64_t row, float* sums,
           int64_t stride) const {
    const auto* values =
        static_cast<const int16_t*>(x.values) + row * x.stride + groups[0].index * product.group;
    Isa::Ints totals[kRows][kAllParts];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int part = 0; part < kAllParts; ++part) totals[r][part] = Isa::zero();
    }
    for (int64_t i = 0; i < product.group / 2; ++i) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Isa::Ints pair = Isa::all_pairs(values + r * x.stride + 2 * i);
#pragma GCC unroll 8
        for (int part = 0; part < kAllParts; ++part) {
          totals[r][part] = Isa::multiply_add(totals[r][part], pairs[i][part], pair);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        groups[p].add_totals(x, row + r, totals[r] + p * kParts,
                             sums + p * stride + r * kGroupPanel);
      }
    }
  }
};

/// Rows [first,last) of UnpackedGroups::kPanels panels.
template <class Kind>
void add_many_rows(const RowProduct& product, const PackedRows& x, int64_t first, int64_t last,
                   int64_t panel, float* sums, int64_t stride) {
  for (int64_t index = 0; index < product.in / product.group; ++index) {
    const UnpackedGroups<Kind> unpacked(product, panel, index);
    constexpr int kRows = Isa::kGroupRegisterRows;
    int64_t row = first;
    for (; row + kRows <= last; row += kRows) {
      unpacked.template add<kRows>(product, x, row, sums + (row - first) * kGroupPanel, stride);
    }
    for (; row < last; ++row) {
      unpacked.template add<1>(product, x, row, sums + (row - first) * kGroupPanel, stride);
    }
  }
}

template <class Kind>
void add_few_rows(const RowProduct& product, const PackedRows& x, int64_t first, int64_t last,
                  int64_t panel, float* sums) {
  for (int64_t index = 0; index < product.in / product.group; ++index) {
    const Group<Kind> group(product, panel, index);
    constexpr int kRows = Isa::kGroupRegisterRows;  // fewer sums would wait for each other
    int64_t row = first;
    for (; row + kRows <= last; row += kRows) {
      add_group<Kind, kRows>(product, x, group, row, row == first,
                             sums + (row - first) * kGroupPanel);
    }
    for (; row < last; row += kRegisterRows) {
      with_rows(last - row, [&]<int kFew>() {
        add_group<Kind, kFew>(product, x, group, row, row == first,
                              sums + (row - first) * kGroupPanel);
      });
    }
  }
}

/// A panel's sums [rows,kGroupPanel]; the last panel may have fewer outputs.
inline void store_panel(const RowProduct& product, int64_t panel, int64_t first, int64_t last,
                        const float* sums) {
  const int64_t output = panel * kGroupPanel;
  for (int64_t row = first; row < last; ++row, sums += kGroupPanel) {
    if (output + kGroupPanel <= product.out) {
      store_line(product, row, output, sums, kGroupPanel);
    } else {
      store_line(product, row, output, sums, product.out - output);
    }
  }
}

template <class Kind>
void multiply_panels(const RowProduct& product, const PackedRows& x, int64_t begin, int64_t end) {
  constexpr int64_t kPanels = UnpackedGroups<Kind>::kPanels;
  alignas(64) float sums[kPanels * kGroupRows * kGroupPanel];
  for (int64_t first = 0; first < product.rows; first += kGroupRows) {
    const int64_t last = least(first + kGroupRows, product.rows);
    const int64_t size = (last - first) * kGroupPanel;
    const bool are_many = last - first >= Isa::kManyGroupRows;
    for (int64_t panel = begin; panel < end;) {
      const bool are_beside = are_many && panel + kPanels <= end;
      const int64_t count = are_beside ? kPanels : 1;
      for (int64_t i = 0; i < count * size; ++i) sums[i] = 0.0f;
      if (are_beside) {
        add_many_rows<Kind>(product, x, first, last, panel, sums, size);
      } else {
        add_few_rows<Kind>(product, x, first, last, panel, sums);
      }
      for (int64_t p = 0; p < count; ++p) {
        store_panel(product, panel + p, first, last, sums + p * size);
      }
      panel += count;
    }
  }
}

template <int kBits>
void multiply_groups(const RowProduct& product, const PackedRows& x, int64_t begin, int64_t end) {
  product.has_offsets ? multiply_panels<Grouped<kBits, true>>(product, x, begin, end)
                      : multiply_panels<Grouped<kBits, false>>(product, x, begin, end);
}

inline void pack_groups(const RowProduct& product, const PackedRows& to, int64_t begin,
                        int64_t end) {
  switch (product.group) {  // known sizes leave no loop remainders
    case 16:
      return pack_integers<16>(product, to, 16, begin, end);
    case 32:
      return pack_integers<32>(product, to, 32, begin, end);
    default:
      return pack_integers(product, to, product.group, begin, end);
  }
}

}  // namespace
}  // namespace predgen
