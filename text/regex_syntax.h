#pragma once

#include <string>

namespace predgen {

/// A pattern of tokenizer.json, which is written for Oniguruma, as a pattern for PCRE2 (options
/// UTF, UCP) that matches the same text. \s, \d, \p{L}, \p{M}, \p{N} and \p{Nd} mean what they mean
/// there; other properties follow PCRE2's Unicode version. UserError naming `where` for syntax that
/// the two engines read differently.
std::string pcre2_syntax(const std::string& pattern, const std::string& where);

}  // namespace predgen
