#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/syntax_tree.h"

namespace predgen::jinja {

/// One pass of a loop over items, as the variable `loop` shows it.
struct LoopContext {
  std::shared_ptr<const std::vector<Value>> items;
  size_t index = 0;
  int depth = 1;
  std::shared_ptr<std::optional<std::vector<Value>>> last_seen;  // by changed()
};

/// `loop.name`, if there is such an attribute.
std::optional<Value> attribute_of_loop(Runtime& runtime, const LoopContext& pass,
                                       std::string_view name);

}  // namespace predgen::jinja
