#include "cli/help_format.h"

#include <unistd.h>

#include <algorithm>

#include "cli/terminal/display_text.h"
#include "cli/terminal/word_stream.h"

namespace predgen::cli {

HelpFormat::HelpFormat() {
  constexpr int kMost = 100, kFewest = 60;  // columns of the whole; more is hard to read
  const int columns = terminal_columns(STDOUT_FILENO);
  const int whole = columns == 0 ? kMost : std::clamp(columns, kFewest, kMost);
  width_ = whole - static_cast<int>(get_column_width());
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  return broken_at_words(option->get_description(), width_);
}

}  // namespace predgen::cli
