#include "checkpoint/model_card.h"

#include <sstream>
#include <string_view>

#include "core/files.h"
#include "core/text.h"

namespace predgen {
namespace {

constexpr const char* kCard = "README.md";
constexpr const char* kFence = "---";  // around the head

/// The value in a line "key: value", without quotes; empty if the key differs.
std::string value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || line.substr(key.size(), 1) != ":") return {};
  return shortened(trimmed(line.substr(key.size() + 1), " \t\r\"'"));
}

}  // namespace

ModelCard read_model_card(const std::filesystem::path& folder) {
  ModelCard card;
  std::error_code unusable;
  if (!std::filesystem::is_regular_file(folder / kCard, unusable)) return card;
  std::istringstream lines(read_file(folder / kCard));
  std::string line, own_licence;
  std::getline(lines, line);
  if (trimmed(line) == kFence) {
    while (std::getline(lines, line) && trimmed(line) != kFence) {
      if (const std::string value = value_of(line, "license"); !value.empty()) card.licence = value;
      if (const std::string value = value_of(line, "license_name"); !value.empty()) {
        own_licence = value;  // and "license" is "other"
      }
    }
    std::getline(lines, line);
  }
  if (!own_licence.empty()) card.licence = own_licence;
  while (lines && !line.starts_with("# ")) std::getline(lines, line);
  if (lines || line.starts_with("# ")) card.title = shortened(trimmed(line.substr(1)));
  return card;
}

}  // namespace predgen
