#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/json.h"

namespace predgen {

/// Finds a call that is no JSON as a whole, of Gemma, in Python or in XML, in a growing text.
class TaggedCall {
 public:
  struct Found {
    size_t end = 0;              // of the call in the text
    std::optional<Json> call{};  // {"name", "arguments"}, or a list; nullopt: it is no call
  };
  /// `text`: all so far behind the opening mark. `tools`: as ToolSet::json. `is_over`: no more
  /// comes. nullopt: more must come.
  std::optional<Found> find_gemma(std::string_view text, bool is_over);
  std::optional<Found> find_python(std::string_view text, const Json& tools, bool is_over);
  std::optional<Found> find_xml(std::string_view text, const Json& tools, bool is_over);

 private:
  /// What comes before `mark`, or all if there is none and no more comes, not yet read as a call.
  std::optional<std::string_view> find_body(std::string_view text, std::string_view mark,
                                            bool is_over);

  size_t searched_ = 0;  // so far, for the end mark
};

}  // namespace predgen
