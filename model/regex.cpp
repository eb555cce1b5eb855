#include "model/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/error.h"

namespace predgen {
namespace {

/// Tokenizer patterns are written for Oniguruma, whose \s is Unicode's White_Space. PCRE2's has
/// U+180E besides; so the class is spelled out.
constexpr std::string_view kWhiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

std::string spell_out_white_space(const std::string& pattern, const std::string& where) {
  std::string result;
  bool in_class = false;
  for (size_t index = 0; index < pattern.size(); ++index) {
    const char c = pattern[index];
    if (c == '\\' && index + 1 < pattern.size()) {
      const char escaped = pattern[++index];
      if (escaped == 's') {
        result += in_class ? std::string(kWhiteSpace) : fmt::format("[{}]", kWhiteSpace);
      } else if (escaped == 'S' && in_class) {
        throw UserError("{}: \\S inside [] is not supported in {}", where, pattern);
      } else if (escaped == 'S') {
        result += fmt::format("[^{}]", kWhiteSpace);
      } else {
        result += {c, escaped};
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    result += c;
  }
  return result;
}

std::string error_text(int error) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(error, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(const std::string& pattern, Syntax syntax, const std::string& where)
    : code_(std::make_unique<Code>()) {
  const bool literal = syntax == Syntax::kLiteral;
  const std::string source = literal ? pattern : spell_out_white_space(pattern, where);
  const uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), options,
                              &error, &offset, nullptr);
  if (!code_->code) {
    throw UserError("{}: bad pattern {}: {}", where, pattern, error_text(error));
  }
  // Without JIT support the interpreter runs the same pattern.
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::vector<Regex::Match> Regex::find_all(std::string_view text) const {
  const std::unique_ptr<pcre2_match_data, FreeMatch> data(
      pcre2_match_data_create_from_pattern(code_->code, nullptr));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  std::vector<Match> matches;
  size_t start = 0;
  while (start < text.size()) {
    int result = pcre2_match(code_->code, subject, text.size(), start,
                             PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data.get(), nullptr);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter's stack grows on the heap
      result = pcre2_match(code_->code, subject, text.size(), start,
                           PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | PCRE2_NO_JIT, data.get(), nullptr);
    }
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) throw Error("cannot split text into words: {}", error_text(result));
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data.get());
    matches.push_back({bounds[0], bounds[1]});
    start = bounds[1];
  }
  return matches;
}

}  // namespace predgen
