#include "cli/terminal/line_editor.h"

#include <utility>

namespace predgen::cli {

bool LineEditor::press(const Key& key) {
  const std::string text = buffer_.text();
  const size_t cursor = buffer_.cursor();
  switch (key.kind) {
    case Key::Kind::kText:
      buffer_.insert(key.text);
      break;
    case Key::Kind::kBackspace:
      buffer_.erase_left();
      break;
    case Key::Kind::kDelete:
    case Key::Kind::kLeave:
      buffer_.erase_right();
      break;
    case Key::Kind::kLeft:
      buffer_.move_left();
      break;
    case Key::Kind::kRight:
      buffer_.move_right();
      break;
    case Key::Kind::kWordLeft:
      buffer_.move_word_left();
      break;
    case Key::Kind::kWordRight:
      buffer_.move_word_right();
      break;
    case Key::Kind::kHome:
      buffer_.move_to_start();
      break;
    case Key::Kind::kEnd:
      buffer_.move_to_end();
      break;
    case Key::Kind::kUp:
      recall(-1);
      break;
    case Key::Kind::kDown:
      recall(+1);
      break;
    case Key::Kind::kKillToStart:
      buffer_.erase_to_start();
      break;
    case Key::Kind::kKillToEnd:
      buffer_.erase_to_end();
      break;
    case Key::Kind::kKillWord:
      buffer_.erase_word_left();
      break;
    case Key::Kind::kEnter:
    case Key::Kind::kCancel:
    case Key::Kind::kSuspend:
      return false;
  }
  return buffer_.cursor() != cursor || buffer_.text() != text;
}

std::string LineEditor::send() {
  std::string line = buffer_.text();
  if (sent_.empty() || sent_.back() != line) sent_.push_back(line);
  clear();
  return line;
}

void LineEditor::set(std::string line) {
  buffer_.set(std::move(line));
  shown_ = sent_.size();
}

void LineEditor::recall(int direction) {
  if (direction < 0 ? shown_ == 0 : shown_ == sent_.size()) return;
  if (shown_ == sent_.size()) unsent_ = buffer_.text();
  shown_ += direction < 0 ? size_t(-1) : size_t(1);
  buffer_.set(shown_ == sent_.size() ? unsent_ : sent_[shown_]);
}

}  // namespace predgen::cli
