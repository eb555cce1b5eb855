#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/error.h"
#include "text/regex_syntax.h"

namespace predgen {
namespace {

std::string error_text(int error) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(error, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

/// Room for the bounds of the whole match; groups are not needed. One per thread.
pcre2_match_data* match_data() {
  thread_local const std::unique_ptr<pcre2_match_data, FreeMatch> data(
      pcre2_match_data_create(1, nullptr));
  return data.get();
}

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool has_jit = false;
  std::string pattern, where;  // for errors
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(const std::string& pattern, Syntax syntax, const std::string& where)
    : code_(std::make_unique<Code>()) {
  const std::string source = syntax == Syntax::kPattern ? pcre2_syntax(pattern, where) : pattern;
  const bool searches = syntax == Syntax::kPattern || syntax == Syntax::kPython;
  const uint32_t options = searches                     ? PCRE2_UTF | PCRE2_UCP
                           : syntax == Syntax::kLiteral ? PCRE2_UTF | PCRE2_LITERAL
                                                        : PCRE2_ANCHORED | PCRE2_ENDANCHORED;
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), options,
                              &error, &offset, nullptr);
  if (!code_->code) {
    throw UserError("{}: bad pattern {}: {}", where, pattern, error_text(error));
  }
  uint32_t matches_empty = 0;
  pcre2_pattern_info(code_->code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty && syntax != Syntax::kWholeName) {
    throw UserError("{}: the pattern \"{}\" matches the empty text, which is not supported", where,
                    pattern);
  }
  code_->pattern = pattern;
  code_->where = where;
  // Without JIT support the interpreter runs the same pattern.
  code_->has_jit = pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE) == 0;
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::find(std::string_view text, size_t start, Match& match) const {
  if (start >= text.size()) return false;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  pcre2_match_data* const data = match_data();
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code_->has_jit) {
    result = pcre2_jit_match(code_->code, subject, text.size(), start, 0, data, nullptr);
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter's stack grows on the heap
    result = pcre2_match(code_->code, subject, text.size(), start,
                         PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, nullptr);
  }
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) {
    throw UserError("{}: the pattern {} fails on this text: {}", code_->where, code_->pattern,
                    error_text(result));
  }
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data);
  match = {bounds[0], bounds[1]};
  return true;
}

std::string Regex::replace_all(std::string_view text, std::string_view content) const {
  std::string result;
  size_t end = 0;
  Match match;
  while (find(text, end, match)) {
    result.append(text, end, match.begin - end).append(content);
    end = match.end;
  }
  return result.append(text, end);
}

}  // namespace predgen
