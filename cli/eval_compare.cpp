#include "cli/eval_compare.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/json.h"
#include "evaluate/compare_reports.h"
#include "evaluate/figure_values.h"

namespace predgen::cli {
namespace {

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

}  // namespace

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

}  // namespace predgen::cli
