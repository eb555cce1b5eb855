#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace predgen {

/// What may follow the point of an abbreviation.
enum class PointUse {
  kGoesOn,        // never ends a sentence: Dr., e.g.
  kBeforeNumber,  // an abbreviation only before a number: No. 5
  kMayEnd,        // ends it if the next word begins a sentence: etc.
};

/// An entry with a lower-case first letter also matches the capitalised form.
struct Abbreviation {
  std::string_view written, spoken;
  PointUse use = PointUse::kGoesOn;

  bool is(std::string_view text) const;
};

/// Abbreviations of a language by the first part of its code: en, de, es, fr, it; else none.
std::span<const Abbreviation> abbreviations_of(std::string_view language);

/// The use of the point at the end of `text` in any of these languages; the lowest value if they
/// differ. None: `text` does not end with an abbreviation.
std::optional<PointUse> point_use(std::string_view text);

}  // namespace predgen
