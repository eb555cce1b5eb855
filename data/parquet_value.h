#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>

#include "core/json.h"

namespace predgen::data {

/// Decodes cells of Arrow columns to JSON, whatever they are stored as: dictionaries, lists of a
/// fixed size, large types. Used by one thread.
class ParquetValues {
 public:
  /// A dictionary or a run of equal cells may decode to far more than a file holds: no more than
  /// `most_bytes` in all.
  explicit ParquetValues(int64_t most_bytes) : bytes_left_(most_bytes) {}

  /// Numbers that are not finite are null, ill-formed UTF-8 is U+FFFD, and types that JSON lacks
  /// are text. TooMuch when the values of all calls exceed `most_bytes`.
  Json at(const arrow::Array& array, int64_t index);

  /// Whether a text since the last call was no well-formed UTF-8.
  bool take_broken_text();

  struct TooMuch {};

 private:
  Json list(const arrow::Array& values, int64_t begin, int64_t end);
  Json text(std::string_view bytes);
  void pay(int64_t bytes);

  int64_t bytes_left_;
  bool has_broken_text_ = false;
};

}  // namespace predgen::data
