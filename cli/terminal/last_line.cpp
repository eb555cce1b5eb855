#include "cli/terminal/last_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/terminal/display_text.h"
#include "core/text.h"

namespace predgen::cli {

int line_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 12;
  return (known ? size.ws_col : 80) - 4;
}

std::string last_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return std::string(last_bytes(text, static_cast<size_t>(line_width())));
}

namespace {

constexpr std::string_view kHeardMark = "> ", kDraftMark = "  ~ ";
constexpr int kShortestDraft = 8;  // columns

int text_columns(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    width += cluster.width;
    at += cluster.length;
  }
  return width;
}

std::string_view first_columns(std::string_view text, int width) {
  size_t at = 0;
  while (at < text.size()) {
    const Cluster cluster = cluster_at(text, at);
    width -= cluster.width;
    if (width < 0) break;
    at += cluster.length;
  }
  return text.substr(0, at);
}

std::string_view last_columns(std::string_view text, int width) {
  size_t at = text.size();
  while (at > 0) {
    const size_t before = cluster_before(text, at);
    width -= cluster_at(text, before).width;
    if (width < 0) break;
    at = before;
  }
  return text.substr(std::min(text.find_first_not_of(' ', at), text.size()));
}

}  // namespace

std::string heard_and_draft(std::string_view heard, std::string_view draft, int width) {
  const std::string words = on_one_line(heard), answer = on_one_line(draft);
  int room = width - static_cast<int>(kHeardMark.size());
  std::string line(kHeardMark);
  line += last_columns(words, room);
  room -= text_columns(words) + static_cast<int>(kDraftMark.size());
  if (answer.empty() || room < kShortestDraft) return line;
  line += kDraftMark;
  return line += first_columns(answer, room);
}

}  // namespace predgen::cli
