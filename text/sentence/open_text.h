#pragma once

#include <cstddef>
#include <string_view>

#include "core/text.h"

namespace predgen {

/// Whether a sentence ends at a place; kWait: the text so far does not tell.
enum class Verdict { kEnd, kContinue, kWait };

/// A text that may still grow.
struct OpenText {
  std::string_view bytes;
  bool complete = false;  // nothing that matters will follow

  size_t size() const { return bytes.size(); }
  char operator[](size_t i) const { return bytes[i]; }
  Verdict at_end() const { return complete ? Verdict::kEnd : Verdict::kWait; }

  /// At most 256 bytes after byte `at`, cut between characters: text further on is ignored, so the
  /// cost per place does not depend on the length of the text.
  OpenText near(size_t at) const {
    size_t end = at + 256;
    if (end >= bytes.size()) return *this;
    while (end > at && !begins_character(bytes[end])) --end;
    return {bytes.substr(0, end), true};
  }
};

}  // namespace predgen
