#include "serve/api_keys.h"

#include "core/hash.h"
#include "core/text.h"
#include "serve/api_error.h"

namespace predgen::serve {
namespace {

constexpr std::string_view kScheme = "bearer ";  // in any case

bool equals(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i] ^ other[i]);
  }
  return difference == 0;
}

}  // namespace

std::string ApiKeys::check(std::string_view authorization) const {
  if (sha256_.empty()) return {};
  if (lower_ascii(authorization.substr(0, kScheme.size())) != kScheme) {
    throw ApiError({.status = 401, .code = "missing_api_key"},
                   "an API key is needed, in a header Authorization: Bearer KEY");
  }
  std::string given = sha256_hex(trimmed(authorization.substr(kScheme.size())));
  bool known = false;
  for (const std::string& hash : sha256_) known |= equals(hash, given);
  if (!known) {
    throw ApiError({.status = 401, .code = "invalid_api_key"}, "the API key is not valid");
  }
  return given;
}

}  // namespace predgen::serve
