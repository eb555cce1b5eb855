// Traffic in virtual time: people who talk to sessions of one engine, whose passes cost what a
// GPU's cost says (docs/measurements.md). By number of people: from the last word to the first
// sentence, without drafts, with all of them, and as predgen serve yields them; and each request in
// passes of its own.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "bench/traffic/people_within.h"
#include "bench/traffic/simulated_traffic.h"
#include "checkpoint/load_model.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "evaluate/run_cost.h"

namespace predgen {
namespace {

struct Options {
  std::string model, prompts, half = "all", preset = "default";
  std::vector<std::string> costs{"a5000", "rtx4090", "h100"};
  std::vector<int64_t> people{1, 2, 4, 8, 16};
  double parameters = 7.6e9, seconds_between = 6;
  double seconds_per_pass = 0.027, seconds_per_token = 0;
  bool own_passes = true;
  int64_t turns = 5, all_turns = 160;
  uint64_t seed = 0;
};

/// A row's prompt, or what the user says first. UserError if there is neither.
std::string read_prompt(const Json& row, const std::string& where) {
  if (row.contains("prompt")) return row["prompt"];
  for (const char* key : {"messages", "conversation"}) {
    if (!row.contains(key)) continue;
    for (const Json& message : row[key]) {
      if (message.at("role") == "user") return message.at("content");
    }
  }
  throw UserError("{}: give prompt, messages or conversation with what a user says", where);
}

/// Of 3 to 25 words, from JSON lines. `half`: even or odd ones.
std::vector<std::string> read_prompts(const Options& options) {
  std::ifstream file(options.prompts);
  if (!file) throw UserError("{}: cannot be read", options.prompts);
  std::vector<std::string> prompts;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    const bool is_odd = number++ % 2 == 1;
    if (options.half != "all" && is_odd != (options.half == "odd")) continue;
    const std::string where = fmt::format("{}:{}", options.prompts, number);
    const std::string text =
        checked_json(where, [&] { return read_prompt(parse_json(line, where), where); });
    std::istringstream words(text);
    int64_t count = 0;
    for (std::string word; words >> word;) ++count;
    if (count >= 3 && count <= 25) prompts.push_back(text);
  }
  if (prompts.empty()) throw UserError("{}: no prompt of 3 to 25 words", options.prompts);
  return prompts;
}

struct Way {
  const char* title;
  Drafting drafting;
  bool shares_passes;
};
constexpr Way kWays[] = {{"no drafts", Drafting::kNone, true},
                         {"always", Drafting::kAlways, true},
                         {"automatic", Drafting::kAutomatic, true},
                         {"automatic, own passes", Drafting::kAutomatic, false}};

void run_cost(const evaluate::RunCost& cost, const ServedModel& model,
              const std::vector<std::string>& prompts, const Options& options) {
  fmt::print("\n{}: {}\n", cost.name, cost.basis);
  std::vector<std::vector<PeopleTime>> p95(std::size(kWays));
  for (const int64_t people : options.people) {
    std::vector<std::string> texts;
    const int64_t one = people * options.turns;
    const int64_t num_runs = (options.all_turns + one - 1) / one;
    for (size_t w = 0; w < std::size(kWays); ++w) {
      const Way& way = kWays[w];
      if (!way.shares_passes && !options.own_passes) continue;
      TrafficResult result;
      for (int64_t i = 0; i < num_runs; ++i) {
        result.add(simulate_traffic(model, prompts,
                                    {.people = people,
                                     .turns = options.turns,
                                     .seconds_between = options.seconds_between,
                                     .drafting = way.drafting,
                                     .shares_passes = way.shares_passes,
                                     .preset = options.preset,
                                     .seed = options.seed + static_cast<uint64_t>(i)}));
      }
      if (w == 0) texts = result.texts;
      int64_t others = 0;
      for (size_t turn = 0; turn < texts.size(); ++turn)
        others += texts[turn] != result.texts[turn];
      p95[w].push_back({people, result.first_sentence(0.95)});
      fmt::print(
          "{:2} people, {:21}: P50 {:6.1f} ms, P95 {:6.1f} ms; {:3.0f} % busy, {:.2f} sequences a "
          "pass, {:3.0f} % of {} drafted tokens wasted, {} of {} texts differ\n",
          people, way.title, 1e3 * result.first_sentence(0.5), 1e3 * result.first_sentence(0.95),
          100 * result.busy_seconds / result.seconds,
          static_cast<double>(result.num_sequences) / static_cast<double>(result.num_passes),
          result.num_drafted > 0 ? 100.0 * static_cast<double>(result.num_wasted) /
                                       static_cast<double>(result.num_drafted)
                                 : 0.0,
          result.num_drafted, others, texts.size());
      std::fflush(stdout);
    }
  }
  for (const PeopleTime& own : p95.back()) {
    const std::optional<double> together = people_within(own.seconds, p95[std::size(kWays) - 2]);
    fmt::print("P95 of {:.1f} ms: {} people with passes of their own, {} in common ones\n",
               1e3 * own.seconds, own.people,
               together ? fmt::format("{:.1f}", *together) : "more than the last");
  }
}

void run(const Options& options) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const std::vector<std::string> prompts = read_prompts(options);
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model);
  const std::shared_ptr<const Transformer> model =
      load_model(*checkpoint, {}, {.device = "cpu", .dtype = "fp32"});
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(checkpoint->read_tokenizer({}));
  Engine engine(model);
  evaluate::EvalConfig config;
  config.cost_parameters = options.parameters;
  config.seconds_per_pass = options.seconds_per_pass;
  config.seconds_per_token = options.seconds_per_token;
  for (const std::string& name : options.costs) {
    const evaluate::RunCost cost =
        evaluate::make_cost(name, config, {engine, *model, Quantization::kNone}, nullptr);
    if (!cost.costs.is_known()) throw UserError("--costs {}: has no cost of a pass", name);
    run_cost(cost, {model, *tokenizer, cost.costs}, prompts, options);
  }
}

}  // namespace
}  // namespace predgen

int main(int argc, char** argv) {
  predgen::Options options;
  CLI::App app("People who share one engine, in virtual time");
  app.add_option("model", options.model, "model folder")->required();
  app.add_option("prompts", options.prompts, "JSON lines with prompt or messages")->required();
  app.add_option("--half", options.half, "which lines")
      ->check(CLI::IsMember({"all", "even", "odd"}));
  app.add_option("--costs", options.costs, "of a pass")
      ->delimiter(',')
      ->check(CLI::IsMember(predgen::evaluate::cost_names()));
  app.add_option("--parameters", options.parameters, "of the model whose cost it is; 0: this one");
  app.add_option("--seconds-per-pass", options.seconds_per_pass, "of the cost given");
  app.add_option("--seconds-per-token", options.seconds_per_token, "of the cost given");
  app.add_flag("!--no-own-passes", options.own_passes, "leave these out");
  app.add_option("--people", options.people)->delimiter(',')->check(CLI::Range(1, 256));
  app.add_option("--turns", options.turns, "of each person")->check(CLI::Range(1, 1000));
  app.add_option("--all-turns", options.all_turns,
                 "at least, in as many runs as it takes; seeds go up from --seed");
  app.add_option("--seconds", options.seconds_between, "between turns, in the mean");
  app.add_option("--preset", options.preset);
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  try {
    predgen::run(options);
  } catch (const predgen::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
