#include "evaluate/page/text_difference.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/text.h"

namespace predgen::evaluate {
namespace {

/// Words with the white space before them.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  bool in_word = false;
  for (const char c : text) {
    const bool is_space = is_blank(std::string_view(&c, 1));
    if (pieces.empty() || (is_space && in_word)) pieces.emplace_back();
    in_word = !is_space;
    pieces.back() += c;
  }
  return pieces;
}

/// Which of `text`'s pieces are in a longest common subsequence with `reference`.
std::vector<bool> common_pieces(const std::vector<std::string>& reference,
                                const std::vector<std::string>& text) {
  std::vector<bool> common(text.size(), false);
  size_t begin = 0, tail = 0;
  const size_t shorter = std::min(reference.size(), text.size());
  while (begin < shorter && reference[begin] == text[begin]) common[begin++] = true;
  while (tail < shorter - begin &&
         reference[reference.size() - 1 - tail] == text[text.size() - 1 - tail]) {
    common[text.size() - ++tail] = true;
  }
  const size_t rows = reference.size() - tail - begin, columns = text.size() - tail - begin;
  constexpr size_t kMostCells = 4'000'000;
  if (rows == 0 || columns == 0 || rows > kMostCells / columns) return common;
  std::vector<uint16_t> length((rows + 1) * (columns + 1), 0);  // of what follows both places
  const auto at = [&](size_t i, size_t j) -> uint16_t& { return length[i * (columns + 1) + j]; };
  for (size_t i = rows; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      at(i, j) = reference[begin + i] == text[begin + j]
                     ? static_cast<uint16_t>(at(i + 1, j + 1) + 1)
                     : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (size_t i = 0, j = 0; i < rows && j < columns;) {
    if (reference[begin + i] == text[begin + j]) {
      common[begin + j] = true;
      ++i, ++j;
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

}  // namespace

std::string mark_difference(const std::string& reference, const std::string& text) {
  const std::vector<std::string> pieces = pieces_of(text);
  const std::vector<bool> common = common_pieces(pieces_of(reference), pieces);
  std::string html;
  bool is_marked = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (common[i] == is_marked) {
      html += is_marked ? "</mark>" : "<mark>";
      is_marked = !is_marked;
    }
    html += escape_html(pieces[i]);
  }
  return is_marked ? html + "</mark>" : html;
}

}  // namespace predgen::evaluate
