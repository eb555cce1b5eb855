// Python's arithmetic.
#include <fmt/format.h>

#include <cmath>

#include "text/jinja/functions.h"
#include "text/jinja/operations.h"

namespace predgen::jinja {
namespace {

[[noreturn]] void fail_size() { throw Failure("a whole number has more than 128 bits"); }

Int floor_divided(Int left, Int right) {
  if (right == 0) throw Failure("division by zero");
  if (right == -1) {
    Int result = 0;
    if (__builtin_sub_overflow(Int{0}, left, &result)) fail_size();
    return result;
  }
  const Int quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

double floored_remainder(double left, double right) {
  if (right == 0) throw Failure("division by zero");
  const double rest = std::fmod(left, right);
  if (rest == 0) return std::copysign(0.0, right);
  return (rest < 0) != (right < 0) ? rest + right : rest;
}

Value whole_power(Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0) throw Failure("division by zero");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return Value::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::integer(exponent % 2 == 0 ? 1 : -1);
  Int result = 1;
  for (Int i = 0; i < exponent; ++i) {  // ends soon: the base is at least 2
    if (__builtin_mul_overflow(result, base, &result)) fail_size();
  }
  return Value::integer(result);
}

Value calculate_whole(Operator what, Int left, Int right) {
  Int result = 0;
  bool is_too_big = false;
  switch (what) {
    case Operator::kAdd:
      is_too_big = __builtin_add_overflow(left, right, &result);
      break;
    case Operator::kSubtract:
      is_too_big = __builtin_sub_overflow(left, right, &result);
      break;
    case Operator::kMultiply:
      is_too_big = __builtin_mul_overflow(left, right, &result);
      break;
    case Operator::kDivide:
      if (right == 0) throw Failure("division by zero");
      return Value::real(static_cast<double>(left) / static_cast<double>(right));
    case Operator::kFloorDivide:
      result = floor_divided(left, right);
      break;
    case Operator::kModulo:
      result = right == -1 ? 0 : left - right * floor_divided(left, right);
      break;
    case Operator::kPower:
      return whole_power(left, right);
  }
  if (is_too_big) fail_size();
  return Value::integer(result);
}

Value calculate_real(Operator what, double left, double right) {
  switch (what) {
    case Operator::kAdd:
      return Value::real(left + right);
    case Operator::kSubtract:
      return Value::real(left - right);
    case Operator::kMultiply:
      return Value::real(left * right);
    case Operator::kDivide:
      if (right == 0) throw Failure("division by zero");
      return Value::real(left / right);
    case Operator::kFloorDivide:
      return Value::real(std::floor((left - floored_remainder(left, right)) / right + 0.5));
    case Operator::kModulo:
      return Value::real(floored_remainder(left, right));
    case Operator::kPower: {
      if (left == 0 && right < 0) throw Failure("division by zero");
      const double result = std::pow(left, right);
      if (std::isnan(result) && !std::isnan(left) && !std::isnan(right)) {
        throw Failure("a power that is a complex number is not supported");
      }
      if (std::isinf(result) && std::isfinite(left) && std::isfinite(right)) {
        throw Failure("a power is too large");
      }
      return Value::real(result);
    }
  }
  return {};
}

Value added(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is_text() && right.is_text()) {
    const bool is_safe = left.text_object().is_safe || right.text_object().is_safe;
    const auto part = [&](const Value& value) {
      return is_safe && !value.text_object().is_safe ? html_escaped(value.text()) : value.text();
    };
    runtime.budget.write(left.text().size() + right.text().size());
    return runtime.text(part(left) + part(right), is_safe);
  }
  std::vector<Value> items = left.items();
  items.insert(items.end(), right.items().begin(), right.items().end());
  return left.is(Kind::kList) ? runtime.list(std::move(items)) : runtime.tuple(std::move(items));
}

Value repeated(Runtime& runtime, const Value& value, Int count) {
  const size_t times = count <= 0 ? 0 : static_cast<size_t>(std::min(count, Int{1} << 40));
  if (value.is_text()) {
    runtime.budget.write_times(times, value.text().size());
    std::string result;
    result.reserve(times * value.text().size());
    for (size_t i = 0; i < times && !value.text().empty(); ++i) result += value.text();
    return runtime.text(std::move(result), value.text_object().is_safe);
  }
  runtime.budget.write_times(times, value.items().size() * sizeof(Value));
  std::vector<Value> items;
  for (size_t i = 0; i < times && !value.items().empty(); ++i) {
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is(Kind::kList) ? runtime.list(std::move(items)) : runtime.tuple(std::move(items));
}

}  // namespace

Value calculate(Runtime& runtime, Operator what, const Value& left, const Value& right) {
  if (left.is_whole() && right.is_whole()) {
    return calculate_whole(what, left.whole(), right.whole());
  }
  if (left.is_number() && right.is_number()) {
    return calculate_real(what, left.number(), right.number());
  }
  if (what == Operator::kModulo && left.is_text()) {
    return runtime.text(percent_format(runtime, left.text(), right));
  }
  for (const Value* value : {&left, &right}) {
    if (value->is_undefined()) fail_undefined(*value);
  }
  const bool are_alike = left.kind() == right.kind() && (left.is_text() || left.is_sequence());
  if (what == Operator::kAdd && are_alike) return added(runtime, left, right);
  const auto can_repeat = [](const Value& value) { return value.is_text() || value.is_sequence(); };
  if (what == Operator::kMultiply && can_repeat(left) && right.is_whole()) {
    return repeated(runtime, left, right.whole());
  }
  if (what == Operator::kMultiply && left.is_whole() && can_repeat(right)) {
    return repeated(runtime, right, left.whole());
  }
  constexpr const char* kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};
  throw Failure(fmt::format("{} does not take values of the types {} and {}",
                            kSigns[static_cast<size_t>(what)], type_name(left), type_name(right)));
}

Value negated(const Value& value) {
  if (value.is(Kind::kFloat)) return Value::real(-value.number());
  if (!value.is_whole()) fail_type("-", value);
  Int result = 0;
  if (__builtin_sub_overflow(Int{0}, value.whole(), &result)) fail_size();
  return Value::integer(result);
}

double rounded(double number, Int precision) {
  if (!std::isfinite(number) || precision > 300) return number;
  if (precision < -300) return std::copysign(0.0, number);
  const int digits = static_cast<int>(precision);
  if (digits >= 0) return std::strtod(fmt::format("{:.{}f}", number, digits).c_str(), nullptr);
  const double scale = std::pow(10.0, -digits);
  return std::nearbyint(number / scale) * scale;
}

int64_t whole_number(const Value& value, std::string_view what) {
  if (!value.is_whole()) fail_type(what, value);
  const Int number = value.whole();
  if (number > INT64_MAX || number < INT64_MIN) {
    throw Failure(fmt::format("{} has more than 64 bits", what));
  }
  return static_cast<int64_t>(number);
}

}  // namespace predgen::jinja
