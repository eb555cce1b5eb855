#include "cli/terminal/display_text.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>

#include "core/text.h"
#include "text/utf8.h"

namespace predgen::cli {
namespace {

constexpr char32_t kJoiner = 0x200D;

bool is_skin_tone(char32_t code) { return code >= 0x1F3FB && code <= 0x1F3FF; }

int width_of(char32_t code) {
  if (code < 0x20) return 1;
  return std::max(utf8proc_charwidth(static_cast<utf8proc_int32_t>(code)), 0);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    const bool is_control = c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0);
    if (c.code == 0xFFFD && c.length == 1) {
      result += '?';
    } else if (is_control && c.code != '\n' && c.code != '\t') {
      result.append(c.length, ' ');
    } else {
      result += text.substr(i, c.length);
    }
    i += c.length;
  }
  return result;
}

std::string on_one_line(std::string_view text) {
  std::string line = printable(text);
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\t', ' ');
  return line;
}

Cluster cluster_at(std::string_view text, size_t at) {
  Character before = character_at(text, at);
  Cluster cluster{before.length, width_of(before.code)};
  utf8proc_int32_t state = 0;
  while (at + cluster.length < text.size()) {
    const Character next = character_at(text, at + cluster.length);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before.code),
                                         static_cast<utf8proc_int32_t>(next.code), &state)) {
      break;
    }
    cluster.length += next.length;
    // A character joined to an emoji modifies it and takes no columns of its own.
    if (before.code != kJoiner && !is_skin_tone(next.code)) cluster.width += width_of(next.code);
    before = next;
  }
  return cluster;
}

size_t cluster_before(std::string_view text, size_t end) {
  size_t begin = 0;
  while (begin < end) {
    const size_t next = begin + cluster_at(text, begin).length;
    if (next >= end) break;
    begin = next;
  }
  return begin;
}

std::vector<TextRow> wrap(std::string_view text, int width, int first_column) {
  std::vector<TextRow> rows{{}};
  int room = width - first_column;
  for (size_t at = 0; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    const bool is_break = text[at] == '\n';
    if (is_break || rows.back().width + cluster.width > room) {
      const size_t begin = is_break ? at + cluster.length : at;
      rows.push_back({begin, begin});
      room = width;
    }
    at += cluster.length;
    if (is_break) continue;
    rows.back().end = at;
    rows.back().width += cluster.width;
  }
  return rows;
}

std::vector<TextRow> wrap_words(std::string_view text, int width) {
  struct Gap {
    size_t begin = 0, end = 0;  // bytes between two words of the last row
    int before = 0, after = 0;  // columns up to there
  };
  std::vector<TextRow> rows{{}};
  Gap gap;
  for (size_t at = 0; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    const size_t next = at + cluster.length;
    const bool is_space = text[at] == ' ';
    if (text[at] == '\n') {
      rows.push_back({next, next});
      gap = {};
      at = next;
      continue;
    }
    const bool fits = rows.back().width + cluster.width <= width;
    if (!fits && !is_space) {
      TextRow& full = rows.back();
      TextRow row{at, at};
      if (gap.begin > full.begin) {
        row = {gap.end, at, full.width - gap.after};
        full.end = gap.begin;
        full.width = gap.before;
      }
      rows.push_back(row);
      gap = {};
    }
    if (fits || !is_space) {
      rows.back().end = next;
      rows.back().width += cluster.width;
    }
    if (is_space) {
      if (gap.end != at) gap = {.begin = at, .before = rows.back().width - (fits ? 1 : 0)};
      gap.end = next;
      gap.after = rows.back().width;
    } else if (cluster.width == 2) {
      gap = {next, next, rows.back().width, rows.back().width};
    }
    at = next;
  }
  return rows;
}

std::string broken_at_words(std::string_view text, int width) {
  std::string broken;
  for (const TextRow& row : wrap_words(text, width)) {
    if (row.begin > 0) broken += '\n';
    broken += text.substr(row.begin, row.end - row.begin);
  }
  return broken;
}

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
