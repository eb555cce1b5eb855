#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// A call that a model writes out in its text, without the mark of its form: a JSON object that
/// begins with the name of a function, perhaps in a list, in doubled braces, in a fence of code, or
/// wrapped as OpenAI's API has it ({"function": {..}}, {"tool_calls": [..]}). It has arguments or
/// parameters, which come later.
struct WrittenCall {
  size_t begin = 0;              // in the text, of all this
  std::optional<size_t> json{};  // of the object or list; nullopt: more text must tell
  int num_braces = 0;            // that are open in front of it
};
/// The first one in a growing text of which more may come. nullopt: none has begun.
std::optional<WrittenCall> find_written_call(std::string_view text,
                                             const std::vector<std::string>& names);

}  // namespace predgen
