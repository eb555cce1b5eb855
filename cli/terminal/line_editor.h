#pragma once

#include <string>
#include <vector>

#include "cli/terminal/key.h"
#include "cli/terminal/line_buffer.h"

namespace predgen::cli {

/// A line that keys edit, and the lines that were sent before it. Used by one thread.
class LineEditor {
 public:
  /// False: the key is not for editing (Enter, Ctrl-C ..), or changes nothing.
  bool press(const Key& key);

  const std::string& text() const { return buffer_.text(); }
  size_t cursor() const { return buffer_.cursor(); }

  /// Returns the line, remembers it and begins an empty one.
  std::string send();
  /// Begins with another line, the cursor at its end.
  void set(std::string line);
  void clear() { set(""); }

 private:
  /// Shows an older (-1) or newer (+1) line. What was being typed comes back at the end.
  void recall(int direction);

  LineBuffer buffer_;
  std::vector<std::string> sent_;
  size_t shown_ = 0;    // of sent_; its size: the line being typed
  std::string unsent_;  // that line, while another is shown
};

}  // namespace predgen::cli
