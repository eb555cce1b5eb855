// Reads lines {"text", "language"} and prints a line {"phonemes", "ids"} for each, or {"error"};
// {"symbols"} are taken as phonemes. For the parity test against Python.

#include <iostream>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "voice/zonos/phonemizer.h"

int main() {
  using namespace predgen;
  try {
    configure_log("warn");  // to stderr: stdout is for the answers
    Phonemizer phonemizer({});
    for (std::string line; std::getline(std::cin, line);) {
      const Json request = parse_json(line, "a line of standard input");
      try {
        const bool is_text = request.contains("text");
        const auto phonemes =
            is_text ? phonemizer.phonemes(json_get<std::string>(request, "text", "line"),
                                          json_get<std::string>(request, "language", "line"))
                    : json_get<std::string>(request, "symbols", "line");
        std::cout << Json{{"phonemes", phonemes}, {"ids", phoneme_ids(phonemes)}}.dump() << "\n";
      } catch (const UserError& error) {
        std::cout << Json{{"error", error.what()}}.dump() << "\n";
      }
    }
  } catch (const std::exception& error) {
    std::cerr << "print_phonemes: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
