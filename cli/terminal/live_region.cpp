#include "cli/terminal/live_region.h"

#include <fmt/format.h>

#include <algorithm>

namespace predgen::cli {
namespace {

constexpr const char* kHideCursor = "\033[?25l";
constexpr const char* kShowCursor = "\033[?25h";
// A row that is wider than the terminal, or than we think, must not become two.
constexpr const char* kCutRows = "\033[?7l";
constexpr const char* kWrapRows = "\033[?7h";
constexpr const char* kErase = "\033[K";       // to the end of the row
constexpr const char* kEraseBelow = "\033[J";  // and all rows below
constexpr const char* kNextRow = "\033[B";     // without scrolling
constexpr const char* kRemember = "\0337";
constexpr const char* kReturn = "\0338";

std::string up(size_t rows) { return rows > 0 ? fmt::format("\033[{}A", rows) : ""; }

/// Rows that `width` columns take in a terminal of `columns`.
size_t broken(int width, int columns) {
  return static_cast<size_t>(std::max(width - 1, 0) / std::max(columns, 1)) + 1;
}

/// From column 0 of the first row. kEraseBelow alone would do, but at the top of the screen some
/// terminals treat it as clearing the screen, whose content they keep in the scrollback.
std::string erased(size_t num_rows) {
  std::string bytes = kRemember;
  for (size_t i = 1; i < num_rows; ++i) bytes += std::string(kErase) + kNextRow;
  return bytes + (num_rows > 1 ? kEraseBelow : kErase) + kReturn;
}

}  // namespace

size_t LiveRegion::rows_above_cursor(int columns) const {
  size_t rows = broken(cursor_column_, columns) - 1;
  for (size_t i = 0; i < cursor_row_; ++i) rows += broken(widths_[i], columns);
  return rows;
}

size_t LiveRegion::num_rows(int columns) const {
  size_t rows = 0;
  for (const int width : widths_) rows += broken(width, columns);
  return rows;
}

std::string LiveRegion::draw(std::string_view scrolled, const Frame& frame, int columns) {
  std::string bytes = kHideCursor;
  bytes += '\r' + up(rows_above_cursor(columns)) + erased(num_rows(columns));
  for (const char c : scrolled) {
    if (c == '\n') bytes += '\r';
    bytes += c;
  }
  bytes += kCutRows;
  widths_.clear();
  for (size_t i = 0; i < frame.rows.size(); ++i) {
    if (i > 0) bytes += "\r\n";
    bytes += frame.rows[i].bytes;
    widths_.push_back(frame.rows[i].width);
  }
  cursor_row_ = frame.cursor_row;
  cursor_column_ = frame.cursor_column;
  // The beginning of the cursor's row again: then the cursor is right even if this terminal takes a
  // character for wider than we do.
  bytes += '\r' + up(frame.rows.size() - 1 - frame.cursor_row) + frame.before_cursor;
  bytes += kWrapRows;
  return bytes + kShowCursor;
}

}  // namespace predgen::cli
