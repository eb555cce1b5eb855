#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace predgen::cli {

/// What stands at the bottom of a terminal and changes: rows, and where the cursor is in them.
struct Frame {
  struct Row {
    std::string bytes;  // text and colours, no line break
    int width = 0;      // columns that it takes
  };
  std::vector<Row> rows;  // not more than the terminal has
  size_t cursor_row = 0;
  std::string before_cursor = {};  // bytes of that row in front of the cursor
  int cursor_column = 0;
};

/// Makes the bytes that change a terminal from one frame to the next, to be written at once.
class LiveRegion {
 public:
  /// Erases the frame shown before, prints `scrolled` (whole lines, each with its \n) as ordinary
  /// text that scrolls away, and shows `frame` below it. `columns`: of the terminal, now. When they
  /// became fewer, terminals are taken to break the rows on the screen anew, as most do.
  std::string draw(std::string_view scrolled, const Frame& frame, int columns);

 private:
  /// Rows from the top of the region down to the cursor, and of the whole.
  size_t rows_above_cursor(int columns) const;
  size_t num_rows(int columns) const;

  std::vector<int> widths_;  // of the rows shown
  size_t cursor_row_ = 0;
  int cursor_column_ = 0;
};

}  // namespace predgen::cli
