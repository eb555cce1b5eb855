// A group of 4- or 8-bit weights, packed as in GroupedMatrix: lanes are outputs.
#pragma once

#include "kernels/row_kernels_pack.h"

namespace predgen {
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
}  // namespace predgen
