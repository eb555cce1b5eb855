#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/token_ids.h"

namespace predgen::serve {

/// Cuts a growing text before a stop string: the one that is complete first, however the text is
/// split. Holds back what may be the beginning of one.
class StopStrings {
 public:
  /// None of them is empty.
  explicit StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {}

  /// The text that is now certain to be before every stop string.
  std::string push(std::string_view text);
  /// The text is over: returns what was held back.
  std::string finish();
  /// No text comes after a stop string.
  bool is_found() const { return is_found_; }

 private:
  std::vector<std::string> strings_;
  std::string held_;
  bool is_found_ = false;
};

/// Whether an answer can only be in a loop: it ends in the same tokens, up to 64, four times in a
/// row and at least 48 tokens long. Lists, tables and code repeat themselves, too, but not like
/// that.
bool ends_in_loop(TokenSpan answer);

}  // namespace predgen::serve
