#include "voice/zonos/languages.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <string_view>

#include "core/error.h"
#include "core/suggest.h"
#include "core/text.h"

namespace predgen {

const std::vector<std::string>& zonos_languages() {
  // In order of their ids.
  static constexpr std::string_view kCodes =
      "af am an ar as az ba bg bn bpy bs ca cmn cs cy da de el en-029 en-gb en-gb-scotland "
      "en-gb-x-gbclan en-gb-x-gbcwmd en-gb-x-rp en-us eo es es-419 et eu fa fa-latn fi fr-be "
      "fr-ch fr-fr ga gd gn grc gu hak hi hr ht hu hy hyw ia id is it ja jbo ka kk kl kn ko kok "
      "ku ky la lfn lt lv mi mk ml mr ms mt my nb nci ne nl om or pa pap pl pt pt-br py quc ro ru "
      "ru-lv sd shn si sk sl sq sr sv sw ta te tn tr tt ur uz vi vi-vn-x-central vi-vn-x-south "
      "yue";
  static const std::vector<std::string> languages = [] {
    std::istringstream codes(std::string{kCodes});
    using Code = std::istream_iterator<std::string>;
    return std::vector<std::string>(Code(codes), Code());
  }();
  return languages;
}

namespace {

std::string suggest_language(const std::string& asked) {
  const std::string given = lower_ascii(asked);
  std::vector<std::string> variants;  // of "en"
  std::ranges::copy_if(zonos_languages(), std::back_inserter(variants),
                       [&](const std::string& code) { return code.starts_with(given + "-"); });
  if (given.empty() || variants.empty()) return suggest(given, zonos_languages());
  return fmt::format("say which one, {}", fmt::join(variants, ", "));
}

}  // namespace

int64_t language_id(const std::string& language) {
  const auto& known = zonos_languages();
  const auto found = std::ranges::find(known, language);
  if (found == known.end()) {
    throw UserError("Zonos has no language \"{}\": {}", language, suggest_language(language));
  }
  return found - known.begin();
}

}  // namespace predgen
