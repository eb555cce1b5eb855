#include "model/text_normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/error.h"

namespace predgen {

TextNormalizer::TextNormalizer(const Json& normalizer, const std::string& where) {
  if (!normalizer.is_null()) add(normalizer, where);
}

void TextNormalizer::add(const Json& normalizer, const std::string& where) {
  const std::string type = json_get<std::string>(normalizer, "type", where);
  if (type == "Sequence") {
    for (const Json& step : json_get<Json>(normalizer, "normalizers", where)) add(step, where);
  } else if (type == "NFC") {
    forms_.push_back(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  } else if (type == "NFD") {
    forms_.push_back(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
  } else if (type == "NFKC") {
    forms_.push_back(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  } else if (type == "NFKD") {
    forms_.push_back(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  } else {
    throw UserError("{}: normalizer type \"{}\" is not supported (NFC, NFD, NFKC, NFKD, Sequence)",
                    where, type);
  }
}

std::string TextNormalizer::normalize(std::string_view text) const {
  std::string result(text);
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<signed char>(c) >= 0; });
  if (ascii) return result;  // every form leaves ASCII as it is
  for (const int form : forms_) {
    utf8proc_uint8_t* output = nullptr;
    const utf8proc_ssize_t length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(result.data()),
                     static_cast<utf8proc_ssize_t>(result.size()), &output,
                     static_cast<utf8proc_option_t>(form));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(output, &std::free);
    if (length < 0) throw Error("cannot normalise text: {}", utf8proc_errmsg(length));
    result.assign(reinterpret_cast<const char*>(output), static_cast<size_t>(length));
  }
  return result;
}

}  // namespace predgen
