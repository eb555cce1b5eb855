#include "core/page/page_with_data.h"

#include "core/error.h"

namespace predgen {

std::string page_with_data(std::string_view page, const Json& data) {
  constexpr std::string_view kPlace = "@DATA@";
  const size_t place = page.find(kPlace);
  PREDGEN_CHECK(place != std::string_view::npos, "a page without {}", kPlace);
  std::string whole(page.substr(0, place));
  for (const char c : to_text(data)) {
    if (c == '<') {  // only strings have it, so it may be escaped wherever it stands
      whole += "\\u003c";
    } else {
      whole += c;
    }
  }
  return whole.append(page.substr(place + kPlace.size()));
}

}  // namespace predgen
