#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace predgen {

/// The "normalizer" of tokenizer.json: none, NFC, NFD, NFKC, NFKD or a Sequence of these. Any
/// other type is a UserError that names it. Immutable.
class TextNormalizer {
 public:
  TextNormalizer(const Json& normalizer, const std::string& where);
  /// `text` is well-formed UTF-8.
  std::string normalize(std::string_view text) const;

 private:
  void add(const Json& normalizer, const std::string& where);
  std::vector<int> forms_;  // utf8proc options, one per step
};

}  // namespace predgen
