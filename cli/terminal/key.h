#pragma once

#include <string>

namespace predgen::cli {

/// What a person did at the keyboard.
struct Key {
  enum class Kind {
    kText,  // typed or pasted: `text`, well-formed UTF-8 whose only control characters are \n and
            // \t
    kEnter,
    kBackspace,
    kDelete,
    kLeft,
    kRight,
    kWordLeft,
    kWordRight,
    kHome,
    kEnd,
    kUp,
    kDown,
    kKillToStart,
    kKillToEnd,
    kKillWord,
    kCancel,   // Ctrl-C
    kLeave,    // Ctrl-D: on a line that is not empty it deletes, as kDelete
    kSuspend,  // Ctrl-Z
  };
  Kind kind = Kind::kText;
  std::string text = {};

  bool operator==(const Key&) const = default;
};

}  // namespace predgen::cli
