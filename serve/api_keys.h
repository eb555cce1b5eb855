#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen::serve {

/// Who may send requests. Only hashes of the keys are known, and comparison time does not depend on
/// what is compared. Immutable.
class ApiKeys {
 public:
  /// SHA-256 in hexadecimal digits; empty: everybody may.
  explicit ApiKeys(std::vector<std::string> sha256) : sha256_(std::move(sha256)) {}

  bool are_needed() const { return !sha256_.empty(); }
  /// `authorization`: the header's value, "Bearer KEY". Returns the key's hash; empty: no key is
  /// needed. ApiError 401 without a valid key.
  std::string check(std::string_view authorization) const;

 private:
  std::vector<std::string> sha256_;
};

}  // namespace predgen::serve
