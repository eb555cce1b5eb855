#include "cli/parse_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <vector>

#include "core/suggest.h"
#include "core/text.h"

namespace predgen::cli {
namespace {

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  for (const CLI::App* group : command.get_subcommands({})) {  // those without a name are groups
    if (!group->get_name().empty()) continue;
    for (const std::string& flag : flags_of(*group)) flags.push_back(flag);
  }
  return flags;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands({})) {
    if (!sub->get_name().empty()) names.push_back(sub->get_name());
  }
  return names;
}

/// "data build"; empty for `app` itself.
std::string full_name(const CLI::App& app, const CLI::App& command) {
  if (&command == &app) return "";
  return joined(full_name(app, *command.get_parent()), " ", command.get_name());
}

/// What is typed for one of our commands where other programs are known.
std::string words_of_others(const std::string& word) {
  if (word == "run" || word == "ask") return "predgen chat --model NAME";
  if (word == "pull" || word == "get" || word == "download") return "predgen models get NAME";
  if (word == "list" || word == "ls") return "predgen models";
  if (word == "start" || word == "server") return "predgen serve";
  return "";
}

/// What a word that `command` did not understand was meant to be.
std::string describe_word(const CLI::App& app, const CLI::App& command, const std::string& word) {
  const std::string name = full_name(app, command);
  const std::string owner = name.empty() ? "there is" : name + " has";
  const std::string help = fmt::format("see {} --help", joined("predgen", " ", name));
  if (word.size() > 1 && word[0] == '-') {
    const std::string flag = word.substr(0, word.find('='));
    if (const auto meant = nearest_word(flag, flags_of(command))) {
      return fmt::format("{}: {} no such flag; did you mean {}?", flag, owner, *meant);
    }
    if (app.get_option_no_throw(flag)) {
      return fmt::format("{0}: stands before the command: predgen {0} ..", flag);
    }
    const bool has_settings = command.get_option_no_throw("overrides") != nullptr;
    return fmt::format("{}: {} no such flag; {}{}", flag, owner,
                       has_settings ? "settings of the file are given as key=value; " : "", help);
  }
  if (const std::string ours = words_of_others(word); name.empty() && !ours.empty()) {
    return fmt::format("{}: there is no such command; type {}", word, ours);
  }
  if (const std::vector<std::string> commands = commands_of(command); !commands.empty()) {
    return fmt::format("{}: {} no such command; {}", word, owner, suggest(word, commands));
  }
  if (command.get_option_no_throw("--model")) {
    return fmt::format(
        "{0}: {1} no use for this word; if it is the model, type predgen {2} --model {0}", word,
        owner, name);
  }
  return fmt::format("{}: {} no use for this word; {}", word, owner, help);
}

/// Puts what CLI11 says in words. Bounds of CLI::PositiveNumber and NonNegativeNumber, say: the
/// highest has 309 digits.
std::string in_words(const std::string& text) {
  const std::string convert = "Could not convert: ", is = " = ", missing = ": 1 required ";
  if (const size_t between = text.find(is);
      text.starts_with(convert) && between != std::string::npos) {
    return fmt::format("{} {}: must be a number",
                       text.substr(convert.size(), between - convert.size()),
                       text.substr(between + is.size()));
  }
  if (const size_t end = text.find(missing);
      end != std::string::npos && text.ends_with(" missing")) {
    return fmt::format("{}: needs a value", text.substr(0, end));
  }
  const std::string value = ": Value ", bounds = " not in range 0.000000 to 1797";
  const size_t at = text.find(bounds), start = text.find(value);
  if (at == std::string::npos || start == std::string::npos) return text;
  const size_t digits = start + value.size();
  const std::string number = text.substr(digits, at - digits);
  return fmt::format("{} {}: must {}", text.substr(0, start), number,
                     number.starts_with('-') ? "not be negative" : "be above 0");
}

}  // namespace

std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  while (true) {
    if (const auto unknown = command->remaining(); !unknown.empty()) {
      return describe_word(app, *command, unknown.front());
    }
    const auto given = command->get_subcommands();
    if (given.empty()) break;
    command = given.front();
  }
  const std::string name = joined("predgen", " ", full_name(app, *command));
  const std::vector<std::string> commands = commands_of(*command);
  const bool lacks_command = !commands.empty() && error.get_name() == "RequiredError";
  const std::string problem = !lacks_command
                                  ? in_words(first_line(error.what()))
                                  : fmt::format("give a command: {}", fmt::join(commands, ", "));
  return fmt::format("{}; see {} --help", problem, name);
}

}  // namespace predgen::cli
