#pragma once

#include <ctime>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/jinja/operations.h"
#include "text/jinja/syntax_tree.h"

// What templates can call: filters, tests, methods and global functions.

namespace predgen::jinja {

/// Thrown for a template's own raise_exception().
class Raised : public Failure {
 public:
  using Failure::Failure;
};

/// `value | name(arguments)`, and `value is name(arguments)`. Failure if there is none.
Value filter(Runtime& runtime, std::string_view name, const Value& value,
             const Arguments& arguments);
bool test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments);
bool is_filter(std::string_view name);
bool is_test(std::string_view name);

/// The functions that every template sees. `now` is what strftime_now prints.
std::vector<std::pair<std::string, Value>> global_functions(Runtime& runtime, const std::tm& now);

/// Whether bound() found a value for it.
inline bool is_given(const Value& value) { return !value.is_undefined() || value.shared(); }
/// The arguments in the order of `names`, undefined where one is not given. Failure if one of the
/// first `num_required` is missing, is given twice, or has no such name.
std::vector<Value> bound(std::string_view function, const Arguments& arguments,
                         std::initializer_list<const char*> names, size_t num_required = 0);

/// What the tables of filters and methods hold: `self | f(..)`, `self.f(..)`.
using Method = Value (*)(Runtime&, const Value& self, const Arguments&);
using Methods = std::unordered_map<std::string_view, Method>;
const Methods& text_filters();
const Methods& list_filters();
const Methods& selecting_filters();
const Methods& number_filters();
const Methods& html_filters();
const Methods& text_methods();
const Methods& text_checks();

/// Python's `format % arguments`, and format.format(..).
std::string percent_format(Runtime& runtime, std::string_view format, const Value& arguments);
std::string brace_format(Runtime& runtime, std::string_view format, const Arguments& arguments);
/// A number or text as format_spec wants it, for example ">8.2f".
std::string formatted(Runtime& runtime, const Value& value, std::string_view specification);
/// textwrap.wrap()
std::vector<std::string> wrapped(std::string_view line, size_t width, bool breaks_words,
                                 bool breaks_at_hyphens);

/// With &, <, >, ' and " as HTML has them.
std::string html_escaped(std::string_view text);

/// Whether `left` is <, <=, > or >= `right`, as Python orders them.
bool is_ordered(Runtime& runtime, Comparison comparison, const Value& left, const Value& right);
void set_attribute(Runtime& runtime, const Value& name_space, const std::string& name,
                   const Value& value);

/// `value` with its own text, or as str() has it.
std::string soft_text(Runtime& runtime, const Value& value);
/// item.a.b of a dotted `path`, in which a number is an index; `otherwise` stands for what is
/// undefined.
Value attribute_at(Runtime& runtime, const Value& item, const Value& path,
                   const Value& otherwise = {});

}  // namespace predgen::jinja
