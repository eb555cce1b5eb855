#include "text/jinja/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja/python_text.h"

namespace predgen::jinja {

std::vector<Value> bound(std::string_view function, const Arguments& arguments,
                         std::initializer_list<const char*> names, size_t num_required) {
  std::vector<Value> result(names.size());
  if (arguments.positional.size() > names.size()) {
    throw Failure(fmt::format("{} takes no more than {} arguments", function, names.size()));
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), result.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&, &key = name](const char* one) { return key == one; });
    if (found == names.end()) {
      throw Failure(fmt::format("{} has no argument \"{}\"", function, name));
    }
    const auto place = static_cast<size_t>(found - names.begin());
    if (is_given(result[place])) throw Failure(fmt::format("{} got \"{}\" twice", function, name));
    result[place] = value;
  }
  for (size_t i = 0; i < num_required; ++i) {
    if (!is_given(result[i])) {
      throw Failure(fmt::format("{} needs the argument \"{}\"", function, names.begin()[i]));
    }
  }
  return result;
}

namespace {

Method find_filter(std::string_view name) {
  for (const Methods* filters : {&text_filters(), &list_filters(), &selecting_filters(),
                                 &number_filters(), &html_filters()}) {
    const auto found = filters->find(name);
    if (found != filters->end()) return found->second;
  }
  return nullptr;
}

}  // namespace

bool is_filter(std::string_view name) {
  return find_filter(name) != nullptr || name == "random" || name == "urlize";
}

Value filter(Runtime& runtime, std::string_view name, const Value& value,
             const Arguments& arguments) {
  const Method method = find_filter(name);
  if (method == nullptr) {
    throw Failure(
        fmt::format("the filter \"{}\" is not {}", name, is_filter(name) ? "supported" : "known"));
  }
  const Budget::Nested nested(runtime.budget);
  return method(runtime, value, arguments);
}

std::string soft_text(Runtime& runtime, const Value& value) { return printed(runtime, value); }

Value attribute_at(Runtime& runtime, const Value& item, const Value& path, const Value& otherwise) {
  const auto found_or = [&](const Value& found) {
    return found.is_undefined() && is_given(otherwise) && !otherwise.is_none() ? otherwise : found;
  };
  if (!path.is_text()) {
    return path.is_none() || !is_given(path) ? item : found_or(item_of(runtime, item, path));
  }
  Value result = item;
  for (const std::string_view part : split(runtime.budget, path.text(), ".", -1, false)) {
    const bool is_index = !part.empty() && std::all_of(part.begin(), part.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
    constexpr size_t kMostDigits = 18;
    const Value key = is_index && part.size() <= kMostDigits
                          ? Value::integer(std::stoll(std::string(part)))
                          : runtime.text(std::string(part));
    result = found_or(item_of(runtime, result, key));
  }
  return result;
}

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case '"':
        result += "&#34;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace predgen::jinja
