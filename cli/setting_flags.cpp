#include "cli/setting_flags.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace predgen::cli {
namespace {

template <typename T>
void check_bounds(CLI::Option& option, const Bounds<T>& bounds) {
  const bool has_lowest = bounds.lowest > std::numeric_limits<T>::lowest();
  const bool has_highest = bounds.highest < std::numeric_limits<T>::max();
  if (has_highest || (has_lowest && bounds.lowest != 0 && bounds.lowest != 1)) {
    option.check(CLI::Range(bounds.lowest, bounds.highest));
  } else if (has_lowest) {
    option.check(bounds.lowest == 0 ? CLI::NonNegativeNumber : CLI::PositiveNumber);
  }
}

CLI::Option* add_flag(CLI::App& command, const Setting& setting) {
  const std::string names = setting.flag_names();
  const std::string& help = setting.help;
  return std::visit(
      Overloaded{[&](bool* value) { return command.add_flag(names, *value, help); },
                 [&]<typename T>(const Setting::Number<T>& number) {
                   CLI::Option* option =
                       number.value != nullptr
                           ? command.add_option(names, *number.value, help)->capture_default_str()
                           : command.add_option(names, *number.maybe, help);
                   check_bounds(*option, number.bounds);
                   return option;
                 },
                 [&](uint64_t* value) {
                   return command.add_option(names, *value, help)->capture_default_str();
                 },
                 [&](std::string* value) {
                   CLI::Option* option = command.add_option(names, *value, help);
                   return value->empty() ? option : option->capture_default_str();
                 },
                 [&](std::optional<std::string>* value) {
                   return command.add_option(names, *value, help);
                 },
                 [&](std::filesystem::path* value) {
                   return command.add_option_function<std::string>(
                       names, [value](const std::string& text) { *value = text; }, help);
                 },
                 [&](std::vector<std::string>* value) {
                   return command.add_option(names, *value, help)->allow_extra_args(false);
                 },
                 [&](const Setting::Word& word) {
                   const auto set = [word](const std::string& text) {
                     word.set(static_cast<size_t>(std::ranges::find(word.names, text) -
                                                  word.names.begin()));
                   };
                   return command.add_option_function<std::string>(names, set, help)
                       ->check(CLI::IsMember(word.names))
                       ->default_str(setting.value());
                 },
                 [&](const auto&) -> CLI::Option* { throw Error("{} is no flag", setting.name); }},
      setting.place);
}

void take(const Setting::Place& from, const Setting::Place& to) {
  std::visit(
      Overloaded{[&]<typename T>(const Setting::Number<T>& number) {
                   const auto& other = std::get<Setting::Number<T>>(to);
                   if (number.value != nullptr) *other.value = *number.value;
                   if (number.maybe != nullptr) *other.maybe = *number.maybe;
                 },
                 [&](const Setting::Word& word) { std::get<Setting::Word>(to).set(word.get()); },
                 [&]<typename T>(std::vector<T>* list) {
                   std::vector<T>& other = *std::get<std::vector<T>*>(to);
                   other.insert(other.end(), list->begin(), list->end());
                 },
                 [&]<typename T>(T* value) { *std::get<T*>(to) = *value; },
                 [](const auto&) { throw Error("a flag of many settings"); }},
      from);
}

}  // namespace

void add_flags(CLI::App& command, const Settings& settings, const std::string& group) {
  for (const Setting& setting : settings) {
    CLI::Option* option = add_flag(command, setting)->required(setting.is_needed);
    if (!group.empty()) option->group(group);
  }
}

void take_given(const CLI::App& command, const Settings& flags, const Settings& settings) {
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::string names = flags[i].flag_names();
    if (command.count(names.substr(0, names.find(','))) > 0) {
      take(flags[i].place, settings.at(i).place);
    }
  }
}

}  // namespace predgen::cli
