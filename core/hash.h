#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace predgen {

/// XXH3-128 of everything given, for content hashes in manifests; not cryptographic.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  /// Length-prefixed, so that ("ab","c") and ("a","bc") differ.
  Hasher& add(std::string_view bytes);
  /// Adds the file's contents like add(). UserError if it cannot be read.
  Hasher& add_file(const std::filesystem::path& file);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 (FIPS 180-4) in lower-case hexadecimal digits: for keys that are stored only as hashes.
std::string sha256_hex(std::string_view bytes);

}  // namespace predgen
