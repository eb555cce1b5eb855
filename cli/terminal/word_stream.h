#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace predgen::cli {

/// A text that comes piece by piece, broken at spaces for a terminal. Holds back a word until it is
/// whole.
class WordStream {
 public:
  /// `columns`: of the terminal; 0: there is none, and pieces pass as they are.
  explicit WordStream(int columns) : columns_(columns) {}

  /// What to print after this piece. Nothing in it controls the terminal.
  std::string push(std::string_view text);
  /// The rest; after it another text may begin.
  std::string finish();

 private:
  std::string shown_to(size_t limit);

  const int columns_;
  std::string text_;
  size_t num_shown_ = 0, num_rows_ = 1;  // bytes of the text, rows that were begun
};

/// Columns of the terminal at `fd`, 0 if it is none.
int terminal_columns(int fd);

}  // namespace predgen::cli
