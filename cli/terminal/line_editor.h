#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/key_decoder.h"

namespace predgen::cli {

/// A line of text with a cursor, which is between two characters as a person sees them. May hold
/// line breaks. The text is well-formed UTF-8.
class LineBuffer {
 public:
  const std::string& text() const { return text_; }
  /// The cursor's byte; text().size() after the last character.
  size_t cursor() const { return cursor_; }

  /// Replaces the text, with the cursor at its end.
  void set(std::string text);
  void insert(std::string_view text);

  void move_left();
  void move_right();
  void move_word_left();
  void move_word_right();
  void move_to_start() { cursor_ = 0; }
  void move_to_end() { cursor_ = text_.size(); }

  void erase_left();
  void erase_right();
  void erase_word_left();
  void erase_to_start();
  void erase_to_end();

 private:
  size_t word_left() const;
  void erase(size_t begin, size_t end);

  std::string text_;
  size_t cursor_ = 0;
};

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
