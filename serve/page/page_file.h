#pragma once

#include <string>
#include <string_view>

namespace predgen::serve {

/// A file of the page at "/". It is part of the program: cmake/EmbedPage.cmake writes them all.
struct PageFile {
  std::string_view path;
  const char* type;
  std::string_view content;
};

/// Null: there is none at this path.
const PageFile* find_page_file(std::string_view path);

}  // namespace predgen::serve
