// Truth, equality, order and membership.
#include <fmt/format.h>

#include <algorithm>
#include <compare>

#include "text/jinja/functions.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kView:
      return "view of a dict";
    case Kind::kIterator:
      return value.iterator().type;
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kCustom:
      return "function";
  }
  return {};
}

void fail_type(std::string_view function, const Value& got) {
  if (got.is_undefined()) fail_undefined(got);
  throw Failure(fmt::format("{} does not take a value of the type {}", function, type_name(got)));
}

bool is_true(Runtime&, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.whole() != 0;
    case Kind::kFloat:
      return value.number() != 0;
    case Kind::kText:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !value.items().empty();
    case Kind::kDict:
      return !value.dict().items.empty();
    case Kind::kRange:
      return value.range().size() > 0;
    case Kind::kView:
      return !value.view().dict.dict().items.empty();
    default:
      return true;
  }
}

namespace {

bool are_items_equal(Runtime& runtime, const std::vector<Value>& left,
                     const std::vector<Value>& right) {
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(),
                    [&](const Value& a, const Value& b) { return equals(runtime, a, b); });
}

bool are_dicts_equal(Runtime& runtime, const Dict& left, const Dict& right) {
  return left.items.size() == right.items.size() &&
         std::all_of(left.items.begin(), left.items.end(), [&](const auto& item) {
           const Value* other = right.find(runtime, item.first);
           return other != nullptr && equals(runtime, item.second, *other);
         });
}

std::partial_ordering order_of_numbers(const Value& left, const Value& right) {
  if (left.is_whole() && right.is_whole()) {
    return left.whole() < right.whole()   ? std::partial_ordering::less
           : left.whole() > right.whole() ? std::partial_ordering::greater
                                          : std::partial_ordering::equivalent;
  }
  const auto number = [](const Value& value) {
    return value.is(Kind::kFloat) ? static_cast<long double>(value.number())
                                  : static_cast<long double>(value.whole());
  };
  return number(left) <=> number(right);
}

std::partial_ordering order_of(Runtime& runtime, const Value& left, const Value& right) {
  const Budget::Nested nested(runtime.budget);
  if (left.is_number() && right.is_number()) return order_of_numbers(left, right);
  if (left.is_text() && right.is_text()) {
    runtime.budget.read(std::min(left.text().size(), right.text().size()));
    return left.text().compare(right.text()) <=> 0;
  }
  if (left.is_sequence() && left.kind() == right.kind()) {
    const auto &one = left.items(), &other = right.items();
    for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
      if (!equals(runtime, one[i], other[i])) return order_of(runtime, one[i], other[i]);
    }
    return one.size() <=> other.size();
  }
  for (const Value* value : {&left, &right}) {
    if (value->is_undefined()) fail_undefined(*value);
  }
  throw Failure(fmt::format("values of the types {} and {} have no order", type_name(left),
                            type_name(right)));
}

}  // namespace

bool equals(Runtime& runtime, const Value& left, const Value& right) {
  const Budget::Nested nested(runtime.budget);
  if (left.is_number() && right.is_number()) {
    return order_of_numbers(left, right) == std::partial_ordering::equivalent;
  }
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kText:
      if (left.text().size() != right.text().size()) return false;
      runtime.budget.read(left.text().size());
      return left.text() == right.text();
    case Kind::kList:
    case Kind::kTuple:
      return are_items_equal(runtime, left.items(), right.items());
    case Kind::kDict:
      return are_dicts_equal(runtime, left.dict(), right.dict());
    case Kind::kRange: {
      const Range &one = left.range(), &other = right.range();
      const Int size = one.size();
      return size == other.size() && (size == 0 || one.start == other.start) &&
             (size < 2 || one.step == other.step);
    }
    case Kind::kView:
      return left.view().of == right.view().of && left.view().of != View::Of::kValues &&
             equals(runtime, left.view().dict, right.view().dict);
    default:
      return left.shared() == right.shared();
  }
}

int compare(Runtime& runtime, const Value& left, const Value& right) {
  const std::partial_ordering order = order_of(runtime, left, right);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

bool is_ordered(Runtime& runtime, Comparison comparison, const Value& left, const Value& right) {
  const std::partial_ordering order = order_of(runtime, left, right);
  switch (comparison) {
    case Comparison::kLess:
      return order < 0;
    case Comparison::kLessEqual:
      return order <= 0;
    case Comparison::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

bool contains(Runtime& runtime, const Value& holder, const Value& item) {
  const auto is_it = [&](const Value& one) { return equals(runtime, one, item); };
  switch (holder.kind()) {
    case Kind::kUndefined:
      return false;
    case Kind::kText:
      if (!item.is_text()) fail_type("in a text, \"in\"", item);
      runtime.budget.read(holder.text().size() + item.text().size());
      return find_text(holder.text(), item.text(), 0) != std::string_view::npos;
    case Kind::kDict:
      return holder.dict().find(runtime, item) != nullptr;
    case Kind::kList:
    case Kind::kTuple:
      return std::any_of(holder.items().begin(), holder.items().end(), is_it);
    case Kind::kIterator: {
      std::optional<Value> one;
      do {
        one = holder.iterator().next(runtime);
      } while (one && !is_it(*one));
      return one.has_value();
    }
    default: {
      if (!is_iterable(holder)) fail_type("\"in\"", holder);
      const std::vector<Value> items = all_items(runtime, holder);
      return std::any_of(items.begin(), items.end(), is_it);
    }
  }
}

size_t hash_of(Runtime& runtime, const Value& value) {
  runtime.budget.step();
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return std::hash<double>{}(value.number());
    case Kind::kText:
      runtime.budget.read(value.text().size());
      return std::hash<std::string_view>{}(value.text());
    case Kind::kTuple: {
      const Budget::Nested nested(runtime.budget);
      size_t hash = 7;
      for (const Value& item : value.items()) hash = hash * 31 + hash_of(runtime, item);
      return hash;
    }
    case Kind::kList:
    case Kind::kDict:
    case Kind::kView:
      fail_type("a key or a set", value);
    default:
      return static_cast<size_t>(value.kind());
  }
}

}  // namespace predgen::jinja
