#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

/// A results.json of sixteen turns in two rounds, by three methods: greedy takes half of the
/// baseline's time with its texts, top3 a quarter with other texts on every other turn.
inline Json planted_report(const std::vector<std::string>& methods = {"baseline", "greedy",
                                                                      "top3"}) {
  constexpr int kTurns = 16;
  Json report{{"runs", Json::array()},
              {"turns", Json::array()},
              {"failed", Json::array()},
              {"skipped", Json::array()},
              {"training_overlap", nullptr},
              {"num_turns", kTurns},
              {"config", "turns:\n  kind: conversations\n  file: sets/talk.jsonl\n"},
              {"environment", Json::object()}};
  Json run{{"methods", Json::object()},
           {"comparisons", Json::object()},
           {"unseen", nullptr},
           {"model", "models/tiny"},
           {"price",
            {{"name", "given"},
             {"basis", "the configuration"},
             {"seconds_per_pass", 0.027},
             {"seconds_per_token", 0.0}}},
           {"timelines", Json::array()}};
  for (const std::string& method : methods) {
    const double share = method == "greedy" ? 0.5 : method == "top3" ? 0.25 : 1;
    const bool drafts = share < 1;
    const auto mean = [](double value) {
      return Json{{"mean", value}, {"p50", value}, {"p90", value}};
    };
    run["methods"][method] = {{"ttfs", mean(0.8 * share)},
                              {"audio_latency", mean(1.0 * share)},
                              {"nfe_paper", mean(20 * share)},
                              {"speculative_nfe", mean(drafts ? 40 : 0)},
                              {"spec_tokens_drafted", mean(drafts ? 60 : 0)},
                              {"spec_tokens_accepted", mean(drafts ? 15 : 0)},
                              {"spec_tokens_wasted", mean(drafts ? 45 : 0)},
                              {"speedup", 1 / share},
                              {"sooner",
                               {{"seconds", 1 - share},
                                {"low", 0.9 * (1 - share)},
                                {"high", 1.1 * (1 - share)},
                                {"n", kTurns}}},
                              {"top_k", method == "top3" ? Json(3) : Json()}};
    if (drafts) {
      const Json ratio{
          {"ratio", 1 / share}, {"low", 0.9 / share}, {"high", 1.1 / share}, {"n", kTurns}};
      const double changed = method == "top3" ? 0.5 : 0;
      run["comparisons"][method] = {
          {"audio_latency_saving", ratio},
          {"nfe_saving_paper", ratio},
          {"changed_text",
           {{"share", changed}, {"low", changed * 0.8}, {"high", changed * 1.2}, {"n", kTurns}}}};
    }
    for (int turn = 0; turn < kTurns; ++turn) {
      std::string prompt = "Please";
      for (int word = 0; word < turn; ++word) prompt += " now";
      report["turns"].push_back(
          {{"turn", turn},
           {"id", "id-" + std::to_string(turn)},
           {"method", method},
           {"prompt", prompt},
           {"text", method == "top3" && turn % 2 == 1 ? "It is not done." : "It is done."},
           {"ttfs", 0.8 * share},
           {"ttfs_paper", 0.7 * share},
           {"ttft", 0.3 * share},
           {"audio_latency", 1.0 * share},
           {"nfe_paper", turn % 4 == 0 && drafts ? 1 : 20 * share},
           {"lead_time", 0.0},
           {"round", 1 + turn % 2},
           {"revised_share", nullptr},
           {"model", "models/tiny"},
           {"price", "given"}});
    }
    run["timelines"].push_back(
        {{"turn", 2},
         {"id", "id-2"},
         {"method", method},
         {"why", "typical"},
         {"against", "greedy"},
         {"events", Json::array({Json::array({0.5, "transcript", "Please"}),
                                 Json::array({0.9, "draft", "It was."}),
                                 Json::array({0.92, "transcript", "Please now"}),
                                 Json::array({0.97, "draft", "It was all."}),
                                 Json::array({1.0, "final", "Please now now"}),
                                 Json::array({1.0 + 0.8 * share, "first_sentence", "It is done."}),
                                 Json::array({1.9, "done", "It is done."})})}});
  }
  report["runs"].push_back(run);
  return report;
}

/// The row of a method and turn.
inline Json& planted_row(Json& report, const std::string& method, int64_t turn) {
  for (Json& row : report["turns"]) {
    if (row["method"] == method && row["turn"] == turn) return row;
  }
  throw std::out_of_range(method);
}

}  // namespace predgen::evaluate
