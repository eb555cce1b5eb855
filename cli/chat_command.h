#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace predgen::cli {

/// What a line that begins with "/" asks for.
struct ChatCommand {
  enum class Kind {
    kHelp,
    kAgain,
    kSystem,
    kTemperature,
    kVerifier,
    kDecoder,
    kCompare,
    kSave,
    kLoad,
    kReset,
    kQuit
  };
  Kind kind = Kind::kHelp;
  std::string name = {};                // of the verifier or the decoder
  int64_t top_k = 0;                    // of the verifier "topk"; 0: unchanged
  std::string text = {};                // the new system prompt (empty: show it), or the file
  std::optional<double> temperature{};  // nullopt: show it

  bool operator==(const ChatCommand&) const = default;
};

/// The names that commands may give.
struct ChatChoices {
  std::vector<std::string> verifiers, decoders;
};

bool is_command(const std::string& line);

/// UserError, one line with the nearest valid word, if `line` is not a command.
ChatCommand parse_command(const std::string& line, const ChatChoices& choices);

/// What a line says to the model: a line that begins with "//" is text that begins with "/".
std::string spoken_text(const std::string& line);

/// All commands, a line each.
std::string command_help(const ChatChoices& choices);

}  // namespace predgen::cli
