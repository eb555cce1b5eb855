#include "cli/terminal/line_editor.h"

#include <utility>

#include "cli/terminal/display_text.h"
#include "text/utf8.h"

namespace predgen::cli {
namespace {

bool is_space_at(std::string_view text, size_t at) { return is_space(character_at(text, at).code); }

}  // namespace

void LineBuffer::set(std::string text) {
  text_ = std::move(text);
  cursor_ = text_.size();
}

void LineBuffer::insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

void LineBuffer::move_left() {
  if (cursor_ > 0) cursor_ = cluster_before(text_, cursor_);
}

void LineBuffer::move_right() {
  if (cursor_ < text_.size()) cursor_ += cluster_at(text_, cursor_).length;
}

size_t LineBuffer::word_left() const {
  size_t at = cursor_;
  while (at > 0 && is_space_at(text_, character_before(text_, at)))
    at = character_before(text_, at);
  while (at > 0 && !is_space_at(text_, character_before(text_, at))) {
    at = character_before(text_, at);
  }
  return at;
}

void LineBuffer::move_word_left() { cursor_ = word_left(); }

void LineBuffer::move_word_right() {
  cursor_ = skip_space(text_, cursor_);
  while (cursor_ < text_.size() && !is_space_at(text_, cursor_)) move_right();
}

void LineBuffer::erase(size_t begin, size_t end) {
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

void LineBuffer::erase_left() {
  if (cursor_ > 0) erase(cluster_before(text_, cursor_), cursor_);
}

void LineBuffer::erase_right() {
  if (cursor_ < text_.size()) erase(cursor_, cursor_ + cluster_at(text_, cursor_).length);
}

void LineBuffer::erase_word_left() { erase(word_left(), cursor_); }
void LineBuffer::erase_to_start() { erase(0, cursor_); }
void LineBuffer::erase_to_end() { erase(cursor_, text_.size()); }

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
