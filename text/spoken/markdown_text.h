#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Markdown as running text on one line. Removes marks of emphasis, headings, quotes and lists,
/// rules, HTML tags, footnotes and the targets of links and images, whose words stay. A heading, a
/// list item and a row of a table (its cells apart by commas) end with a period if they have no
/// mark. The number of a list item stays. Code spans lose only their quotes; fenced code, which no
/// listener can follow, becomes `code_phrase`, even if its end is missing.
/// It has no earlier context: a sentence cut out of an emphasis or a link loses the unpaired half
/// of the marks. Fences are whole, because SentenceEndFinder does not cut them.
std::string plain_text(std::string_view markdown, std::string_view code_phrase);

}  // namespace predgen
