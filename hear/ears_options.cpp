#include "hear/ears_options.h"

#include "core/error.h"

namespace predgen {

std::filesystem::path ears_program(const EarsOptions& options) {
  std::filesystem::path program =
      options.program.empty()
          ? std::filesystem::read_symlink("/proc/self/exe").parent_path() / "predgen-ears"
          : options.program;
  if (!std::filesystem::exists(program)) {
    throw UserError(
        "hearing needs the program {}, which is missing: run scripts/setup.sh and build with "
        "-DPREDGEN_SPEECH=ON",
        program.string());
  }
  return program;
}

std::vector<std::string> ears_arguments(const EarsOptions& options) {
  std::vector<std::string> arguments{"--recogniser",     options.recogniser.string(),
                                     "--voice-activity", options.voice_activity.string(),
                                     "--language",       options.language,
                                     "--threads",        std::to_string(options.num_threads)};
  if (!options.fast_recogniser.empty()) {
    arguments.insert(arguments.end(), {"--fast-recogniser", options.fast_recogniser.string()});
  }
  if (!options.end_of_turn.empty()) {
    arguments.insert(arguments.end(), {"--end-of-turn", options.end_of_turn.string()});
  }
  return arguments;
}

}  // namespace predgen
