// Products with 4- and 8-bit weights in groups.
#pragma once

#include "kernels/row_kernels_pack.h"

namespace predgen {

// A group of 4- or 8-bit weights, packed as in GroupedMatrix: lanes are outputs.
namespace {

constexpr int64_t kGroupAhead = 4096;              // bytes by which weights are prefetched
constexpr int64_t kInputStep = 8;                  // inputs processed at a time: four pairs
constexpr int kParts = kGroupPanel / Isa::kLanes;  // vectors of a panel

/// How a panel's words hold its weights: as codes.
template <int kBits, bool kHasOffsets>
struct Grouped {
  static constexpr int kPlanes = 1;             // numbers that a weight is the sum of
  static constexpr int kPairs = 16 / kBits;     // of inputs in a word
  static constexpr int64_t kUnit = 2 * kPairs;  // inputs of a word
  static constexpr int kWords = kInputStep / kUnit;
  static constexpr int kCentre = 1 << (kBits - 1);  // the code of a weight equal to the offset
  static constexpr int64_t kScales = kHasOffsets ? 2 : 1;
  static constexpr bool kOffsets = kHasOffsets;

  Grouped() = default;
  explicit Grouped(const RowProduct&) {}
  /// Inputs 2k and 2k + 1 of a step, from each of its words.
  Isa::Ints pair(const Isa::Ints* words, int k, int) const {
    return Isa::pairs<kBits>(words[k / kPairs], k % kPairs);
  }
};

/// As codes of a CodeBook of kBytes: the first plane is their high bytes, the second their low
/// ones, which count 1/256.
template <int kBytes>
struct LookedUp : Grouped<4, false> {
  static constexpr int kPlanes = kBytes;
  static constexpr int kCentre = 128;

  LookedUp() = default;
  explicit LookedUp(const RowProduct& product) : unit(product.book->unit) {
    tables[0] = Isa::load_table(product.book->high);
    if (kBytes == 2) tables[kBytes - 1] = Isa::load_table(product.book->low);
  }
  Isa::Ints pair(const Isa::Ints* words, int k, int plane) const {
    return Isa::look_up(tables[plane], words[0], k);
  }

  Isa::Table tables[kBytes];
  float unit;
};

/// Calls `work`, a template lambda, with how the matrix's words hold its weights.
template <int kBits, class Work>
void with_kind(const RowProduct& product, const Work& work) {
  if constexpr (kBits == 4) {
    if (product.book != nullptr) {
      return product.book->num_bytes == 1 ? work.template operator()<LookedUp<1>>()
                                          : work.template operator()<LookedUp<2>>();
    }
  }
  return product.has_offsets ? work.template operator()<Grouped<kBits, true>>()
                             : work.template operator()<Grouped<kBits, false>>();
}

/// The vectors of a panel's pairs or sums: of a plane after the other.
template <class Kind>
constexpr int kVectors = Kind::kPlanes* kParts;

/// The weights, or their sums with an x whose values have the sum `weight`, without scale and
/// offset.
template <class Kind>
Isa::Floats joined(const Isa::Ints* planes, int32_t weight) {
  auto value = Isa::to_floats(Isa::minus(planes[0], Kind::kCentre * weight));
  if constexpr (Kind::kPlanes == 2) {
    const auto low = Isa::to_floats(Isa::minus(planes[kParts], Kind::kCentre * weight));
    value = value + low * Isa::all(0x1p-8f);  // a product that is exact
  }
  return value;
}

/// Group `index` of a panel.
template <class Kind>
struct Group {
  const uint32_t* words;  // [group/kUnit,kGroupPanel]
  int64_t index;
  Kind kind;
  Isa::Floats scales[kParts], offsets[kParts];

  Group() = default;
  Group(const RowProduct& product, int64_t panel, int64_t of_index)
      : index(of_index), kind(product) {
    const int64_t place = (panel * (product.in / product.group) + index) * kGroupPanel;
    words = static_cast<const uint32_t*>(product.weight) + place * (product.group / Kind::kUnit);
    const uint16_t* from = product.scales + place * Kind::kScales;
    for (int part = 0; part < kParts; ++part) {
      scales[part] = Isa::load_halves(from + part * Isa::kLanes);
      if constexpr (Kind::kPlanes == 2) scales[part] = scales[part] * Isa::all(kind.unit);
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

  /// Inputs 2k and 2k + 1 of a step, from words of load(), into this part of `to` [kVectors].
  void load_pairs(const Isa::Ints (&from)[Kind::kWords], int k, int part, Isa::Ints* to) const {
#pragma GCC unroll 2
    for (int plane = 0; plane < Kind::kPlanes; ++plane) {
      to[plane * kParts + part] = kind.pair(from, k, plane);
    }
  }

  /// A row's sums of the group, to be scaled and added to `to` [kGroupPanel].
  void add_totals(const PackedRows& x, int64_t row, const Isa::Ints* totals, float* to) const {
    const int64_t place = index * x.scale_stride + row;
    const float scale = x.scales[place];
    const float sum = scale * static_cast<float>(x.sums[place]);
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part, to += Isa::kLanes) {
      auto value = Isa::load_floats(to) +
                   joined<Kind>(totals + part, x.sums[place]) * (Isa::all(scale) * scales[part]);
      if (Kind::kOffsets) value = value + Isa::all(sum) * offsets[part];
      Isa::store(to, value);
    }
  }
};

}  // namespace

namespace {

constexpr int64_t kGroupRows = 64;  // rows whose sums stay in the L1 cache

/// A group for rows from `row` on, added to `sums` [kRows,kGroupPanel]. `sends`: also prefetches
/// later weights.
template <class Kind, int kRows>
void add_group(const RowProduct& product, const PackedRows& x, const Group<Kind>& group,
               int64_t row, bool sends, float* sums) {
  const auto* values =
      static_cast<const int16_t*>(x.values) + row * x.stride + group.index * product.group;
  // Few rows use several partial sums each, so that additions need not wait for each other.
  constexpr int kMost = Isa::kGroupSums / (kRows * kVectors<Kind>);
  constexpr int kSums = kMost >= 4 ? 4 : kMost >= 2 ? 2 : 1;
  Isa::Ints totals[kSums][kRows][kVectors<Kind>];
#pragma GCC unroll 4
  for (int s = 0; s < kSums; ++s) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors<Kind>; ++v) totals[s][r][v] = Isa::zero();
    }
  }
  for (int64_t i = 0; i < product.group; i += kInputStep) {
    if (sends) group.send_for_later(i);
    Isa::Ints words[kParts][Kind::kWords];
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part) group.load(i, part, words[part]);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      Isa::Ints pairs[kVectors<Kind>];
#pragma GCC unroll 8
      for (int part = 0; part < kParts; ++part) group.load_pairs(words[part], k, part, pairs);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Isa::Ints pair = Isa::all_pairs(values + r * x.stride + i + 2 * k);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors<Kind>; ++v) {
          Isa::Ints& total = totals[k % kSums][r][v];
          total = Isa::multiply_add(total, pairs[v], pair);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int s = 1; s < kSums; ++s) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors<Kind>; ++v) {
        totals[0][r][v] = Isa::plus(totals[0][r][v], totals[s][r][v]);
      }
    }
    group.add_totals(x, row + r, totals[0][r], sums + r * kGroupPanel);
  }
}

/// Groups of adjacent panels, for enough rows (Isa::kManyGroupRows) to pay off.
template <class Kind>
struct UnpackedGroups {
  static constexpr int kPanels = Isa::kGroupPanels, kAll = kPanels * kVectors<Kind>;
  Group<Kind> groups[kPanels];
  Isa::Ints pairs[kMaxGroup / 2][kAll];

  UnpackedGroups(const RowProduct& product, int64_t panel, int64_t index) {
    for (int p = 0; p < kPanels; ++p) {
      groups[p] = Group<Kind>(product, panel + p, index);
      for (int64_t i = 0; i < product.group; i += kInputStep) {
        groups[p].send_for_later(i);
        for (int part = 0; part < kParts; ++part) {
          Isa::Ints words[Kind::kWords];
          groups[p].load(i, part, words);
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) {
            groups[p].load_pairs(words, k, part, pairs[i / 2 + k] + p * kVectors<Kind>);
          }
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
    Isa::Ints totals[kRows][kAll];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kAll; ++v) totals[r][v] = Isa::zero();
    }
    for (int64_t i = 0; i < product.group / 2; ++i) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Isa::Ints pair = Isa::all_pairs(values + r * x.stride + 2 * i);
#pragma GCC unroll 8
        for (int v = 0; v < kAll; ++v) {
          totals[r][v] = Isa::multiply_add(totals[r][v], pairs[i][v], pair);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        groups[p].add_totals(x, row + r, totals[r] + p * kVectors<Kind>,
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
    constexpr int kRows = Isa::kGroupRegisterRows / Kind::kPlanes;
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
    // Fewer sums would wait for each other.
    constexpr int kRows = Isa::kGroupRegisterRows / Kind::kPlanes;
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
  with_kind<kBits>(product, [&]<class Kind>() { multiply_panels<Kind>(product, x, begin, end); });
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
