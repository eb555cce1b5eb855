#include "evaluate/method_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "evaluate/at_path.h"

namespace predgen::evaluate {
namespace {

struct MethodColumn {
  std::string title;
  std::string (*cell)(const Json& method, const Json& comparison);
};

std::string number(const Json& value, double scale, int digits) {
  return value.is_number() ? fmt::format("{:.{}f}", value.get<double>() * scale, digits) : "-";
}

std::string mean(const Json& method, const char* metric, double scale, int digits) {
  return number(at_path(method, {metric, "mean"}), scale, digits);
}

/// "p50", "p90", ..
std::string quantile_ms(const Json& method, const char* metric, const char* name, int digits) {
  return number(at_path(method, {metric, name}), 1e3, digits);
}

/// Mean passes of the model and, after a +, those of a draft model.
std::string passes(const Json& method, const char* metric, const char* of_draft_model, int digits) {
  const std::string own = mean(method, metric, 1, digits);
  const auto more = number_at(method, {of_draft_model, "mean"});
  return more.value_or(0) > 0 ? own + "+" + mean(method, of_draft_model, 1, digits) : own;
}

/// " 2 out": how many are left out of the mean.
std::string missing_cell(const Json& judged) {
  const auto missing = number_at(judged, {"missing"});
  return missing.value_or(0) == 0 ? "" : fmt::format(" {:.0f} out", *missing);
}

std::string grade_cell(const Json& judged) {
  if (judged.is_null()) return "-";
  const Json& grade = at_path(judged, {"grade"});
  return grade.is_null() ? "-" : number(at_path(grade, {"mean"}), 1, 2) + missing_cell(grade);
}

std::string pairs_cell(const Json& pairs) {
  if (pairs.is_null()) return "-";
  return fmt::format("{}/{}/{}", at_path(pairs, {"wins"}).dump(), at_path(pairs, {"ties"}).dump(),
                     at_path(pairs, {"losses"}).dump()) +
         missing_cell(pairs);
}

std::string equal_text_cell(const Json& equal) {
  if (equal.is_null()) return "-";
  return fmt::format("{}/{} {}", at_path(equal, {"count"}).dump(), at_path(equal, {"n"}).dump(),
                     text_at(equal, {"against"}));
}

std::string share_cell(const Json& share) {
  if (share.is_null()) return "-";
  return number(at_path(share, {"share"}), 100, 1) + ' ' + number(at_path(share, {"low"}), 100, 0) +
         '-' + number(at_path(share, {"high"}), 100, 0);
}

/// Those with a value for any method.
std::vector<MethodColumn> method_columns(const Json& run) {
  using J = const Json&;
  std::vector<MethodColumn> list{
      {"ttfs ms", [](J m, J) { return mean(m, "ttfs", 1e3, 1); }},
      {"P50", [](J m, J) { return quantile_ms(m, "ttfs", "p50", 1); }},
      {"P90", [](J m, J) { return quantile_ms(m, "ttfs", "p90", 1); }},
      {"NFE",
       [](J m, J) { return passes(m, "nfe_paper", "draft_model_nfe_to_first_sentence", 2); }},
      {"x fewer",
       [](J, J c) {
         return number(at_path(c, {"nfe_saving_paper", "ratio"}), 1, 2);
       }},
      {"NFE ahead",
       [](J m, J) { return passes(m, "speculative_nfe", "draft_model_speculative_nfe", 1); }},
      {"wasted", [](J m, J) { return mean(m, "spec_tokens_wasted", 1, 1); }},
      {"joules", [](J m, J) { return mean(m, "joules", 1, 1); }},
      {"audio ms", [](J m, J) { return mean(m, "audio_latency", 1e3, 1); }},
      {"voice P50", [](J m, J) { return quantile_ms(m, "voice_to_voice", "p50", 0); }},
      {"voice P95", [](J m, J) { return quantile_ms(m, "voice_to_voice", "p95", 0); }},
      {"sooner ms",
       [](J m, J) {
         return number(at_path(m, {"sooner", "seconds"}), 1e3, 0);
       }},
      {"kept %", [](J m, J) { return number(at_path(m, {"kept_whole"}), 100, 0); }},
      {"tokens/pass", [](J m, J) { return number(at_path(m, {"tokens_per_pass"}), 1, 2); }},
      {"result ms", [](J m, J) { return mean(m, "wait_for_result", 1e3, 0); }},
      {"result P50", [](J m, J) { return quantile_ms(m, "wait_for_result", "p50", 0); }},
      {"result P95", [](J m, J) { return quantile_ms(m, "wait_for_result", "p95", 0); }},
      {"hidden %", [](J m, J) { return mean(m, "slow_tool_hidden", 100, 0); }},
      {"known ahead %", [](J m, J) { return mean(m, "call_known", 100, 0); }},
      {"foreseen %", [](J m, J) { return mean(m, "call_foreseen", 100, 0); }},
      {"early calls", [](J m, J) { return mean(m, "early_calls", 1, 2); }},
      {"early lost", [](J m, J) { return mean(m, "early_calls_wasted", 1, 2); }},
      {"right tool %", [](J m, J) { return mean(m, "right_tool", 100, 1); }},
      {"malformed", [](J m, J) { return mean(m, "malformed_calls", 1, 2); }},
      {"accuracy %", [](J m, J) { return share_cell(at_path(m, {"accuracy"})); }},
      {"strict %",
       [](J m, J) {
         return share_cell(at_path(m, {"accuracy", "strict"}));
       }},
      {"repeats %",
       [](J m, J) { return number(at_path(m, {"share_of_values_repeated"}), 100, 0); }},
      {"known %",
       [](J m, J) {
         return number(at_path(m, {"task", "known_values"}), 100, 0);
       }},
      {"same act %",
       [](J m, J) {
         return share_cell(at_path(m, {"task", "same_act"}));
       }},
      {"judge", [](J m, J) { return grade_cell(at_path(m, {"judge"})); }},
      {"win/tie/loss",
       [](J m, J) {
         return pairs_cell(at_path(m, {"judge", "pairs"}));
       }},
      {"changed %", [](J, J c) { return share_cell(at_path(c, {"changed_text"})); }},
      {"equal text", [](J, J c) { return equal_text_cell(at_path(c, {"equal_text"})); }},
  };
  std::erase_if(list, [&](const MethodColumn& column) {
    const auto& methods = at_path(run, {"methods"}).items();
    return std::all_of(methods.begin(), methods.end(), [&](const auto& method) {
      return column.cell(method.value(), at_path(run, {"comparisons", method.key()})) == "-";
    });
  });
  return list;
}

}  // namespace

TextTable method_table(const Json& run) {
  const std::vector<MethodColumn> columns = method_columns(run);
  TextTable table{{"method"}};
  for (const MethodColumn& column : columns) table.head.push_back(column.title);
  for (const auto& [name, method] : at_path(run, {"methods"}).items()) {
    std::vector<std::string>& row = table.rows.emplace_back(1, name);
    for (const MethodColumn& column : columns) {
      row.push_back(column.cell(method, at_path(run, {"comparisons", name})));
    }
  }
  return table;
}

TextTable category_table(const Json& run) {
  TextTable table{{"accuracy % in", "turns"}};
  const Json& methods = at_path(run, {"methods"});
  if (!methods.is_object() || methods.empty()) return table;
  for (const auto& [name, method] : methods.items()) table.head.push_back(name);
  const Json& first = at_path(methods.front(), {"accuracy", "by_category"});
  if (!first.is_object()) return table;
  for (const auto& [category, share] : first.items()) {
    table.rows.push_back({category, at_path(share, {"n"}).dump()});
    for (const Json& method : methods) {
      table.rows.back().push_back(
          share_cell(at_path(method, {"accuracy", "by_category", category})));
    }
  }
  return table;
}

std::string run_title(const Json& run) {
  const Json& cost = at_path(run, {"cost"});
  std::string title = fmt::format("{}, cost {}", text_at(run, {"model"}), text_at(cost, {"name"}));
  const auto pass = number_at(cost, {"seconds_per_pass"}),
             token = number_at(cost, {"seconds_per_token"});
  if (pass) {
    title += fmt::format(": {:.4g} ms a pass and {:.4g} ms a token", 1e3 * *pass,
                         1e3 * token.value_or(0));
  }
  return title + " (" + text_at(cost, {"basis"}) + ")";
}

std::string heard_line(const Json& report) {
  const Json& heard = at_path(report, {"heard"});
  if (heard.is_null()) return "";
  const double words = heard["words"], errors = heard["word_errors"];
  std::string line = fmt::format("{} of {} spoken turns were cut off", heard["cut_off"].dump(),
                                 heard["turns"].dump());
  const Json& wait = heard["wait"];
  if (wait["n"] == 0) return line + ".";
  return line + fmt::format(
                    "; of the others {:.1f} % of the words were heard wrong, and they were "
                    "over {:.0f} ms after the voice (P50; P95 {:.0f} ms).",
                    words > 0 ? 100 * errors / words : 0, 1e3 * wait["p50"].get<double>(),
                    1e3 * wait["p95"].get<double>());
}

}  // namespace predgen::evaluate
