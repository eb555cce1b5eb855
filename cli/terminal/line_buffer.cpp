#include "cli/terminal/line_buffer.h"

#include <utility>

#include "cli/terminal/display_text.h"
#include "text/characters.h"

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

}  // namespace predgen::cli
