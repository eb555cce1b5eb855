#include "text/jinja/value.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

constexpr int kMostNested = 150;  // of lists and dictionaries in each other
constexpr size_t kFewItems = 8;

struct Hint : Object {
  std::string why;
  explicit Hint(std::string text) : why(std::move(text)) {}
};

int depth_of(const Value& value) {
  if (value.is_sequence()) return value.list().depth;
  return value.is(Kind::kDict) ? value.dict().depth : 0;
}

int deeper(int depth, const Value& item) {
  const int result = std::max(depth, 1 + depth_of(item));
  if (result > kMostNested) throw TooMuch("its lists and dictionaries are nested too deep");
  return result;
}

}  // namespace

Value Value::boolean(bool value) {
  Value result(Kind::kBool);
  result.int_ = value ? 1 : 0;
  return result;
}

Value Value::integer(Int value) {
  Value result(Kind::kInt);
  result.int_ = value;
  return result;
}

Value Value::real(double value) {
  Value result(Kind::kFloat);
  result.float_ = value;
  return result;
}

Value Value::undefined(std::string why) {
  return {Kind::kUndefined, std::make_shared<Hint>(std::move(why))};
}

const std::string& Value::text() const { return text_object().text; }
const std::vector<Value>& Value::items() const { return list().items; }

Iterator& Value::iterator() const {
  return const_cast<Iterator&>(object<Iterator>());  // made mutable
}

Namespace& Value::name_space() const {
  return const_cast<Namespace&>(object<Namespace>());  // made mutable
}

void fail_undefined(const Value& value) {
  throw Failure(value.shared() ? static_cast<const Hint&>(*value.shared()).why
                               : std::string("a value is undefined"));
}

Text::Text(std::string value, bool safe) : text(std::move(value)), is_safe(safe) {
  is_ascii = std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
  num_characters = is_ascii ? text.size() : count_characters(text);
}

Text::Text(Budget& budget, std::string value, bool safe)
    : Text((budget.write(value.size()), std::move(value)), safe) {
  held.attach(budget, sizeof(Text) + text.size());
}

List::List(Budget& budget, std::vector<Value> values)
    : items(std::move(values)), held(budget, sizeof(List) + items.size() * sizeof(Value)) {
  budget.step(static_cast<int64_t>(items.size()));
  for (const Value& item : items) depth = deeper(depth, item);
}

Dict::Dict(Runtime& runtime, std::vector<std::pair<Value, Value>>&& pairs) {
  items.reserve(pairs.size());
  held.attach(runtime.budget, sizeof(Dict) + pairs.size() * (2 * sizeof(Value) + 32));
  for (auto& [key, value] : pairs) {
    depth = deeper(depth, value);
    const size_t hash = hash_of(runtime, key);
    if (const Value* old = find(runtime, key)) {
      *const_cast<Value*>(old) = std::move(value);  // of this unfinished dictionary
      continue;
    }
    items.emplace_back(std::move(key), std::move(value));
    if (items.size() > kFewItems && index_.empty()) {
      for (size_t i = 0; i + 1 < items.size(); ++i) {
        index_.emplace(hash_of(runtime, items[i].first), i);
      }
    }
    if (items.size() > kFewItems) index_.emplace(hash, items.size() - 1);
  }
}

const Value* Dict::find(Runtime& runtime, const Value& key) const {
  const size_t hash = hash_of(runtime, key);
  if (index_.empty()) {
    for (const auto& [mine, value] : items) {
      if (equals(runtime, mine, key)) return &value;
    }
    return nullptr;
  }
  const auto [begin, end] = index_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (equals(runtime, items[at->second].first, key)) return &items[at->second].second;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  const auto is_it = [&](const auto& item) {
    return item.first.is_text() && item.first.text() == key;
  };
  if (index_.empty()) {
    const auto found = std::find_if(items.begin(), items.end(), is_it);
    return found == items.end() ? nullptr : &found->second;
  }
  const auto [begin, end] = index_.equal_range(std::hash<std::string_view>{}(key));
  for (auto at = begin; at != end; ++at) {
    if (is_it(items[at->second])) return &items[at->second].second;
  }
  return nullptr;
}

Int Range::size() const {
  const Int span = step > 0 ? stop - start : start - stop;
  const Int stride = step > 0 ? step : -step;
  return span <= 0 ? 0 : (span + stride - 1) / stride;
}

std::optional<Value> Iterator::next(Runtime& runtime) {
  if (make) {
    const auto maker = std::exchange(make, nullptr);
    values = maker(runtime);
    held.attach(runtime.budget, values.size() * sizeof(Value));
  }
  if (at == values.size()) return std::nullopt;
  return values[at++];
}

Value* Namespace::find(std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& item) { return item.first == name; });
  return found == attributes.end() ? nullptr : &found->second;
}

Runtime::~Runtime() {
  for (const auto& clear : at_end_) clear();
}

Value Runtime::text(std::string value, bool is_safe) {
  return {Kind::kText, std::make_shared<Text>(budget, std::move(value), is_safe)};
}

void Runtime::at_end(std::function<void()> clear) {
  budget.hold(8 * sizeof(clear));  // until then
  at_end_.push_back(std::move(clear));
}

Value Runtime::list(std::vector<Value> values) {
  return {Kind::kList, std::make_shared<List>(budget, std::move(values))};
}

Value Runtime::tuple(std::vector<Value> values) {
  return {Kind::kTuple, std::make_shared<List>(budget, std::move(values))};
}

Value Runtime::dict(std::vector<std::pair<Value, Value>> pairs) {
  return {Kind::kDict, std::make_shared<Dict>(*this, std::move(pairs))};
}

Value Runtime::name_space() {
  const auto made = std::make_shared<Namespace>();
  made->held.attach(budget, sizeof(Namespace));
  at_end([made] { made->attributes.clear(); });
  return {Kind::kNamespace, made};
}

Value Runtime::function(std::string name, std::function<Value(Runtime&, const Arguments&)> call) {
  budget.step();
  const auto made = std::make_shared<Custom>();
  made->held.attach(budget, sizeof(Custom));
  made->printed = std::move(name);
  made->call = std::move(call);
  return {Kind::kCustom, made};
}

Value Runtime::iterator(std::string type, std::function<std::vector<Value>(Runtime&)> make) {
  const auto made = std::make_shared<Iterator>(std::move(type), std::move(make));
  made->held.attach(budget, sizeof(Iterator));
  return {Kind::kIterator, made};
}

Value Runtime::from_json(const Json& json) {
  const Budget::Nested nested(budget);
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::integer(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      return Value::integer(json.get<uint64_t>());
    case Json::value_t::number_float:
      return Value::real(json.get<double>());
    case Json::value_t::string:
      return text(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) items.push_back(from_json(item));
      return list(std::move(items));
    }
    case Json::value_t::object: {
      std::vector<std::pair<Value, Value>> pairs;
      pairs.reserve(json.size());
      for (const auto& [key, item] : json.items()) pairs.emplace_back(text(key), from_json(item));
      return dict(std::move(pairs));
    }
    default:
      return Value::none();
  }
}

}  // namespace predgen::jinja
