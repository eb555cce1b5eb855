#include "runtime/speech/fenced_code.h"

#include <algorithm>

namespace predgen {

Fence fence_at(std::string_view text, size_t at, bool complete) {
  const char mark = at < text.size() ? text[at] : ' ';
  if (mark != '`' && mark != '~') return {};
  const size_t end = std::min(text.find_first_not_of(mark, at), text.size());
  if (end == text.size() && !complete) return {end - at, false};
  if (end - at < 3) return {};
  const size_t line_end = std::min(text.find('\n', end), text.size());
  const bool closed = text.substr(end, line_end - end).find('`') != std::string_view::npos;
  if (mark == '`' && closed) return {};
  return {end - at, line_end < text.size() || complete};
}

std::optional<size_t> end_of_fenced_code(std::string_view text, size_t begin, size_t length,
                                         bool complete) {
  constexpr std::string_view kSpace = " \t\r";
  for (size_t line = text.find('\n', begin); line != std::string_view::npos;) {
    const size_t first = std::min(text.find_first_not_of(kSpace, line + 1), text.size());
    const size_t end = std::min(text.find_first_not_of(text[begin], first), text.size());
    const size_t rest = std::min(text.find_first_not_of(kSpace, end), text.size());
    line = text.find('\n', first);
    const bool blank = rest == std::min(line, text.size());
    const bool over = line != std::string_view::npos || complete;
    if (end - first >= length && blank && over) return end;
  }
  if (!complete) return std::nullopt;
  return text.find_last_not_of(" \t\r\n\f\v") + 1;
}

}  // namespace predgen
