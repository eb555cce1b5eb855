#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace predgen {

/// Limits on the time and memory that the program predgen-ears may take.
struct EarsLimits {
  double load_seconds = 60;     // until it has read its models
  double ping_seconds = 1;      // until it is asked again whether it is alive
  double answer_seconds = 10;   // until that is answered: longer than any decode takes
  double waiting_seconds = 30;  // of one stream's sound that it has not taken yet
  double again_seconds = 1;     // until it is restarted, if it has ended twice in a short time
};

/// A recogniser on this machine: the program predgen-ears and its models.
struct EarsOptions {
  std::filesystem::path recogniser{};  // folder: Whisper's, Moonshine's or a streaming transducer's
  std::filesystem::path fast_recogniser{};  // folder: Moonshine's, beside Whisper; may be empty
  std::filesystem::path voice_activity{};   // Silero's .onnx file, or the folder with it
  std::filesystem::path end_of_turn{};      // smart-turn's; empty: no turn end is judged by sound
  std::string language = "en";              // a code that Whisper has; a transducer has its own
  int num_threads = 1;                      // of one decode: a second one gains little
  std::filesystem::path program{};          // empty: predgen-ears beside this program
  EarsLimits limits{};
};

/// The program that `options` name. UserError if it does not exist.
std::filesystem::path ears_program(const EarsOptions& options);
/// The program's command-line arguments.
std::vector<std::string> ears_arguments(const EarsOptions& options);

}  // namespace predgen
