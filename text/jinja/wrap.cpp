// textwrap.wrap().
#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace predgen::jinja {
namespace {

// TextWrapper.wordsep_re and wordsep_simple_re of Python 3.
constexpr const char* kWithHyphens =
    R"([\t\n\x0b\x0c\r ]+|(?<=[\w!"'&.,?])-{2,}(?=\w)|[^\t\n\x0b\x0c\r ]+?(?:)"
    R"(-(?:(?<=[^\d\W]{2}-)|(?<=[^\d\W]-[\w!"'&.,?]-))(?=[^\d\W]-?[^\d\W])|)"
    R"((?=[\t\n\x0b\x0c\r ]|\z)|(?<=[\w!"'&.,?])(?=-{2,}\w)))";
constexpr const char* kSimple = R"([\t\n\x0b\x0c\r ]+|[^\t\n\x0b\x0c\r ]+)";

struct Chunk {
  std::string_view text;
  size_t length;  // characters

  bool is_blank() const { return stripped(text, std::nullopt, true, false).empty(); }
};

std::vector<Chunk> chunks_of(std::string_view line, bool breaks_at_hyphens) {
  try {
    require_utf8(line, "wordwrap");
    const Regex regex(breaks_at_hyphens ? kWithHyphens : kSimple, Regex::Syntax::kPython,
                      "wordwrap");
    std::vector<Chunk> chunks;
    const auto add = [&](size_t begin, size_t end) {
      const std::string_view text = line.substr(begin, end - begin);
      if (!text.empty()) chunks.push_back({text, count_characters(text)});
    };
    size_t at = 0;
    for (Regex::Match match{}; regex.find(line, at, match); at = match.end) {
      add(at, match.begin);
      add(match.begin, match.end);
    }
    add(at, line.size());
    std::reverse(chunks.begin(), chunks.end());
    return chunks;
  } catch (const UserError& error) {
    throw Failure(error.what());
  }
}

/// Cuts `room` characters from a chunk that is longer than a line, if possible behind a hyphen.
std::string_view cut(Chunk& chunk, size_t room, bool breaks_at_hyphens) {
  size_t bytes = 0, characters = 0, behind_hyphen = 0, characters_behind = 0;
  bool has_other = false;
  while (characters < room && bytes < chunk.text.size()) {
    const bool is_hyphen = next_code(chunk.text, bytes) == '-';
    ++characters;
    if (is_hyphen && has_other) {
      behind_hyphen = bytes;
      characters_behind = characters;
    }
    has_other = has_other || !is_hyphen;
  }
  if (breaks_at_hyphens && behind_hyphen > 0) {
    bytes = behind_hyphen;
    characters = characters_behind;
  }
  const std::string_view part = chunk.text.substr(0, bytes);
  chunk.text.remove_prefix(bytes);
  chunk.length -= characters;
  return part;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view line, size_t width, bool breaks_words,
                                 bool breaks_at_hyphens) {
  std::vector<Chunk> chunks = chunks_of(line, breaks_at_hyphens);
  std::vector<std::string> lines;
  while (!chunks.empty()) {
    if (chunks.back().is_blank() && !lines.empty()) {
      chunks.pop_back();
      if (chunks.empty()) break;
    }
    std::vector<Chunk> current;
    size_t length = 0;
    while (!chunks.empty() && length + chunks.back().length <= width) {
      length += chunks.back().length;
      current.push_back(chunks.back());
      chunks.pop_back();
    }
    if (!chunks.empty() && chunks.back().length > width) {
      if (breaks_words) {
        const std::string_view part = cut(chunks.back(), width - length, breaks_at_hyphens);
        current.push_back({part, count_characters(part)});
        if (chunks.back().text.empty()) chunks.pop_back();
      } else if (current.empty()) {
        current.push_back(chunks.back());
        chunks.pop_back();
      }
    }
    if (!current.empty() && current.back().is_blank()) current.pop_back();
    std::string text;
    for (const Chunk& chunk : current) text += chunk.text;
    if (!current.empty()) lines.push_back(std::move(text));
  }
  return lines;
}

}  // namespace predgen::jinja
