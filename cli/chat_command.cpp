#include "cli/chat_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/text.h"

namespace predgen::cli {
namespace {

using Kind = ChatCommand::Kind;

constexpr int64_t kMaxTopK = 1000;

struct Name {
  const char* name;
  Kind kind;
  const char* argument;  // beside names
  const char* purpose;
};
const std::vector<Name> kNames{
    {"/help", Kind::kHelp, "", "shows this"},
    {"/again", Kind::kAgain, "",
     "asks the last question again; the new answer replaces the old one"},
    {"/system", Kind::kSystem, " [TEXT]", "shows or sets the system prompt: a text, @FILE, none"},
    {"/temperature", Kind::kTemperature, " [T]", "shows or sets it; 0: the likeliest words"},
    {"/verifier", Kind::kVerifier, "", "what keeps a draft, from the next turn on"},
    {"/decoder", Kind::kDecoder, "", "how tokens are found, from the next turn on"},
    {"/compare", Kind::kCompare, "",
     "the last turn again as a plain cascade, to see what was saved"},
    {"/save", Kind::kSave, " FILE", "writes the conversation to a new file, as JSON"},
    {"/load", Kind::kLoad, " FILE", "goes on with the conversation in such a file"},
    {"/reset", Kind::kReset, "", "forgets the conversation"},
    {"/quit", Kind::kQuit, "", "leaves, as Ctrl-D on an empty line does"},
};

/// What is chosen at the start only, as people try to change it, and the option for it.
const std::vector<std::pair<std::string, std::string>> kAtTheStart{
    {"/preset", "--preset"},
    {"/voice", "--tts"},
    {"/model", "--model"},
    {"/adapter", "--adapter"},
    {"/draft-model", "--draft-model"},
    {"/length", "--max-new-tokens"}};

bool takes_rest(Kind kind) {
  return kind == Kind::kSystem || kind == Kind::kSave || kind == Kind::kLoad;
}
bool takes_name(Kind kind) { return kind == Kind::kVerifier || kind == Kind::kDecoder; }

const std::vector<std::string>& choices_of(Kind kind, const ChatChoices& choices) {
  return kind == Kind::kVerifier ? choices.verifiers : choices.decoders;
}

Kind parse_kind(const std::string& word) {
  std::vector<std::string> valid;
  for (const Name& name : kNames) {
    if (word == name.name) return name.kind;
    valid.emplace_back(name.name);
  }
  std::vector<std::string> known = valid;
  for (const auto& [tried, option] : kAtTheStart) {
    if (word == tried) {
      throw UserError(
          "\"{}\" is chosen when a chat starts: predgen chat {} (/quit leaves this one)", word,
          option);
    }
    known.push_back(tried);
  }
  throw UserError("\"{}\" is no command: {} (// begins a text with /)", word,
                  suggest(word, nearest_word(word, known) ? known : valid));
}

int64_t parse_top_k(const std::string& word) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 1 || value > kMaxTopK) {
    throw UserError("\"{}\" is no number for topk: give 1 to {}", word, kMaxTopK);
  }
  return value;
}

double parse_temperature(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw UserError("/temperature \"{}\": give a number such as 0.7, or 0 for the likeliest words",
                    word);
  }
  return value;
}

}  // namespace

bool is_command(const std::string& line) {
  return line.starts_with('/') && !line.starts_with("//");
}

ChatCommand parse_command(const std::string& line, const ChatChoices& choices) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  ChatCommand command{.kind = parse_kind(words.at(0))};
  size_t num_read = 1;
  if (takes_rest(command.kind)) {
    command.text = trimmed(std::string_view(line).substr(words[0].size()));
    if (command.text.empty() && command.kind != Kind::kSystem) {
      throw UserError("{} needs the name of a file", words[0]);
    }
    return command;
  }
  if (command.kind == Kind::kTemperature && words.size() > 1) {
    command.temperature = parse_temperature(words[num_read++]);
  }
  if (takes_name(command.kind)) {
    const std::vector<std::string>& valid = choices_of(command.kind, choices);
    if (words.size() < 2) throw UserError("{} needs one of {}", words[0], fmt::join(valid, ", "));
    command.name = words[num_read++];
    if (std::find(valid.begin(), valid.end(), command.name) == valid.end()) {
      throw UserError("{} \"{}\": {}", words[0], command.name, suggest(command.name, valid));
    }
    if (command.name == "topk" && words.size() > num_read) {
      command.top_k = parse_top_k(words[num_read++]);
    }
  }
  if (words.size() > num_read) {
    throw UserError("\"{}\" is too much: leave it out", words[num_read]);
  }
  return command;
}

std::string spoken_text(const std::string& line) {
  return line.starts_with("//") ? line.substr(1) : line;
}

std::string command_help(const ChatChoices& choices) {
  std::string help;
  for (const Name& name : kNames) {
    std::string usage = std::string(name.name) + name.argument;
    if (takes_name(name.kind)) {
      usage += fmt::format(" {}", fmt::join(choices_of(name.kind, choices), "|"));
    }
    if (name.kind == Kind::kVerifier) usage += " [K]";
    help += fmt::format("  {:<32} {}\n", usage, name.purpose);
  }
  return help +
         "  Alt-Enter begins a new row; Up and Down show lines that were sent\n"
         "  presets, models, voices and the rest are chosen at the start: predgen chat --help\n";
}

}  // namespace predgen::cli
