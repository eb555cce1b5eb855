#include "text/jinja/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

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

// range(), namespace() and the other functions that every template sees.
namespace {

constexpr Int kMaxRange = 100'000;  // of Jinja2's sandbox

Value make_range(Runtime&, const Arguments& arguments) {
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3 || !arguments.named.empty()) {
    throw Failure("range takes one to three whole numbers");
  }
  const auto number = [&](size_t i) { return Int{whole_number(given[i], "range")}; };
  const Int start = given.size() > 1 ? number(0) : 0;
  const Int stop = given.size() > 1 ? number(1) : number(0);
  const Int step = given.size() > 2 ? number(2) : 1;
  if (step == 0) throw Failure("range: the step is 0");
  const auto range = std::make_shared<Range>(start, stop, step);
  if (range->size() > kMaxRange) {
    throw Failure(fmt::format("range has more than {} numbers", static_cast<int>(kMaxRange)));
  }
  return {Kind::kRange, range};
}

std::vector<std::pair<Value, Value>> pairs_of(Runtime& runtime, const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> pairs;
  if (arguments.positional.size() > 1) throw Failure("dict takes one value, and named ones");
  for (const Value& given : arguments.positional) {
    if (given.is_undefined()) fail_undefined(given);
    if (given.is(Kind::kDict)) {
      pairs = given.dict().items;
      continue;
    }
    for (const Value& item : all_items(runtime, given)) {
      const std::vector<Value> both = all_items(runtime, item);
      if (both.size() != 2) throw Failure("dict: expected pairs");
      pairs.emplace_back(both[0], both[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) pairs.emplace_back(runtime.text(name), value);
  return pairs;
}

Value make_namespace(Runtime& runtime, const Arguments& arguments) {
  Value result = runtime.name_space();
  for (const auto& [key, value] : pairs_of(runtime, arguments)) {
    if (!key.is_text()) fail_type("a name in a namespace", key);
    set_attribute(runtime, result, key.text(), value);
  }
  return result;
}

/// An object that can be called or asked with attributes.
Value made_object(Runtime& runtime, std::string printed,
                  std::function<Value(Runtime&, const Arguments&)> call,
                  std::function<std::optional<Value>(Runtime&, std::string_view)> attribute) {
  Value result = runtime.function(std::move(printed), std::move(call));
  const_cast<Custom&>(result.custom()).attribute = std::move(attribute);  // not shared yet
  return result;
}

Value make_cycler(Runtime& runtime, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) {
    throw Failure("cycler needs values");
  }
  const auto at = std::make_shared<size_t>(0);
  const auto items = std::make_shared<const std::vector<Value>>(arguments.positional);
  return made_object(runtime, "cycler", nullptr,
                     [at, items](Runtime& inner, std::string_view name) -> std::optional<Value> {
                       if (name == "current") return (*items)[*at];
                       if (name == "items") return inner.tuple(*items);
                       if (name == "pos") return Value::integer(static_cast<Int>(*at));
                       if (name == "reset") {
                         return inner.function("cycler.reset", [at](Runtime&, const Arguments&) {
                           *at = 0;
                           return Value::none();
                         });
                       }
                       if (name != "next") return std::nullopt;
                       return inner.function("cycler.next",
                                             [at, items](Runtime&, const Arguments&) {
                                               Value current = (*items)[*at];
                                               *at = (*at + 1) % items->size();
                                               return current;
                                             });
                     });
}

Value make_joiner(Runtime& runtime, const Arguments& arguments) {
  const std::vector<Value> given = bound("joiner", arguments, {"sep"});
  const Value separator = is_given(given[0]) ? given[0] : runtime.text(", ");
  const auto is_used = std::make_shared<bool>(false);
  return runtime.function("joiner", [separator, is_used](Runtime& inner, const Arguments&) {
    return std::exchange(*is_used, true) ? separator : inner.text("");
  });
}

Value raise(Runtime& runtime, const Arguments& arguments) {
  throw Raised(printed(runtime, bound("raise_exception", arguments, {"message"}, 1)[0]));
}

Value time_text(Runtime& runtime, const Arguments& arguments, const std::tm& now) {
  const Value format = bound("strftime_now", arguments, {"format"}, 1)[0];
  if (!format.is_text()) fail_type("strftime_now", format);
  constexpr size_t kMostText = 4096;
  if (format.text().size() > kMostText / 8) throw Failure("strftime_now: the format is too long");
  if (format.text().find("%f") != std::string::npos) {
    throw Failure("strftime_now: %f is not supported");
  }
  std::array<char, kMostText> buffer{};
  const size_t length = std::strftime(buffer.data(), buffer.size(), format.text().c_str(), &now);
  return runtime.text(std::string(buffer.data(), length));
}

}  // namespace

std::vector<std::pair<std::string, Value>> global_functions(Runtime& runtime, const std::tm& now) {
  std::vector<std::pair<std::string, Value>> result;
  const auto add = [&](const char* name, Value (*function)(Runtime&, const Arguments&)) {
    result.emplace_back(name, runtime.function(name, function));
  };
  add("range", make_range);
  add("namespace", make_namespace);
  add("cycler", make_cycler);
  add("joiner", make_joiner);
  add("raise_exception", raise);
  add("dict", [](Runtime& inner, const Arguments& arguments) {
    return inner.dict(pairs_of(inner, arguments));
  });
  add("lipsum", [](Runtime&, const Arguments&) -> Value {
    throw Failure("the function \"lipsum\" is not supported");
  });
  result.emplace_back(
      "strftime_now",
      runtime.function("strftime_now", [now](Runtime& inner, const Arguments& given) {
        return time_text(inner, given, now);
      }));
  return result;
}

}  // namespace predgen::jinja
