#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace predgen::cli {

/// Of a terminal, in characters.
struct ScreenSize {
  int columns = 80, rows = 24;

  bool operator==(const ScreenSize&) const = default;
};

/// The changing bottom of a terminal: rows, and where the cursor is in them.
struct Frame {
  struct Row {
    std::string bytes;  // text and colours, no line break
    int width = 0;      // columns that it takes
  };
  std::vector<Row> rows;  // at most as many as the terminal has
  size_t cursor_row = 0;
  std::string before_cursor = {};  // bytes of that row before the cursor
  int cursor_column = 0;
};

/// Makes the bytes that take a terminal from one frame to the next, to be written at once.
class LiveRegion {
 public:
  /// Erases the frame shown before, prints `scrolled` (whole lines, each with its \n) as ordinary
  /// text that scrolls away, and shows `frame` below it. `columns`: of the terminal, now. If there
  /// are fewer than before, the terminal is assumed to rewrap rows on the screen, as most do.
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
