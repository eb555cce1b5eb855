#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "train/report/run_report.h"

namespace predgen {
namespace {

struct ReportOptions {
  std::string run, output;
};

}  // namespace

void add_report(CLI::App& app, const std::stop_token&) {
  CLI::App* command = app.add_subcommand("report", "A page with the curves of a training");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("run", options->run, "output folder of `predgen train`, finished or not")
      ->required();
  command->add_option("--output", options->output, "HTML file; default: report.html in the folder");
  command->footer(
      "A training writes the page itself, at every checkpoint and evaluation; this makes it again\n"
      "from the run's files. It needs no network.\n\n"
      "Examples:\n"
      "  predgen report runs/quickstart/adapter\n"
      "  predgen report runs/lmsys/cllm --output cllm.html");
  command->callback(
      [options] { std::printf("%s\n", write_run_report(options->run, options->output).c_str()); });
}

}  // namespace predgen
