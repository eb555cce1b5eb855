#include "text/sentence/fenced_code.h"

#include <algorithm>

#include "core/text.h"
#include "text/sentence/block_marks.h"

namespace predgen {

Fence fence_at(OpenText whole, size_t at) {
  const OpenText text = whole.near(at);
  const BlockStart start = skip_block_marks(text, at);
  if (!start.known) return {.begin = start.at, .known = false};
  const char mark = start.at < text.size() ? text[start.at] : ' ';
  if (mark != '`' && mark != '~') return {};
  Fence fence{.begin = start.at};
  const size_t end = std::min(text.bytes.find_first_not_of(mark, start.at), text.size());
  const size_t length = end - start.at;
  fence.known = end < text.size() || text.complete;
  if (fence.known && length < 3) return {};
  fence.length = length;
  const size_t line_end = std::min(text.bytes.find('\n', end), text.size());
  if (line_end == text.size() && text.size() < whole.size()) return {};  // too long to be real
  const std::string_view language = text.bytes.substr(end, line_end - end);
  if (mark == '`' && language.find('`') != std::string_view::npos) return {};
  const bool decorates = language.find(' ', 1) != std::string_view::npos;  // "~~~ So long ~~~"
  if (mark == '~' && decorates) return {};
  fence.known &= line_end < text.size() || text.complete;
  return fence;
}

std::optional<size_t> end_of_fenced_code(OpenText text, const Fence& fence, size_t& line) {
  constexpr std::string_view kSpace = " \t\r";
  while (true) {
    const size_t line_break = text.bytes.find('\n', line);
    if (line_break == std::string_view::npos) {
      line = text.size();
      break;
    }
    const size_t begin = line_break + 1;
    const OpenText near = text.near(begin);
    // In a quotation every line begins with the mark.
    const size_t first = std::min(near.bytes.find_first_not_of(" \t\r>", begin), near.size());
    const size_t end =
        std::min(near.bytes.find_first_not_of(text[fence.begin], first), near.size());
    const size_t rest = std::min(near.bytes.find_first_not_of(kSpace, end), near.size());
    if (rest == near.size() && !near.complete) return std::nullopt;
    const bool blank = rest == near.size() || near[rest] == '\n';
    if (end - first >= fence.length && blank) return end;
    line = begin;
  }
  if (!text.complete) return std::nullopt;
  return text.bytes.find_last_not_of(kAsciiSpace) + 1;
}

}  // namespace predgen
