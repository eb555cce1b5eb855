#include "runtime/speech/markdown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/speech/fenced_code.h"
#include "runtime/speech/text_rules.h"

namespace predgen {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

bool consists_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

bool is_rule(std::string_view line) {
  return std::ranges::any_of(std::string_view("-*_="), [&](char mark) {
    const std::string marks{mark, ' '};
    return consists_of(line, marks) && std::ranges::count(line, mark) >= 3;
  });
}

/// Links, images, tags and marks within a line. Code spans are hidden from it.
std::string without_inline_marks(std::string_view text) {
  static const TextRules rules({
      {R"(!?\[(?=[^\[\]]*\](\(|\[)))", ""},  // [words](target "title"), [words][name]
      {R"(\]\([^()\s]*(\([^()\s]*\)[^()\s]*)?(\s+("[^"]*"|'[^']*'))?\))", ""},
      {R"(\]\[[^\[\]]*\])", ""},
      {R"(\[\^[^\[\]\s]+\]:?)", ""},  // footnotes
      {R"(\[[0-9]{1,3}\])", ""},      // citations
      {R"(<!--.{0,1000}?-->)", ""},
      {R"((?i)</?(a|b|i|u|s|em|strong|code|pre|p|br|hr|div|span|sub|sup|ul|ol|li|h[1-6]|table|thead|tbody|tr|td|th|img|kbd|small|mark|details|summary|blockquote|center|font)(\s[^<>]*)?/?>)",
       " "},
      {R"(&nbsp;)", " "},
      {R"(&lt;)", "<"},
      {R"(&gt;)", ">"},
      {R"(&quot;)", "\""},
      {R"(&(#39|apos);)", "'"},
      {R"(&amp;)", "&"},
      {R"((?<=[0-9])\s?\*\s?(?=[0-9]))", " \u00d7 "},
      {R"(\\(?=[\\`*_{}\[\]()#+\-.!|~>$]))", ""},
      {R"(\*+)", ""},
      {R"(~~)", ""},
      {R"((?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}]))", ""},
      {R"(_)", " "},
  });
  return rules.apply(text);
}

/// Spoken as the name that it mostly is: snake_case apart, call() without brackets.
std::string code_span(std::string_view code) {
  static const TextRules rules({{R"(\(\))", ""}, {R"(_+)", " "}});
  return rules.apply(trim(code));
}

/// Code spans are hidden as characters of private use.
std::string inline_text(std::string_view line) {
  constexpr size_t kMaxSpans = 1000;
  const auto placeholder = [](size_t span) {
    const auto code = static_cast<unsigned>(0xE000 + span);
    return std::string{static_cast<char>(0xE0 | code >> 12),
                       static_cast<char>(0x80 | (code >> 6 & 0x3F)),
                       static_cast<char>(0x80 | (code & 0x3F))};
  };
  std::vector<std::string> spans;
  std::string text;
  for (size_t i = 0; i < line.size();) {
    if (line[i] != '`') {
      text += line[i++];
      continue;
    }
    const size_t begin = std::min(line.find_first_not_of('`', i), line.size());
    const std::string_view quote = line.substr(i, begin - i);
    const size_t end = line.find(quote, begin);
    i = begin;
    if (end == std::string_view::npos || spans.size() == kMaxSpans) continue;  // half a span
    text += placeholder(spans.size());
    spans.push_back(code_span(line.substr(begin, end - begin)));
    i = end + quote.size();
  }
  text = without_inline_marks(text);
  for (size_t span = 0; span < spans.size(); ++span) {
    const size_t at = text.find(placeholder(span));
    if (at != std::string::npos) text.replace(at, 3, spans[span]);
  }
  return text;
}

/// The cells of a table's row apart by commas.
std::string row_text(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const size_t bar = std::min(line.find('|'), line.size());
    const std::string_view cell = trim(line.substr(0, bar));
    if (!cell.empty()) text += fmt::format("{}{}", text.empty() ? "" : ", ", cell);
    line.remove_prefix(std::min(bar + 1, line.size()));
  }
  return text;
}

struct Line {
  std::string text;
  bool is_block = false;  // a heading, a list item, a row: not the middle of a sentence
};

Line read_line(std::string_view line) {
  static const Regex checkbox(R"(\[[ xX]\]\s)", Regex::Syntax::kPattern, "text for speech");
  Line result;
  while (line.starts_with('>')) line = trim(line.substr(1));
  if (is_rule(line) || (line.find('|') != std::string_view::npos && consists_of(line, "|:- "))) {
    return {};
  }
  const size_t hashes = std::min(line.find_first_not_of('#'), line.size());
  if (hashes >= 1 && hashes <= 6 && hashes < line.size() && line[hashes] == ' ') {
    line = trim(line.substr(hashes));
    line = trim(line.substr(0, line.find_last_not_of('#') + 1));
    result.is_block = true;
  }
  const bool bullet = line.size() > 1 && consists_of(line.substr(0, 1), "-*+") && line[1] == ' ';
  const bool dot = line.starts_with("\u2022") || line.starts_with("\u2023");
  if (bullet || dot) {
    line = trim(line.substr(dot ? 3 : 2));
    Regex::Match box;
    if (checkbox.find(line, 0, box) && box.begin == 0) line = trim(line.substr(box.end));
    result.is_block = true;
  }
  const size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  std::string number;
  if (digits >= 1 && digits <= 3 && digits + 1 < line.size() && line[digits + 1] == ' ' &&
      (line[digits] == '.' || line[digits] == ')')) {
    number = fmt::format("{}. ", line.substr(0, digits));
    line = trim(line.substr(digits + 2));
    result.is_block = true;
  }
  result.text = number + inline_text(line);
  const bool row = line.starts_with('|') || line.find(" | ") != std::string_view::npos;
  if (row) result.text = row_text(result.text);
  result.is_block |= row;
  return result;
}

/// Appends with a space between; a block begins and ends with a mark before it.
class RunningText {
 public:
  void add(std::string_view text, bool is_block) {
    text = trim(text);
    if (text.empty()) return;
    if (is_block) end_clause();
    if (!text_.empty()) text_ += ' ';
    text_ += text;
    if (is_block) end_clause();
  }
  std::string take() { return std::move(text_); }

 private:
  void end_clause() {
    const size_t last = text_.find_last_not_of("\"')]");
    if (last == std::string::npos) return;
    const auto ends_with = [&](std::string_view mark) {
      return std::string_view(text_).substr(0, last + 1).ends_with(mark);
    };
    constexpr std::string_view kWide[] = {"\u2026", "\u3002", "\uff01", "\uff1f",
                                          "\uff0c", "\u3001", "\uff1a", "\uff1b"};
    if (std::string_view(".,;:!?").find(text_[last]) == std::string_view::npos &&
        std::ranges::none_of(kWide, ends_with)) {
      text_ += '.';
    }
  }

  std::string text_;
};

}  // namespace

std::string plain_text(std::string_view markdown, std::string_view code_phrase) {
  RunningText result;
  for (size_t begin = 0; begin < markdown.size();) {
    const size_t first = std::min(markdown.find_first_not_of(kBlank, begin), markdown.size());
    const Fence fence = fence_at(markdown, first, true);
    size_t end = std::min(markdown.find('\n', begin), markdown.size());
    if (fence.length > 0) {
      result.add(code_phrase, true);
      end = *end_of_fenced_code(markdown, first, fence.length, true);
    } else {
      const Line line = read_line(trim(markdown.substr(begin, end - begin)));
      result.add(line.text, line.is_block);
    }
    begin = std::max(end, begin) + 1;
  }
  return result.take();
}

}  // namespace predgen
