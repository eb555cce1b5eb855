#include "text/tokenize/text_normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/unicode_gaps.h"
#include "text/utf8.h"

namespace predgen {
namespace {

void append_form(std::string_view text, int options, std::string& result) {
  if (text.empty()) return;
  utf8proc_uint8_t* output = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &output, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(output, &std::free);
  if (length < 0) throw Error("cannot normalise text: {}", utf8proc_errmsg(length));
  result.append(reinterpret_cast<const char*>(output), static_cast<size_t>(length));
}

}  // namespace

TextNormalizer::TextNormalizer(const Json& normalizer, const std::string& where) {
  if (!normalizer.is_null()) add(normalizer, where);
}

void TextNormalizer::add(const Json& normalizer, const std::string& where) {
  const std::string type = json_get<std::string>(normalizer, "type", where);
  if (type == "Sequence") {
    for (const Json& step : json_get<Json>(normalizer, "normalizers", where)) add(step, where);
  } else if (type == "NFC") {
    steps_.emplace_back(Form{UTF8PROC_STABLE | UTF8PROC_COMPOSE});
  } else if (type == "NFD") {
    steps_.emplace_back(Form{UTF8PROC_STABLE | UTF8PROC_DECOMPOSE});
  } else if (type == "NFKC") {
    steps_.emplace_back(Form{UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT});
  } else if (type == "NFKD") {
    steps_.emplace_back(Form{UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT});
  } else if (type == "Prepend") {
    steps_.emplace_back(Prepend{json_get<std::string>(normalizer, "prepend", where)});
  } else if (type == "Replace") {
    steps_.emplace_back(Replace{read_pattern(normalizer, where),
                                json_get<std::string>(normalizer, "content", where)});
  } else {
    throw UserError(
        "{}: normalizer type \"{}\" is not supported (NFC, NFD, NFKC, NFKD, Prepend, Replace, "
        "Sequence)",
        where, type);
  }
}

void TextNormalizer::Form::apply(std::string& text) const {
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<signed char>(c) >= 0; });
  if (ascii) return;  // every form leaves ASCII unchanged
  std::string result;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    if (!is_newer_than_normal_forms(next_character(text, at))) continue;
    append_form(std::string_view(text).substr(begin, start - begin), options, result);
    result.append(text, start, at - start);
    begin = at;
  }
  append_form(std::string_view(text).substr(begin), options, result);
  text = std::move(result);
}

void TextNormalizer::Prepend::apply(std::string& text) const {
  if (!text.empty()) text.insert(0, prefix);
}

void TextNormalizer::Replace::apply(std::string& text) const {
  text = pattern.replace_all(text, content);
}

std::string TextNormalizer::normalize(std::string_view text) const {
  std::string result(text);
  for (const auto& step : steps_) {
    std::visit([&](const auto& s) { s.apply(result); }, step);
    check_growth(result, text);
  }
  return result;
}

}  // namespace predgen
