// "%s" % value.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/formatting.h"
#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

class PercentFormat {
 public:
  PercentFormat(Runtime& runtime, std::string_view format, const Value& arguments)
      : runtime_(runtime), rest_(format), arguments_(arguments) {}

  std::string run() {
    while (!rest_.empty()) {
      const size_t at = std::min(rest_.find('%'), rest_.size());
      runtime_.budget.append(result_, rest_.substr(0, at));
      rest_.remove_prefix(at);
      if (!rest_.empty()) read_one();
    }
    const bool may_be_unused = arguments_.is(Kind::kDict) || arguments_.is(Kind::kList) ||
                               arguments_.is(Kind::kRange) || arguments_.is_undefined();
    const bool are_all_used = arguments_.is(Kind::kTuple) ? used_ == arguments_.items().size()
                                                          : used_ == 1 || may_be_unused;
    if (!are_all_used) throw Failure("%: not all values are used by the format");
    return std::move(result_);
  }

 private:
  char next() {
    if (rest_.empty()) throw Failure("%: the format is not finished");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  Value next_value() {
    if (arguments_.is(Kind::kTuple)) {
      if (used_ >= arguments_.items().size()) throw Failure("%: not enough values for the format");
      return arguments_.items()[used_++];
    }
    if (used_++ > 0) throw Failure("%: not enough values for the format");
    return arguments_;
  }

  int64_t read_number() {
    if (!rest_.empty() && rest_.front() == '*') {
      next();
      return whole_number(next_value(), "% *");
    }
    int64_t number = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      number = std::min<int64_t>(number * 10 + (next() - '0'), int64_t{1} << 40);
    }
    return number;
  }

  void read_one() {
    next();
    std::optional<Value> named;
    if (!rest_.empty() && rest_.front() == '(') {
      const size_t end = rest_.find(')');
      if (end == std::string_view::npos || !arguments_.is(Kind::kDict)) {
        throw Failure("%: a format with names needs a dict");
      }
      const Value* found = arguments_.dict().find(rest_.substr(1, end - 1));
      if (found == nullptr) throw Failure(fmt::format("%: no \"{}\"", rest_.substr(1, end - 1)));
      named = *found;
      rest_.remove_prefix(end + 1);
    }
    FormatSpec spec{.align = '>'};
    bool has_zeros = false;
    for (; !rest_.empty() &&
           std::string_view("-+ #0").find(rest_.front()) != std::string_view::npos;) {
      const char flag = next();
      if (flag == '-') spec.align = '<';
      if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
      if (flag == '#') spec.is_alternate = true;
      if (flag == '0') has_zeros = true;
    }
    spec.width = read_number();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (!rest_.empty() && rest_.front() == '.') {
      next();
      spec.precision = std::max<int64_t>(read_number(), 0);
    }
    while (!rest_.empty() &&
           std::string_view("hlL").find(rest_.front()) != std::string_view::npos) {
      next();
    }
    const char type = next();
    if (type == '%') return runtime_.budget.append(result_, "%");
    if (has_zeros && spec.align == '>' &&
        std::string_view("diuoxXeEfFgG").find(type) != std::string_view::npos) {
      spec.fill = "0";
      spec.align = '=';
    }
    add(named ? *named : next_value(), spec, type);
  }

  void add(const Value& value, FormatSpec spec, char type) {
    switch (type) {
      case 's':
        return add_text(printed(runtime_, value), spec);
      case 'r':
      case 'a':
        return add_text(represented(runtime_, value), spec);
      case 'c': {
        std::string text;
        if (value.is_whole()) append_code(text, static_cast<char32_t>(whole_number(value, "%c")));
        spec.precision = -1;
        return add_text(value.is_text() ? value.text() : text, spec);
      }
      case 'd':
      case 'i':
      case 'u': {
        spec.type = 'd';
        const Int whole = value.is(Kind::kFloat) ? static_cast<Int>(value.number()) : value.whole();
        if (!value.is_number()) fail_type("%d", value);
        return add_whole(whole, spec);
      }
      case 'o':
      case 'x':
      case 'X':
        if (!value.is_whole()) fail_type("%x", value);
        spec.type = type;
        return add_whole(value.whole(), spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (!value.is_number()) fail_type("%f", value);
        spec.type = type;
        return runtime_.budget.append(result_, formatted_real(runtime_, value.number(), spec));
      default:
        throw Failure(fmt::format("%: the format \"{}\" is not known", type));
    }
  }

  void add_text(const std::string& text, const FormatSpec& spec) {
    runtime_.budget.append(result_, formatted_text(runtime_, text, spec));
  }

  void add_whole(Int value, const FormatSpec& spec) {
    runtime_.budget.append(result_, formatted_whole(runtime_, value, spec));
  }

  Runtime& runtime_;
  std::string_view rest_;
  const Value& arguments_;
  std::string result_;
  size_t used_ = 0;
};

}  // namespace

std::string percent_format(Runtime& runtime, std::string_view format, const Value& arguments) {
  return PercentFormat(runtime, format, arguments).run();
}

}  // namespace predgen::jinja
