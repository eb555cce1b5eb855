#include "model/weights/layer_choice.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "core/error.h"

namespace predgen {
namespace {

std::optional<int64_t> parse_index(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && !text.starts_with('-') ? std::optional(value) : std::nullopt;
}

}  // namespace

LayerChoice LayerChoice::read(const Json& fields, const std::string& where) {
  LayerChoice choice;
  const Json layers = fields.value("layers_to_transform", Json());
  const Json patterns = fields.value("layers_pattern", Json());
  if (layers.is_null() && patterns.is_null()) return choice;
  if (layers.is_null()) {
    fail_json_key("layers_pattern", where, "needs \"layers_to_transform\"");
  }
  if (fields.value("target_modules", Json()).is_string()) {
    fail_json_key("layers_to_transform", where, "needs a list in \"target_modules\"");
  }
  if (layers.is_array()) {
    choice.layers_ = json_get<std::vector<int64_t>>(fields, "layers_to_transform", where);
  } else {
    choice.layers_ = std::vector{json_get<int64_t>(fields, "layers_to_transform", where)};
  }
  if (patterns.is_string()) {
    choice.names_ = {patterns.get<std::string>()};
  } else if (!patterns.is_null()) {
    choice.names_ = json_get<std::vector<std::string>>(fields, "layers_pattern", where);
  }
  for (const std::string& pattern : choice.names_) {
    const bool is_name =
        std::ranges::all_of(pattern, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!is_name || pattern.empty()) {
      throw UserError("{}: \"layers_pattern\": {} is not supported, only the name of a module",
                      where, Json(pattern).dump());
    }
  }
  return choice;
}

/// PEFT reads the index after the first of the names that occurs with one, or without names the
/// first number with at least two names before it.
bool LayerChoice::contains(const std::string& module) const {
  if (!layers_) return true;
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= module.size();) {
    const size_t end = std::min(module.find('.', begin), module.size());
    parts.push_back(std::string_view(module).substr(begin, end - begin));
    begin = end + 1;
  }
  const auto chosen = [&](int64_t index) {
    return std::find(layers_->begin(), layers_->end(), index) != layers_->end();
  };
  for (const std::string& name : names_) {
    for (size_t i = 1; i + 1 < parts.size(); ++i) {
      const std::optional<int64_t> index = parse_index(parts[i]);
      if (index && parts[i - 1] == name) return chosen(*index);
    }
  }
  for (size_t i = 2; names_.empty() && i + 1 < parts.size(); ++i) {
    if (const std::optional<int64_t> index = parse_index(parts[i])) return chosen(*index);
  }
  return false;
}

}  // namespace predgen
