#include "evaluate/at_path.h"

namespace predgen::evaluate {

const Json& at_path(const Json& object, std::initializer_list<std::string> path) {
  static const Json null;
  const Json* found = &object;
  for (const std::string& key : path) {
    if (!found->is_object()) return null;
    const auto next = found->find(key);
    if (next == found->end()) return null;
    found = &*next;
  }
  return *found;
}

std::optional<double> number_at(const Json& object, std::initializer_list<std::string> path) {
  const Json& value = at_path(object, path);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string text_at(const Json& object, std::initializer_list<std::string> path) {
  const Json& value = at_path(object, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace predgen::evaluate
