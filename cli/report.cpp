#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "core/error.h"
#include "core/json.h"
#include "evaluate/page/report_page.h"
#include "train/report/run_report.h"

namespace predgen::cli {
namespace {

struct ReportOptions {
  std::string run, output;
  bool overwrite = false;
};

std::filesystem::path write_report_of(const ReportOptions& options) {
  const std::filesystem::path run = options.run;
  if (!options.output.empty() && !options.overwrite && std::filesystem::exists(options.output)) {
    throw UserError("--output {}: is there already; name a new file, or give --overwrite",
                    options.output);
  }
  const bool is_evaluation =
      std::filesystem::is_regular_file(run) || std::filesystem::exists(run / "results.json");
  if (!is_evaluation) {
    if (!std::filesystem::exists(run / "metrics.jsonl")) {
      throw UserError(
          "{}: has neither metrics.jsonl (output of a training) nor results.json (of an "
          "evaluation)",
          options.run);
    }
    return train::write_run_report(run, options.output);
  }
  if (std::filesystem::exists(run / "metrics.jsonl")) {
    throw UserError(
        "{0}: holds a training (metrics.jsonl) and an evaluation: name {0}/results.json for the "
        "page about the latter, or move it for the other",
        options.run);
  }
  return checked_json(options.run + ": not as this version of predgen eval writes it",
                      [&] { return evaluate::write_report_page_of(run, options.output); });
}

}  // namespace

void add_report(CLI::App& app, const std::stop_token&) {
  CLI::App* command = app.add_subcommand("report", "A page about a training or an evaluation");
  const auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("run", options->run,
                   "output folder of `predgen train`, finished or not, or of `predgen eval`")
      ->required();
  command->add_option("--output", options->output, "HTML file; default: report.html in the folder");
  command->add_flag("--overwrite", options->overwrite,
                    "the HTML file may replace one that is there");
  command->footer(
      "Both write the page themselves, a training at every checkpoint and evaluation; this makes "
      "it\n"
      "again from the run's files. A browser draws it, without a network; its pictures can be "
      "saved\n"
      "as SVG there.\n\n"
      "Examples:\n"
      "  predgen report runs/quickstart/adapter\n"
      "  predgen report runs/quickstart/eval\n"
      "  predgen report runs/lmsys/cllm --output cllm.html");
  command->callback([options] { std::printf("%s\n", write_report_of(*options).c_str()); });
}

}  // namespace predgen::cli
