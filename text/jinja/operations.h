#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

// What Python's operators and functions do with values. All throw Failure where Python raises, and
// TooMuch where a budget ends.
namespace predgen::jinja {

[[noreturn]] void fail_undefined(const Value& value);
/// As Python names it: "str", "list", ..
std::string type_name(const Value& value);

bool is_true(Runtime& runtime, const Value& value);
bool equals(Runtime& runtime, const Value& left, const Value& right);
/// -1, 0 or 1; Failure if the types have no order.
int compare(Runtime& runtime, const Value& left, const Value& right);
bool contains(Runtime& runtime, const Value& holder, const Value& item);
/// Equal values have equal hashes; Failure for lists and dictionaries.
size_t hash_of(Runtime& runtime, const Value& value);

enum class Operator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
Value calculate(Runtime& runtime, Operator what, const Value& left, const Value& right);
Value negated(const Value& value);
/// round() of Python: to even, with `precision` digits behind the point.
double rounded(double number, Int precision);

/// All items, in order; of an iterator the rest, which is then used up.
std::vector<Value> all_items(Runtime& runtime, const Value& value);
bool is_iterable(const Value& value);
/// len(); Failure if it has none.
size_t length_of(Runtime& runtime, const Value& value);

/// holder[key] and holder.name, which fall back to each other. Undefined if there is none.
Value item_of(Runtime& runtime, const Value& holder, const Value& key);
Value attribute_of(Runtime& runtime, const Value& holder, const std::string& name);
struct Slice {
  Value start, stop, step;  // none: not given
};
Value slice_of(Runtime& runtime, const Value& holder, const Slice& slice);
/// The method `name` of a value, or nothing.
std::optional<Value> method_of(Runtime& runtime, const Value& holder, std::string_view name);
Value call(Runtime& runtime, const Value& function, const Arguments& arguments);

/// str() and repr().
std::string printed(Runtime& runtime, const Value& value);
std::string represented(Runtime& runtime, const Value& value);
std::string printed_whole(Int value);

struct JsonStyle {
  std::string indent{}, item_separator = ", ", key_separator = ": ";
  bool has_indent = false, is_ascii = false, has_sorted_keys = false;
};
std::string json_text(Runtime& runtime, const Value& value, const JsonStyle& style);

/// A size, position or number in 64 bits; Failure if it is none.
int64_t whole_number(const Value& value, std::string_view what);
/// Failure that says what `function` expected.
[[noreturn]] void fail_type(std::string_view function, const Value& got);

}  // namespace predgen::jinja
