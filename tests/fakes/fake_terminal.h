#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/display_text.h"

namespace predgen {

/// What a person would see: a terminal's screen and what has scrolled off it. Knows the sequences
/// that a LiveRegion uses, throws at others; colours are left out. Resizing breaks rows anew.
class FakeTerminal {
 public:
  FakeTerminal(int columns, int rows) : columns_(columns), height_(rows), screen_(rows) {}

  void feed(std::string_view bytes) {
    for (size_t i = 0; i < bytes.size();) {
      if (bytes[i] == '\033') {
        i += escape(bytes.substr(i));
      } else if (bytes[i] == '\r') {
        column_ = 0;
        ++i;
      } else if (bytes[i] == '\n') {
        line_feed();
        ++i;
      } else {
        const cli::Cluster cluster = cli::cluster_at(bytes, i);
        put(std::string(bytes.substr(i, cluster.length)), cluster.width);
        i += cluster.length;
      }
    }
  }

  void resize(int columns) {
    std::vector<Row> rows = std::exchange(screen_, std::vector<Row>(height_));
    const int cursor_row = row_, cursor_column = column_;
    columns_ = columns;
    row_ = column_ = 0;
    int last = height_ - 1;
    while (last > cursor_row && rows[last].cells.empty()) --last;
    std::pair<int, int> cursor;
    const size_t scrolled_before = scrolled_.size();
    for (int i = 0; i <= last; ++i) {
      for (size_t at = 0; at <= rows[i].cells.size(); ++at) {
        if (i == cursor_row && static_cast<int>(at) == cursor_column) {
          cursor = {row_ + num_scrolled(scrolled_before), column_};
        }
        if (at < rows[i].cells.size() && !rows[i].cells[at].empty()) {
          const bool wide = at + 1 < rows[i].cells.size() && rows[i].cells[at + 1].empty();
          put(rows[i].cells[at], wide ? 2 : 1);
        }
      }
      if (i < last && !rows[i].wraps) {
        column_ = 0;
        line_feed();
      }
    }
    row_ = std::max(cursor.first - num_scrolled(scrolled_before), 0);
    column_ = cursor.second;
  }

  /// Rows down to the last that is not empty.
  std::vector<std::string> screen() const { return texts(screen_); }
  /// Lines, as they were before they were wrapped.
  std::vector<std::string> scrolled() const { return texts(scrolled_); }
  std::pair<int, int> cursor() const { return {row_, std::min(column_, columns_ - 1)}; }
  bool cursor_shown() const { return cursor_shown_; }

 private:
  struct Row {
    std::vector<std::string> cells;  // a wide character's second one is empty
    bool wraps = false;              // into the next
  };

  int num_scrolled(size_t before) const { return static_cast<int>(scrolled_.size() - before); }

  static std::vector<std::string> texts(const std::vector<Row>& rows) {
    std::vector<std::string> result;
    for (const Row& row : rows) {
      std::string text;
      for (const std::string& cell : row.cells) text += cell;
      result.push_back(text);
    }
    while (!result.empty() && result.back().empty()) result.pop_back();
    return result;
  }

  void line_feed() {
    if (++row_ < height_) return;
    scrolled_.push_back(screen_.front());
    screen_.erase(screen_.begin());
    screen_.emplace_back();
    --row_;
  }

  void put(const std::string& character, int width) {
    if (column_ + width > columns_ && wraps_) {
      screen_[row_].wraps = true;
      column_ = 0;
      line_feed();
    }
    column_ = std::min(column_, columns_ - width);
    std::vector<std::string>& cells = screen_[row_].cells;
    cells.resize(std::max(cells.size(), static_cast<size_t>(column_ + width)), " ");
    cells[column_] = character;
    if (width == 2) cells[column_ + 1].clear();
    column_ += width;
  }

  void erase_row(int row, int from) {
    std::vector<std::string>& cells = screen_[row].cells;
    // As xterm does: after a full row the cursor is still on its last column.
    cells.resize(std::min(cells.size(), static_cast<size_t>(std::min(from, columns_ - 1))));
    screen_[row].wraps = false;
  }

  size_t escape(std::string_view bytes) {
    if (bytes[1] == '7') saved_ = {row_, column_};
    if (bytes[1] == '8') std::tie(row_, column_) = saved_;
    if (bytes[1] == '7' || bytes[1] == '8') return 2;
    const size_t end = bytes.find_first_not_of("[?0123456789;", 1);
    const std::string arguments(bytes.substr(2, end - 2));
    const int count = arguments.empty() || arguments[0] == '?' ? 1 : std::stoi(arguments);
    const bool on = bytes[end] == 'h';
    switch (bytes[end]) {
      case 'A':
        row_ = std::max(row_ - count, 0);
        break;
      case 'B':
        row_ = std::min(row_ + count, height_ - 1);
        break;
      case 'J':
        erase_row(row_, column_);
        for (int row = row_ + 1; row < height_; ++row) screen_[row] = {};
        break;
      case 'K':
        erase_row(row_, column_);
        break;
      case 'm':
        break;
      case 'h':
      case 'l':
        if (arguments == "?7") wraps_ = on;
        if (arguments == "?25") cursor_shown_ = on;
        break;
      default:
        throw std::runtime_error("a sequence that this terminal does not know");
    }
    return end + 1;
  }

  int columns_, height_;
  std::vector<Row> screen_, scrolled_;
  int row_ = 0, column_ = 0;
  std::pair<int, int> saved_;
  bool wraps_ = true, cursor_shown_ = true;
};

}  // namespace predgen
