#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace predgen::cli {

/// `text` of the same length that cannot control a terminal: control characters other than \n and
/// \t become spaces, ill-formed bytes question marks.
std::string printable(std::string_view text);
/// The same, with spaces for \n and \t as well.
std::string on_one_line(std::string_view text);

/// What a person sees as one character, with its accents and joiners.
struct Cluster {
  size_t length = 0;  // bytes
  int width = 0;      // columns of a terminal; a tab or a line break takes one
};

/// The cluster at byte `at` of a well-formed `text`, which must not be its end.
Cluster cluster_at(std::string_view text, size_t at);
/// Where the cluster that ends at byte `end` (> 0) begins.
size_t cluster_before(std::string_view text, size_t end);

/// Bytes [begin, end) of a text that are in one row of a terminal, line break not included.
struct TextRow {
  size_t begin = 0, end = 0;
  int width = 0;  // columns
};

/// Rows of at most `width` (> 1) columns, broken as a terminal breaks them: where they are full.
/// The first one has `first_column` columns less. There is always one row.
std::vector<TextRow> wrap(std::string_view text, int width, int first_column = 0);

/// Rows broken at spaces, which are in none of them where a row ends, and at wide characters. A
/// word wider than a row is broken where the row is full. As a text grows, all rows but the last
/// stay.
std::vector<TextRow> wrap_words(std::string_view text, int width);
/// `text` with a line break behind each of these rows but the last.
std::string broken_at_words(std::string_view text, int width);

/// Columns that one line of stderr's terminal has, but for a few at its end.
int line_width();

/// The end of `text` that fits into one line of stderr's terminal, control characters blanked.
std::string last_line(std::string text);

/// A line of at most `width` (> 8) columns: "> heard  ~ draft". What was heard is whole, if it
/// fits, and of the draft the beginning; otherwise there is no draft, and what was heard last.
std::string heard_and_draft(std::string_view heard, std::string_view draft, int width);

}  // namespace predgen::cli
