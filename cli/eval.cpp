#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/version.h"
#include "evaluate/compare_reports.h"
#include "evaluate/figure_values.h"
#include "evaluate/method_table.h"
#include "evaluate/report.h"
#include "evaluate/run_evaluation.h"

namespace predgen::cli {
namespace {

/// `predgen eval --compare A B`: two results of the same set, and how much worse B may be.
struct EvalCompareOptions {
  std::vector<std::string> results;  // folders or files; empty: no comparison
  std::string max_slower, max_more_passes, min_equal_text;  // "3%"
  void add_to(CLI::App& command);
};

/// "3%": 0.03; nullopt for an option that was not given.
std::optional<double> share_of(const std::string& option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  double percent = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || stop + 1 != end || *stop != '%' || !(percent >= 0)) {
    throw UserError("{} {}: give a share as 3%", option, text);
  }
  return percent / 100;
}

Json read_results(std::filesystem::path path) {
  if (std::filesystem::is_directory(path)) path /= "results.json";
  Json results = read_json(path);
  for (const char* key : {"runs", "turns", "num_turns"}) {
    if (!results.is_object() || !results.contains(key)) {
      throw UserError("{} is not a results.json of this version of predgen eval: it has no '{}'",
                      path.string(), key);
    }
  }
  evaluate::accept_old_names(results);
  return results;
}

void EvalCompareOptions::add_to(CLI::App& command) {
  CLI::Option* compare =
      command
          .add_option("--compare", results,
                      "compare two outputs of the same set, turn by turn: folders or results.json")
          ->type_name("A B")
          ->expected(2);
  command
      .add_option("--max-slower", max_slower,
                  "exit with 1 if B's mean time to the first sentence is more above A's, in any "
                  "method: a share of A's, as 3%")
      ->needs(compare);
  command
      .add_option("--max-more-passes", max_more_passes,
                  "the same of the mean number of passes to the first sentence")
      ->needs(compare);
  command
      .add_option("--min-equal-text", min_equal_text,
                  "exit with 1 if a smaller share of the texts is the same, as 95%")
      ->needs(compare);
}

/// Prints the comparison. UserError for what cannot be compared; ends with exit code 1 if a bound
/// is crossed.
void compare_results(const EvalCompareOptions& options, bool json) {
  const evaluate::ComparisonBounds bounds{
      .max_slower = share_of("--max-slower", options.max_slower),
      .max_more_passes = share_of("--max-more-passes", options.max_more_passes),
      .min_equal_text = share_of("--min-equal-text", options.min_equal_text)};
  const Json before = read_results(options.results.at(0)),
             after = read_results(options.results.at(1));
  const Json comparison =
      checked_json(fmt::format("{} or {}: not as this version of predgen eval writes it",
                               options.results.at(0), options.results.at(1)),
                   [&] { return evaluate::compare_reports(before, after, bounds); });
  const std::string text =
      json ? to_text(comparison) + "\n" : evaluate::format_comparison(comparison);
  std::fputs(text.c_str(), stdout);
  if (!comparison["crossed"].empty()) throw CLI::RuntimeError(1);
}

constexpr const char* kEvalExamples = R"(
Writes results.json, turns.csv and report.html into the configuration's `output` folder, and
answer.wav when it has a voice. Files of an earlier run are replaced once the new ones are complete;
other files in the folder stay. Finished turns are kept in journal.jsonl until then: the same command
goes on after a run that was killed.

Examples:
  predgen eval --config configs/eval/quickstart.yaml
  predgen eval --config configs/eval/sgd_dev.yaml turns.count=20 methods=[baseline,greedy]
  predgen eval --config configs/eval/sgd_dev.yaml clock.costs=[a5000,this_machine] workers=4
  predgen eval --config configs/eval/sgd_dev.yaml methods=[baseline,greedy,preemptive] \
    input.end_of_turn_wait=0.5 --by last_change
  predgen eval --config configs/eval/tools.yaml turns.count=20 --by tools
  predgen eval --compare runs/eval/before runs/eval/after --max-slower 3%
)";

struct EvalFlags {
  bool json = false;
  std::string by;  // of group_names(); empty: turns are not grouped
  evaluate::RunOptions run{.version = program_version()};
};

}  // namespace

void add_eval(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("eval", "Compare methods side by side on the same turns");
  command->footer(kEvalExamples);
  auto config_options = std::make_shared<ConfigOptions>();
  config_options->add_to(*command);
  command->get_option("--config")->required(false);
  auto compare = std::make_shared<EvalCompareOptions>();
  compare->add_to(*command);
  auto flags = std::make_shared<EvalFlags>();
  command->add_flag("--json", flags->json,
                    "Print results.json, or the comparison, as JSON on stdout");
  command
      ->add_option("--by", flags->by,
                   "Print where each method pays, too: turns by the set's key \"source\", by what "
                   "changed in the last words, by length of the prompt, or by the right tool")
      ->check(CLI::IsMember(evaluate::group_names()));
  command->add_flag("--restart", flags->run.restart,
                    "Drop what an unfinished run has left in the output");
  command->callback([config_options, compare, flags, stop] {
    if (config_options->file.empty() == compare->results.empty()) {
      throw UserError("give either --config FILE or --compare A B");
    }
    if (!flags->by.empty() && (flags->json || !compare->results.empty())) {
      throw UserError("--by is of the table that a run prints: leave out {}",
                      flags->json ? "--json (it has \"groups\")" : "--compare");
    }
    if (!compare->results.empty()) {
      compare_results(*compare, flags->json);
      return;
    }
    ConfigReader reader = ConfigReader::load(config_options->file, config_options->overrides);
    evaluate::EvalConfig config = evaluate::read_eval_config(reader);
    reader.finish();
    // A shipped configuration also works outside of the checkout.
    for (std::filesystem::path* file :
         {&config.turns.file, &config.turns.shots_file, &config.turns.tools_file}) {
      *file = path_beside_configs(*file, config_options->file);
    }
    set_num_threads(config.threads);
    const Json report = evaluate::run_evaluation(config, reader, flags->run, stop);
    if (flags->json) {
      std::printf("%s\n", to_text(report).c_str());
      return;
    }
    std::printf("%s\n", evaluate::format_table(report).c_str());
    const std::string wait =
        config.end_of_turn_wait > 0
            ? fmt::format(", which comes {} s after the last word", config.end_of_turn_wait)
            : "";
    fmt::print(
        "Times are means after the final transcript{}. NFE counts forward passes\n"
        "from there to the first sentence, max(1, n); ahead: those before it; wasted: drafted "
        "tokens that did not stay.\n"
        "sooner: the first sound, before the baseline's. A share has its 95 % interval behind it "
        "(0.0 0-56);\nequal text 3/3: three of three texts are those of the method named.\n",
        wait);
    if (!flags->by.empty()) {
      std::printf("\n%s\n", evaluate::groups_text(report, flags->by).c_str());
    }
    if (evaluate::any_method(config, &evaluate::Method::draft_model)) {
      std::printf(
          "+: passes of the draft model, which count by their cost in \"x fewer\" and "
          "\"tokens/pass\".\n");
    }
    std::printf("Results: %s\n", (config.output / "results.json").c_str());
    std::printf("Page:    %s\n", (config.output / "report.html").c_str());
    if (config.voice.kind != VoiceKind::kNone) {
      std::printf("Audio:   %s (the first turn's answer, %s)\n",
                  (config.output / "answer.wav").c_str(), evaluate::spoken_method(config).c_str());
    }
  });
}

}  // namespace predgen::cli
