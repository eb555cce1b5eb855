#include <cstdio>

#include "cli/command.h"
#include "cli/data_command.h"

namespace predgen::cli {

void print_dataset(const std::filesystem::path& output, const Json& manifest, bool as_json) {
  if (as_json) {
    const Json summary = {{"output", output.string()},
                          {"num_records", manifest.at("num_records")},
                          {"recipe_hash", manifest.at("recipe_hash")},
                          {"counters", manifest.at("counters")}};
    std::printf("%s\n", to_text(summary).c_str());
    return;
  }
  std::printf("%s: %ld records\n", output.c_str(), manifest.at("num_records").get<int64_t>());
  print_counters(manifest.at("counters"), 2);
}

void print_counters(const Json& counters, int indent) {
  for (const auto& [name, value] : counters.items()) {
    if (value.is_object()) {
      std::printf("%*s%s\n", indent, "", name.c_str());
      print_counters(value, indent + 2);
    } else {
      const std::string text = to_text(value);
      std::printf("%*s%-*s %10s\n", indent, "", 30 - indent, name.c_str(), text.c_str());
    }
  }
}

void add_data(CLI::App& app, const std::stop_token& stop) {
  CLI::App* data = app.add_subcommand("data", "Build and look at training datasets");
  data->require_subcommand(1);
  add_data_build(*data, stop);
  add_data_trajectories(*data, stop);
  add_data_show(*data);
}

}  // namespace predgen::cli
