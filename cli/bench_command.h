#pragma once

#include <CLI/CLI.hpp>
#include <stop_token>
#include <string>

#include "cli/command.h"
#include "cli/setting_flags.h"
#include "core/json.h"
#include "evaluate/model_speed.h"

namespace predgen::cli {

// The two halves of `predgen bench`.

struct ModelBench {
  ModelOptions model;
  evaluate::SpeedConfig speed;
  std::string input, chat_template;
  bool no_kernels = false;
  double startup = 0;  // s, from the start of the program to its work
  void add_to(CLI::App& command);
};
/// Returns the report; also prints it as a table if `print_table`.
Json bench_model(const ModelBench& options, bool print_table, const std::stop_token& stop);

struct VoiceBench {
  VoiceFlags voice;
  std::string text = "The weather in Berlin is sunny today, with a high of twenty-one degrees.";
  void add_to(CLI::App& command);
};
Json bench_voice(const VoiceBench& options, int64_t runs, bool print_table,
                 const std::stop_token& stop);

}  // namespace predgen::cli
