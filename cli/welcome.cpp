#include "cli/welcome.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "core/model_names.h"
#include "core/speech_model.h"
#include "core/version.h"

namespace predgen::cli {
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
