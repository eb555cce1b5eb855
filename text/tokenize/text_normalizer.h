#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "text/regex.h"

namespace predgen {

/// The "normalizer" of tokenizer.json: none, NFC, NFD, NFKC, NFKD, Prepend, Replace or a Sequence
/// of these. Any other type is a UserError that names it. Immutable.
class TextNormalizer {
 public:
  TextNormalizer(const Json& normalizer, const std::string& where);
  /// `text` is well-formed UTF-8.
  std::string normalize(std::string_view text) const;

 private:
  struct Form {
    int options;  // of utf8proc
    void apply(std::string& text) const;
  };
  struct Prepend {
    std::string prefix;
    void apply(std::string& text) const;
  };
  struct Replace {
    Regex pattern;
    std::string content;
    void apply(std::string& text) const;
  };

  void add(const Json& normalizer, const std::string& where);

  std::vector<std::variant<Form, Prepend, Replace>> steps_;
};

}  // namespace predgen
