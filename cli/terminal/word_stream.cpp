#include "cli/terminal/word_stream.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/terminal/display_text.h"

namespace predgen::cli {
namespace {

/// Bytes up to the end of the last word that is whole. Wide characters, as Chinese has, stand
/// alone.
size_t whole_words(std::string_view text, size_t from) {
  size_t end = from;
  for (size_t at = from; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    at += cluster.length;
    // The last one may get an accent yet.
    if (text[at - cluster.length] == ' ' || text[at - cluster.length] == '\n') end = at;
    if (cluster.width == 2 && at < text.size()) end = at;
  }
  return end;
}

}  // namespace

std::string WordStream::push(std::string_view text) {
  if (columns_ == 0) return std::string(text);
  text_ += printable(text);
  return shown_to(whole_words(text_, num_shown_));
}

std::string WordStream::finish() {
  std::string rest = shown_to(text_.size());
  text_.clear();
  num_shown_ = 0;
  num_rows_ = 1;
  return rest;
}

std::string WordStream::shown_to(size_t limit) {
  std::string shown;
  const std::vector<TextRow> rows =
      wrap_words(std::string_view(text_).substr(0, limit), std::max(columns_, 8));
  for (size_t i = num_rows_ - 1; i < rows.size(); ++i) {
    if (i >= num_rows_) shown += '\n';
    const size_t begin = std::max(rows[i].begin, num_shown_);
    if (begin < rows[i].end) shown += text_.substr(begin, rows[i].end - begin);
  }
  num_rows_ = rows.size();
  num_shown_ = limit;
  return shown;
}

int terminal_columns(int fd) {
  winsize size{};
  if (isatty(fd) == 0) return 0;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace predgen::cli
