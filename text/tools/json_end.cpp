#include "text/tools/json_end.h"

namespace predgen {

std::optional<size_t> JsonEnd::find(std::string_view text) {
  for (; !end_ && at_ < text.size(); ++at_) {
    const char c = text[at_];
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (in_string_) {
      is_escaped_ = c == '\\';
      in_string_ = c != '"';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      end_ = at_ + 1;
    }
  }
  return end_;
}

}  // namespace predgen
