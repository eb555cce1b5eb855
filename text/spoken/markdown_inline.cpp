#include "text/spoken/markdown_inline.h"

#include <algorithm>
#include <vector>

#include "core/text.h"
#include "text/spoken/latex_text.h"
#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

/// The words of links and images, without targets, footnotes and remnants of cut ones.
std::string without_links(std::string_view text) {
  static const Regex autolink(
      speech_pattern(R"((?i)<((https?|ftp|mailto):[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>)"));
  static const TextRules rules({
      {R"(!?\[(?=[^\[\]]*\](\(|\[)))", ""},  // [words](target "title"), [words][name]
      {R"(\]\([^()\s]*(\([^()\s]*\)[^()\s]*)?(\s+("[^"]*"|'[^']*'))?\))", ""},
      {R"(\]\[[^\[\]]*\])", ""},
      {R"(\[\^[^\[\]\s]+\]:?)", ""},  // footnotes
      {R"(\[[0-9]{1,3}\])", ""},      // citations
      {R"(!?(?<!\\)\[|(?<!\\)\])", ""},
  });
  return rules.apply(replace_each(autolink, text, [](std::string_view match, std::string_view) {
    return std::string(match.substr(1, match.size() - 2));
  }));
}

/// Tags, entities and marks of emphasis within a line. Code spans are hidden from it.
std::string without_inline_marks(std::string_view text) {
  static const TextRules rules({
      {R"(<!--.{0,1000}?-->)", ""},
      {R"((?i)</?(a|b|i|u|s|em|strong|code|pre|p|br|hr|div|span|sub|sup|ul|ol|li|h[1-6]|table|thead|tbody|tr|td|th|img|kbd|small|mark|details|summary|blockquote|center|font)(\s[^<>]*)?/?>)",
       " "},
      {R"((?i)</[a-z][a-z0-9_-]*\s*>)", " "},
      {R"((?i)(?<![a-z0-9])<[a-z][a-z0-9_-]*(\s+[a-z_:-]+=("[^"<>]*"|'[^'<>]*'|[^\s<>"']+))*\s*/?>)",
       " "},
      {R"(&nbsp;)", " "},
      {R"(&lt;)", "<"},
      {R"(&gt;)", ">"},
      {R"(&quot;)", "\""},
      {R"(&(#39|apos);)", "'"},
      {R"(&mdash;)", "\u2014"},
      {R"(&amp;)", "&"},
      {R"((?<=[0-9])\s?\*\s?(?=[0-9]))", " \u00d7 "},
      {R"(\\(?=[\\`*_{}\[\]()#+\-.!|~>$%&]))", ""},
      {R"(\*+)", ""},
      {R"(~~|==+)", ""},
      {R"((?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}]))", ""},
      {R"(_)", " "},
  });
  return rules.apply(text);
}

/// Mostly names, spoken as such: snake_case is split, call() loses its brackets.
std::string code_span(std::string_view code) {
  static const TextRules rules({{R"(\(\)|`+)", ""}, {R"(_+)", " "}});
  return rules.apply(trimmed(code, " \t"));
}

}  // namespace

/// Code spans are hidden as private-use characters.
std::string markdown_inline(std::string_view line) {
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
  text = without_inline_marks(without_latex(without_links(text)));
  for (size_t span = 0; span < spans.size(); ++span) {
    const size_t at = text.find(placeholder(span));
    if (at != std::string::npos) text.replace(at, 3, spans[span]);
  }
  return text;
}

}  // namespace predgen
