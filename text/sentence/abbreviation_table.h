#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace predgen {

/// What may follow the point of an abbreviation.
enum class PointUse {
  kGoesOn,        // never the end of a sentence: Dr., e.g.
  kBeforeNumber,  // an abbreviation only before a number: No. 5
  kMayEnd,        // the end if the next word begins a sentence: etc.
};

/// One written with a small first letter also stands for the one with a capital.
struct Abbreviation {
  std::string_view written, spoken;
  PointUse use = PointUse::kGoesOn;

  bool is(std::string_view text) const;
};

/// Those of a language by the first part of its code: en, de, es, fr, it. Others have none.
std::span<const Abbreviation> abbreviations_of(std::string_view language);

/// What the point at the end of `text` may be in any of these languages; the least of the answers
/// if they differ. Nothing: no abbreviation stands there.
std::optional<PointUse> point_use(std::string_view text);

}  // namespace predgen
