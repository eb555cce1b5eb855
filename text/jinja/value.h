#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json.h"
#include "text/jinja/budget.h"

namespace predgen::jinja {

__extension__ typedef __int128 Int;  // Python's have no limit; results that do not fit are refused

class Runtime;
class Value;

struct Object {
  virtual ~Object() = default;
};

/// The types of Python that a template can see. kIterator: a generator or another iterator.
/// kCustom: a function, a macro, `loop` and the like.
enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kList,
  kTuple,
  kDict,
  kRange,
  kView,
  kIterator,
  kNamespace,
  kCustom
};

struct Text;
struct List;
struct Dict;
struct Range;
struct View;
struct Iterator;
struct Namespace;
struct Custom;

/// A value of a template, as Python has it. All but iterators and namespaces are immutable, and
/// copies share what they hold.
class Value {
 public:
  Value() = default;  // undefined
  static Value none() { return Value(Kind::kNone); }
  static Value boolean(bool value);
  static Value integer(Int value);
  static Value real(double value);
  /// `why`: the error of what needs a value.
  static Value undefined(std::string why);
  Value(Kind kind, std::shared_ptr<const Object> object)
      : kind_(kind), object_(std::move(object)) {}

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_undefined() const { return is(Kind::kUndefined); }
  bool is_none() const { return is(Kind::kNone); }
  bool is_text() const { return is(Kind::kText); }
  bool is_sequence() const { return is(Kind::kList) || is(Kind::kTuple); }
  bool is_whole() const { return is(Kind::kInt) || is(Kind::kBool); }
  bool is_number() const { return is_whole() || is(Kind::kFloat); }

  Int whole() const { return int_; }  // of is_whole()
  double number() const { return is(Kind::kFloat) ? float_ : static_cast<double>(int_); }
  const std::string& text() const;
  const Text& text_object() const { return object<Text>(); }
  const std::vector<Value>& items() const;  // of is_sequence()
  const List& list() const { return object<List>(); }
  const Dict& dict() const { return object<Dict>(); }
  const Range& range() const { return object<Range>(); }
  const View& view() const { return object<View>(); }
  const Custom& custom() const { return object<Custom>(); }
  Iterator& iterator() const;
  Namespace& name_space() const;
  const std::shared_ptr<const Object>& shared() const { return object_; }

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  template <typename T>
  const T& object() const {
    return static_cast<const T&>(*object_);
  }

  Kind kind_ = Kind::kUndefined;
  union {
    Int int_ = 0;
    double float_;
  };
  std::shared_ptr<const Object> object_;
};

/// What a function is called with.
struct Arguments {
  std::vector<Value> positional{};
  std::vector<std::pair<std::string, Value>> named{};
};

/// UTF-8, but for bytes that stand for what a template must not see: each counts as a character.
struct Text : Object {
  std::string text;
  bool is_safe = false;  // Markup: marked as HTML
  bool is_ascii = true;
  size_t num_characters = 0;
  Budget::Held held;

  Text(std::string value, bool safe);
  Text(Budget& budget, std::string value, bool safe);
};

struct List : Object {
  std::vector<Value> items;
  int depth = 1;          // of lists and dictionaries in each other
  bool is_group = false;  // of `groupby`
  Budget::Held held;

  List(Budget& budget, std::vector<Value> values);
};

struct Dict : Object {
  std::vector<std::pair<Value, Value>> items;
  int depth = 1;
  Budget::Held held;

  /// The last of several equal keys counts, at the place of the first.
  Dict(Runtime& runtime, std::vector<std::pair<Value, Value>>&& pairs);
  const Value* find(Runtime& runtime, const Value& key) const;
  const Value* find(std::string_view key) const;

 private:
  std::unordered_multimap<size_t, size_t> index_;  // hash -> place
};

struct Range : Object {
  Int start, stop, step;

  Range(Int first, Int end, Int by) : start(first), stop(end), step(by) {}
  Int size() const;
};

/// keys(), values() or items() of a dictionary.
struct View : Object {
  enum class Of { kKeys, kValues, kItems };
  Value dict;
  Of of;

  View(Value whose, Of what) : dict(std::move(whose)), of(what) {}
};

/// Its values are made when the first is asked for.
struct Iterator : Object {
  std::string type;
  std::function<std::vector<Value>(Runtime&)> make;
  std::vector<Value> values{};
  size_t at = 0;
  Budget::Held held{};

  Iterator(std::string name, std::function<std::vector<Value>(Runtime&)> maker)
      : type(std::move(name)), make(std::move(maker)) {}
  std::optional<Value> next(Runtime& runtime);
};

struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  Budget::Held held;

  Value* find(std::string_view name);
};

struct Custom : Object {
  std::string printed;
  std::function<std::optional<Value>(Runtime&, std::string_view)> attribute{};  // may be empty
  std::function<Value(Runtime&, const Arguments&)> call{};                      // may be empty
  Budget::Held held{};
};

/// What one rendering shares. What it makes ends before it.
class Runtime {
 public:
  explicit Runtime(Budget& whose) : budget(whose) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  Budget& budget;

  Value text(std::string value, bool is_safe = false);
  Value list(std::vector<Value> values);
  Value tuple(std::vector<Value> values);
  Value dict(std::vector<std::pair<Value, Value>> pairs);
  Value name_space();
  Value function(std::string name, std::function<Value(Runtime&, const Arguments&)> call);
  Value iterator(std::string type, std::function<std::vector<Value>(Runtime&)> make);
  Value from_json(const Json& json);
  /// Calls `clear` at the end: it ends what holds itself.
  void at_end(std::function<void()> clear);

 private:
  std::vector<std::function<void()>> at_end_;
};

}  // namespace predgen::jinja
