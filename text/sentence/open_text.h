#pragma once

#include <cstddef>
#include <string_view>

#include "core/text.h"

namespace predgen {

/// Whether a sentence ends at a place; kWait: the text does not yet say.
enum class Verdict { kEnd, kContinue, kWait };

/// A text that may still grow.
struct OpenText {
  std::string_view bytes;
  bool complete = false;  // nothing that matters will follow

  size_t size() const { return bytes.size(); }
  char operator[](size_t i) const { return bytes[i]; }
  Verdict at_end() const { return complete ? Verdict::kEnd : Verdict::kWait; }

  /// No more than 256 bytes after byte `at`, cut between characters: what is farther decides
  /// nothing. So a place costs the same however long the text is.
  OpenText near(size_t at) const {
    size_t end = at + 256;
    if (end >= bytes.size()) return *this;
    while (end > at && !begins_character(bytes[end])) --end;
    return {bytes.substr(0, end), true};
  }
};

}  // namespace predgen
