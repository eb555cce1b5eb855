#include "runtime/speech/abbreviations.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <span>

#include "runtime/speech/text_rules.h"

namespace predgen {
namespace {

struct Abbreviation {
  std::string_view written, spoken;
};

constexpr Abbreviation kEnglish[] = {
    {"e.g.", "for example"},
    {"i.e.", "that is"},
    {"etc.", "et cetera"},
    {"vs.", "versus"},
    {"approx.", "approximately"},
    {"incl.", "including"},
    {"cf.", "compare"},
    {"a.k.a.", "also known as"},
    {"w/", "with"},
    {"w/o", "without"},
    {"a.m.", "AM"},
    {"p.m.", "PM"},
    {"A.M.", "AM"},
    {"P.M.", "PM"},
    {"Mr.", "Mister"},
    {"Mrs.", "Mrs"},
    {"Ms.", "Ms"},
    {"Dr.", "Doctor"},
    {"Prof.", "Professor"},
    {"Gen.", "General"},
    {"Sen.", "Senator"},
    {"Gov.", "Governor"},
    {"Capt.", "Captain"},
    {"Lt.", "Lieutenant"},
    {"Sgt.", "Sergeant"},
    {"Rev.", "Reverend"},
    {"Jr.", "Junior"},
    {"Sr.", "Senior"},
    {"Ph.D.", "PhD"},
    {"Inc.", "Incorporated"},
    {"Ltd.", "Limited"},
    {"Corp.", "Corporation"},
    {"Co.", "Company"},
    {"Dept.", "Department"},
    {"dept.", "department"},
    {"Mt.", "Mount"},
    {"St.", "Saint"},
    {"Ave.", "Avenue"},
    {"Blvd.", "Boulevard"},
};
constexpr Abbreviation kGerman[] = {
    {"z.B.", "zum Beispiel"},
    {"z. B.", "zum Beispiel"},
    {"d.h.", "das hei\u00dft"},
    {"d. h.", "das hei\u00dft"},
    {"usw.", "und so weiter"},
    {"bzw.", "beziehungsweise"},
    {"ca.", "circa"},
    {"Nr.", "Nummer"},
    {"Dr.", "Doktor"},
    {"Prof.", "Professor"},
    {"Hr.", "Herr"},
    {"u.a.", "unter anderem"},
    {"u. a.", "unter anderem"},
    {"evtl.", "eventuell"},
    {"inkl.", "inklusive"},
    {"vgl.", "vergleiche"},
    {"ggf.", "gegebenenfalls"},
    {"etc.", "et cetera"},
};
constexpr Abbreviation kSpanish[] = {
    {"Sr.", "se\u00f1or"},    {"Sra.", "se\u00f1ora"},       {"Srta.", "se\u00f1orita"},
    {"Dr.", "doctor"},        {"Dra.", "doctora"},           {"p. ej.", "por ejemplo"},
    {"p.ej.", "por ejemplo"}, {"etc.", "etc\u00e9tera"},     {"Ud.", "usted"},
    {"Uds.", "ustedes"},      {"aprox.", "aproximadamente"},
};
constexpr Abbreviation kFrench[] = {
    {"M.", "Monsieur"},
    {"p. ex.", "par exemple"},
    {"p.ex.", "par exemple"},
    {"etc.", "et cetera"},
    {"c.-\u00e0-d.", "c'est-\u00e0-dire"},
    {"env.", "environ"},
    {"MM.", "Messieurs"},
};
constexpr Abbreviation kItalian[] = {
    {"Sig.", "signor"},       {"Sig.ra", "signora"}, {"Dott.", "dottor"},
    {"Prof.", "professor"},   {"ecc.", "eccetera"},  {"ad es.", "ad esempio"},
    {"p.es.", "per esempio"}, {"ca.", "circa"},
};
// Only where a number follows: "No. 5", not "No."
constexpr Abbreviation kBeforeNumber[] = {
    {"No.", "number"},    {"no.", "number"},    {"Nos.", "numbers"},   {"Fig.", "Figure"},
    {"fig.", "figure"},   {"Vol.", "Volume"},   {"vol.", "volume"},    {"Ch.", "Chapter"},
    {"ch.", "chapter"},   {"p.", "page"},       {"pp.", "pages"},      {"Jan.", "January"},
    {"Feb.", "February"}, {"Mar.", "March"},    {"Apr.", "April"},     {"Jun.", "June"},
    {"Jul.", "July"},     {"Aug.", "August"},   {"Sep.", "September"}, {"Sept.", "September"},
    {"Oct.", "October"},  {"Nov.", "November"}, {"Dec.", "December"},
};

std::span<const Abbreviation> abbreviations_of(std::string_view language) {
  if (language.starts_with("en")) return kEnglish;
  if (language.starts_with("de")) return kGerman;
  if (language.starts_with("es")) return kSpanish;
  if (language.starts_with("fr")) return kFrench;
  if (language.starts_with("it")) return kItalian;
  return {};
}

/// A pattern of all of them, the longest first.
Regex any_of(std::span<const Abbreviation> abbreviations, std::string_view behind) {
  std::vector<std::string> written;
  for (const auto& abbreviation : abbreviations) written.emplace_back(abbreviation.written);
  std::ranges::sort(written, std::greater(), &std::string::size);
  std::string pattern("(?<![\\p{L}\\p{N}.])(");
  for (const std::string& one : written) {
    if (pattern.back() != '(') pattern += '|';
    for (const char c : one) {
      if (c == '.') pattern += '\\';
      pattern += c;
    }
  }
  pattern.append(")").append(behind);
  return Regex(pattern, Regex::Syntax::kPattern, "text for speech");
}

/// With the point that also ends the sentence.
std::string with_end(std::string words, std::string_view written, std::string_view rest) {
  const bool ends =
      written.ends_with('.') && rest.find_first_not_of("\"')]* \n") == std::string_view::npos;
  return ends ? words.append(".") : words;
}

std::string spoken(std::span<const Abbreviation> abbreviations, const Regex& regex,
                   std::string_view text) {
  return replace_each(regex, text, [&](std::string_view match, std::string_view rest) {
    const auto found = std::ranges::find(abbreviations, match, &Abbreviation::written);
    return with_end(std::string(found->spoken), match, rest);
  });
}

/// "168 Hamilton St.", "5 Oak Dr.": otherwise they are a saint and a doctor.
std::string spoken_streets(std::string_view text) {
  constexpr Abbreviation kStreets[] = {
      {"St.", "Street"}, {"Dr.", "Drive"}, {"Rd.", "Road"}, {"Ln.", "Lane"}, {"Ct.", "Court"}};
  static const Regex street(
      R"((?<![0-9.,])[0-9]+[a-z]*\s(\p{Lu}[\p{L}.]*\s){1,3}(St|Dr|Rd|Ln|Ct)\.)",
      Regex::Syntax::kPattern, "text for speech");
  return replace_each(street, text, [&](std::string_view match, std::string_view rest) {
    const size_t begin = match.size() - 3;
    const auto found = std::ranges::find(kStreets, match.substr(begin), &Abbreviation::written);
    return with_end(std::string(match.substr(0, begin)).append(found->spoken), match, rest);
  });
}

/// U.S., J. K. Rowling.
std::string joined_initials(std::string_view text) {
  static const Regex dotted(R"((?<![\p{L}\p{N}.])(\p{Lu}\.){2,})", Regex::Syntax::kPattern,
                            "text for speech");
  static const Regex initial(R"((?<![\p{L}\p{N}.])\p{Lu}\.(?=\s\p{Lu}))", Regex::Syntax::kPattern,
                             "text for speech");
  const auto without_points = [](std::string_view match, std::string_view rest) {
    std::string letters(match);
    std::erase(letters, '.');
    return with_end(std::move(letters), match, rest);
  };
  return replace_each(initial, replace_each(dotted, text, without_points), without_points);
}

}  // namespace

std::string spoken_abbreviations(std::string_view text, std::string_view language) {
  static const std::map<std::string_view, Regex> regexes = [] {
    std::map<std::string_view, Regex> result;
    for (const std::string_view code : {"de", "en", "es", "fr", "it"}) {
      result.emplace(code, any_of(abbreviations_of(code), "(?![\\p{L}\\p{N}])"));
    }
    return result;
  }();
  static const Regex before_number = any_of(kBeforeNumber, "(?=\\s?[0-9])");
  std::string result(text);
  const auto regex = regexes.find(language.substr(0, language.find('-')));
  if (regex != regexes.end()) {
    if (regex->first == "en") {
      result = spoken_streets(spoken(kBeforeNumber, before_number, result));
    }
    result = spoken(abbreviations_of(regex->first), regex->second, result);
  }
  return joined_initials(result);
}

}  // namespace predgen
