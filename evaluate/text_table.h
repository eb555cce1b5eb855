#pragma once

#include <string>
#include <vector>

namespace predgen::evaluate {

/// A table of texts, for a terminal and for the page. The first of a row is what the row is about.
struct TextTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows{};
};

}  // namespace predgen::evaluate
