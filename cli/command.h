#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/setting.h"

namespace predgen::cli {

/// Adds a subcommand to `app`; its callback runs the command and returns normally or throws:
/// Interrupted after a `stop`, at a point where nothing is lost. Each command has a file
/// cli/<name>.cpp and one line in the list of cli/main.cpp.
using AddCommand = void (*)(CLI::App& app, const std::stop_token& stop);

void add_bench(CLI::App& app, const std::stop_token& stop);
void add_chat(CLI::App& app, const std::stop_token& stop);
void add_data(CLI::App& app, const std::stop_token& stop);  // build, trajectories, show
void add_doctor(CLI::App& app, const std::stop_token& stop);
void add_eval(CLI::App& app, const std::stop_token& stop);
void add_export(CLI::App& app, const std::stop_token& stop);
void add_generate(CLI::App& app, const std::stop_token& stop);
void add_models(CLI::App& app, const std::stop_token& stop);
void add_plan(CLI::App& app, const std::stop_token& stop);
void add_report(CLI::App& app, const std::stop_token& stop);
void add_score(CLI::App& app, const std::stop_token& stop);
void add_serve(CLI::App& app, const std::stop_token& stop);
void add_settings(CLI::App& app, const std::stop_token& stop);
void add_talk(CLI::App& app, const std::stop_token& stop);
void add_tokenize(CLI::App& app, const std::stop_token& stop);
void add_train(CLI::App& app, const std::stop_token& stop);

/// What --model takes.
inline constexpr const char* kModelHelp =
    "a GGUF file, a Hugging Face folder, or a name that \"predgen models\" lists";

/// The options of every command that loads a model: --model, --adapter, --device, --dtype,
/// --quantize, --state-memory, --threads.
struct ModelOptions {
  std::string model, adapter, device = "auto", dtype = "auto", quantize = "none";
  int64_t state_memory = 256;  // MiB
  int64_t threads = 0;         // 0: LibTorch's own choice
  void add_to(CLI::App& command);
};
Settings settings_of(ModelOptions& options);

/// --chat-template FILE of every command that renders conversations.
void add_chat_template(CLI::App& command, std::string& file);

/// --config FILE and key.sub=value overrides.
struct ConfigOptions {
  std::string file;
  std::vector<std::string> overrides;
  void add_to(CLI::App& command);
};

// Subcommands of `predgen data`.
void add_data_build(CLI::App& data, const std::stop_token& stop);
void add_data_show(CLI::App& data);
void add_data_trajectories(CLI::App& data, const std::stop_token& stop);

/// Prints what was written to `output`: its manifest in brief, as JSON or as lines.
void print_dataset(const std::filesystem::path& output, const Json& manifest, bool as_json);

/// "name  value" lines of the counters in a manifest, nested ones indented.
void print_counters(const Json& counters, int indent);

}  // namespace predgen::cli
