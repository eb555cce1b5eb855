#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/display_text.h"
#include "cli/terminal/word_stream.h"
#include "core/edit_distance.h"
#include "core/model_names.h"
#include "core/text.h"
#include "core/version.h"

namespace predgen::cli {

HelpFormat::HelpFormat() {
  constexpr int kMost = 100, kFewest = 60;  // columns of the whole; more is hard to read
  const int columns = terminal_columns(STDOUT_FILENO);
  const int whole = columns == 0 ? kMost : std::clamp(columns, kFewest, kMost);
  width_ = whole - static_cast<int>(get_column_width());
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  return broken_at_words(option->get_description(), width_);
}

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

namespace {

/// Next steps with the model that a newcomer has, "" if there is none.
std::string next_steps(const std::string& model) {
  std::string steps;
  if (model.empty()) {
    steps = fmt::format("  {:<34}fetch a first model (98 MB)\n", fetch_command("smollm2"));
  }
  const std::string& name = model.empty() ? "smollm2" : model;
  const std::string which =
      name == "smollm2" ? "" : " --model " + name;  // chat and talk take smollm2
  for (const auto& [command, what] :
       {std::pair{"predgen talk" + which, "speak: microphone and loudspeaker"},
        std::pair{"predgen chat" + which, "type: the answer is drafted while you do"},
        std::pair{"predgen serve --model " + name, "a page for browsers, and OpenAI's APIs"},
        std::pair{std::string("predgen doctor"), "what this machine has and lacks"},
        std::pair{std::string("predgen --help"),
                  "all commands; predgen chat --help explains one"}}) {
    steps += fmt::format("  {:<34}{}\n", command, what);
  }
  return steps;
}

}  // namespace

void print_welcome() {
  const std::filesystem::path folder = models_folder();
  std::vector<std::string> names;
  for (const NamedModel& model : models_in(folder)) names.push_back(model.name);
  const bool has_first = std::ranges::find(names, "smollm2") != names.end();
  const std::string first = has_first ? "smollm2" : names.empty() ? "" : names.front();
  for (const NamedModel& model : speech_models_in(folder)) names.push_back(model.name);
  const std::string models =
      names.empty() ? fmt::format("No models yet in {}", folder.string())
                    : fmt::format("Models here: {} (predgen models)", fmt::join(names, ", "));
  fmt::print("predgen {}: voice assistants that answer the moment you stop speaking\n\n{}\n{}\n",
             program_version(), next_steps(first), models);
}

}  // namespace predgen::cli
