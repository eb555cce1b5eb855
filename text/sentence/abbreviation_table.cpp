#include "text/sentence/abbreviation_table.h"

#include <algorithm>

#include "core/text.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr auto kBeforeNumber = PointUse::kBeforeNumber;
constexpr auto kMayEnd = PointUse::kMayEnd;

constexpr Abbreviation kEnglish[] = {
    {"e.g.", "for example"},
    {"i.e.", "that is"},
    {"viz.", "namely"},
    {"esp.", "especially"},
    {"vs.", "versus"},
    {"approx.", "approximately"},
    {"incl.", "including"},
    {"cf.", "compare"},
    {"a.k.a.", "also known as"},
    {"w/", "with"},
    {"w/o", "without"},
    {"mr.", "Mister"},
    {"mrs.", "Mrs"},
    {"Ms.", "Ms"},
    {"mx.", "Mx"},
    {"messrs.", "Messrs"},
    {"dr.", "Doctor"},
    {"prof.", "Professor"},
    {"Gen.", "General"},
    {"Sen.", "Senator"},
    {"Rep.", "Representative"},
    {"Gov.", "Governor"},
    {"Capt.", "Captain"},
    {"Col.", "Colonel"},
    {"Lt.", "Lieutenant"},
    {"Sgt.", "Sergeant"},
    {"Cpl.", "Corporal"},
    {"Rev.", "Reverend"},
    {"Hon.", "Honorable"},
    {"Pres.", "President"},
    {"Supt.", "Superintendent"},
    {"Mt.", "Mount"},
    {"Ft.", "Fort"},
    {"St.", "Saint"},
    {"etc.", "et cetera", kMayEnd},
    {"a.m.", "AM", kMayEnd},
    {"p.m.", "PM", kMayEnd},
    {"A.M.", "AM", kMayEnd},
    {"P.M.", "PM", kMayEnd},
    {"jr.", "Junior", kMayEnd},
    {"Sr.", "Senior", kMayEnd},
    {"Ph.D.", "PhD", kMayEnd},
    {"inc.", "Incorporated", kMayEnd},
    {"ltd.", "Limited", kMayEnd},
    {"corp.", "Corporation", kMayEnd},
    {"co.", "Company", kMayEnd},
    {"dept.", "department", kMayEnd},
    {"et al.", "and others", kMayEnd},
    {"ave.", "Avenue", kMayEnd},
    {"blvd.", "Boulevard", kMayEnd},
    {"rd.", "Road", kMayEnd},
    {"No.", "number", kBeforeNumber},
    {"no.", "number", kBeforeNumber},
    {"Nos.", "numbers", kBeforeNumber},
    {"nos.", "numbers", kBeforeNumber},
    {"fig.", "figure", kBeforeNumber},
    {"figs.", "figures", kBeforeNumber},
    {"eq.", "equation", kBeforeNumber},
    {"vol.", "volume", kBeforeNumber},
    {"ch.", "chapter", kBeforeNumber},
    {"sec.", "section", kBeforeNumber},
    {"art.", "article", kBeforeNumber},
    {"ext.", "extension", kBeforeNumber},
    {"apt.", "apartment", kBeforeNumber},
    {"est.", "established", kBeforeNumber},
    {"p.", "page", kBeforeNumber},
    {"pp.", "pages", kBeforeNumber},
    {"Jan.", "January", kBeforeNumber},
    {"Feb.", "February", kBeforeNumber},
    {"Mar.", "March", kBeforeNumber},
    {"Apr.", "April", kBeforeNumber},
    {"Jun.", "June", kBeforeNumber},
    {"Jul.", "July", kBeforeNumber},
    {"Aug.", "August", kBeforeNumber},
    {"Sep.", "September", kBeforeNumber},
    {"Sept.", "September", kBeforeNumber},
    {"Oct.", "October", kBeforeNumber},
    {"Nov.", "November", kBeforeNumber},
    {"Dec.", "December", kBeforeNumber},
};
constexpr Abbreviation kGerman[] = {
    {"z.B.", "zum Beispiel"},
    {"z. B.", "zum Beispiel"},
    {"d.h.", "das hei\u00dft"},
    {"d. h.", "das hei\u00dft"},
    {"u.a.", "unter anderem"},
    {"u. a.", "unter anderem"},
    {"o.\u00e4.", "oder \u00e4hnliches", kMayEnd},
    {"usw.", "und so weiter", kMayEnd},
    {"etc.", "et cetera", kMayEnd},
    {"bzw.", "beziehungsweise"},
    {"ca.", "circa"},
    {"Nr.", "Nummer"},
    {"Dr.", "Doktor"},
    {"Prof.", "Professor"},
    {"Hr.", "Herr"},
    {"Fr.", "Frau"},
    {"evtl.", "eventuell"},
    {"inkl.", "inklusive"},
    {"vgl.", "vergleiche"},
    {"ggf.", "gegebenenfalls"},
    {"Str.", "Stra\u00dfe", kMayEnd},
};
constexpr Abbreviation kSpanish[] = {
    {"Sr.", "se\u00f1or"},
    {"Sra.", "se\u00f1ora"},
    {"Srta.", "se\u00f1orita"},
    {"Dr.", "doctor"},
    {"Dra.", "doctora"},
    {"Ud.", "usted"},
    {"Uds.", "ustedes"},
    {"p. ej.", "por ejemplo"},
    {"p.ej.", "por ejemplo"},
    {"aprox.", "aproximadamente"},
    {"EE. UU.", "Estados Unidos", kMayEnd},
    {"EE.UU.", "Estados Unidos", kMayEnd},
    {"n\u00fam.", "n\u00famero", kBeforeNumber},
    {"etc.", "etc\u00e9tera", kMayEnd},
};
constexpr Abbreviation kFrench[] = {
    {"M.", "Monsieur"},
    {"MM.", "Messieurs"},
    {"Mme.", "Madame"},
    {"Mlle.", "Mademoiselle"},
    {"p. ex.", "par exemple"},
    {"p.ex.", "par exemple"},
    {"env.", "environ"},
    {"c.-\u00e0-d.", "c'est-\u00e0-dire"},
    {"etc.", "et cetera", kMayEnd},
};
constexpr Abbreviation kItalian[] = {
    {"Sig.", "signor"},     {"Sig.ra", "signora"},         {"Dott.", "dottor"},
    {"Prof.", "professor"}, {"ad es.", "ad esempio"},      {"p.es.", "per esempio"},
    {"ca.", "circa"},       {"ecc.", "eccetera", kMayEnd},
};

}  // namespace

bool Abbreviation::is(std::string_view text) const {
  return text.size() == written.size() && text.substr(1) == written.substr(1) &&
         (text[0] == written[0] || lower_ascii(text[0]) == written[0]);
}

std::span<const Abbreviation> abbreviations_of(std::string_view language) {
  const std::string_view first = language.substr(0, language.find('-'));
  if (first == "en") return kEnglish;
  if (first == "de") return kGerman;
  if (first == "es") return kSpanish;
  if (first == "fr") return kFrench;
  if (first == "it") return kItalian;
  return {};
}

std::optional<PointUse> point_use(std::string_view text) {
  std::optional<PointUse> use;
  for (const char* language : {"en", "de", "es", "fr", "it"}) {
    for (const Abbreviation& one : abbreviations_of(language)) {
      if (one.written.size() > text.size()) continue;
      const size_t begin = text.size() - one.written.size();
      if (!one.is(text.substr(begin)) || one.written == "M.") continue;  // M. Smith: an initial
      const bool whole =
          begin == 0 ||
          (text[begin - 1] != '.' &&
           !is_letter_or_digit(character_at(text, character_before(text, begin)).code));
      if (whole) use = std::min(use.value_or(one.use), one.use);
    }
  }
  return use;
}

}  // namespace predgen
