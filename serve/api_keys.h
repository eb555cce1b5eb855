#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen::serve {

/// Who may ask. Only hashes of the keys are known, and how long a comparison takes does not depend
/// on what is compared. Immutable.
class ApiKeys {
 public:
  /// SHA-256 in hexadecimal digits; none: everybody may.
  explicit ApiKeys(std::vector<std::string> sha256) : sha256_(std::move(sha256)) {}

  bool are_needed() const { return !sha256_.empty(); }
  /// `authorization`: the header's value, "Bearer KEY". Returns the key's hash; empty: none is
  /// needed. ApiError 401 without a valid key.
  std::string check(std::string_view authorization) const;

 private:
  std::vector<std::string> sha256_;
};

}  // namespace predgen::serve
