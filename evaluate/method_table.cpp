#include "evaluate/method_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "evaluate/figure_values.h"

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
      {"could be %", [](J m, J) { return mean(m, "slow_tool_could_be_hidden", 100, 0); }},
      {"known ahead %", [](J m, J) { return mean(m, "call_known", 100, 0); }},
      {"foreseen %", [](J m, J) { return mean(m, "call_foreseen", 100, 0); }},
      {"early calls", [](J m, J) { return mean(m, "early_calls", 1, 2); }},
      {"early lost", [](J m, J) { return mean(m, "early_calls_wasted", 1, 2); }},
      {"right tool %", [](J m, J) { return mean(m, "right_tool", 100, 1); }},
      {"told %", [](J m, J) { return mean(m, "right_call_told", 100, 1); }},
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

namespace {

struct GroupColumn {
  const char* title;
  std::string (*cell)(const Json& method);
  const char* meaning;
};

std::string figure(const Json& method, const char* metric, double scale, int digits) {
  const auto value = number_at(method, {metric});
  return value ? fmt::format("{:.{}f}", scale * *value, digits) : "-";
}

std::string saving_cell(const Json& method) {
  const Json& saving = at_path(method, {"saving"});
  const auto ratio = number_at(saving, {"ratio"}), low = number_at(saving, {"low"}),
             high = number_at(saving, {"high"});
  return ratio && low && high ? fmt::format("{:.2f} {:.2f}-{:.2f}", *ratio, *low, *high) : "-";
}

const std::vector<GroupColumn>& columns() {
  using J = const Json&;
  static const std::vector<GroupColumn> list{
      {"NFE", [](J m) { return figure(m, "nfe_paper", 1, 2); },
       "forward passes from the end of the turn to the first sentence, at least one a turn, mean"},
      {"x fewer", saving_cell, "how many times fewer than its baseline's, with the 95 % interval"},
      {"wait s", [](J m) { return figure(m, "wait_from_last_word", 1, 3); },
       "seconds from the last word to the first sentence, mean"},
      {"ready %", [](J m) { return figure(m, "ready_before_end", 100, 0); },
       "turns whose first sentence was there before they were known to be over"},
      {"kept %", [](J m) { return figure(m, "first_sentence_kept", 100, 0); },
       "turns whose first sentence was drafted ahead and stayed"},
      {"drafted", [](J m) { return figure(m, "spec_tokens_drafted", 1, 1); },
       "tokens made before the end of the turn, mean"},
      {"wasted", [](J m) { return figure(m, "spec_tokens_wasted", 1, 1); },
       "those of them that are not in the answer, mean"},
      {"joules", [](J m) { return figure(m, "joules", 1, 1); },
       "energy that the GPU used in the turn, mean"},
      {"right %", [](J m) { return figure(m, "right_call", 100, 0); },
       "turns with the right call and no other"},
      {"result s", [](J m) { return figure(m, "wait_for_result", 1, 3); },
       "seconds from the last word to the first sound of what holds a tool's result, mean"},
      {"hidden %", [](J m) { return figure(m, "tool_hidden", 100, 0); },
       "of turns that called tools which only read, those in which nobody waited for a tool"},
      {"known %", [](J m) { return figure(m, "call_known", 100, 0); },
       "calls that the draft had before the turn was known to be over"},
      {"foreseen %", [](J m) { return figure(m, "call_foreseen", 100, 0); },
       "calls that the drafts had before the last word, and kept"},
  };
  return list;
}

/// Without columns in which no method of these groups has a figure.
std::vector<GroupColumn> columns_of(const Json& groups) {
  std::vector<GroupColumn> shown = columns();
  std::erase_if(shown, [&](const GroupColumn& column) {
    return std::ranges::all_of(groups, [&](const Json& group) {
      return std::ranges::all_of(at_path(group, {"methods"}),
                                 [&](const Json& method) { return column.cell(method) == "-"; });
    });
  });
  return shown;
}

std::string title_of(const std::string& by) {
  if (by == "source") return "By where the prompt is from";
  if (by == "tools") return "By what the right call's tool does, and how long that takes";
  if (by == "length") return "By length of the prompt, in words";
  return "By what changed last, between the last transcript that differs and the final one";
}

/// What the name of a group stands for; empty: the name says it.
std::string explain(const std::string& group) {
  static const std::map<std::string, std::string> meanings{
      {"none", "nothing else was heard before the final transcript"},
      {"punctuation", "the same words, but for case and punctuation"},
      {"word_added", "one more word at the end"},
      {"clause_added", "two or more words at the end"},
      {"word_revised", "one word is another, is gone, or stands between the others"},
      {"question_changed", "more than one word is another"}};
  const auto found = meanings.find(group);
  return found == meanings.end() ? "" : found->second;
}

std::string group_title(const Json& group) {
  const std::string name = text_at(group, {"group"}), meaning = explain(name);
  const double n = number_at(group, {"n"}).value_or(0);
  return fmt::format("{}: {:.0f} turn{}{}", name, n, n == 1 ? "" : "s",
                     meaning.empty() ? "" : " (" + meaning + ")");
}

/// Why there are no groups.
std::string missing(const std::string& by) {
  if (by == "source") {
    return "no turn of this set says where it is from (key \"source\" of its rows)";
  }
  if (by == "tools") return "no turn of this set says which tool is right to call";
  return "the results have no turns by it";
}

/// A line for each method below each group's title, as wide as its figures.
std::string text_of_groups(const Json& groups) {
  const std::vector<GroupColumn> shown = columns_of(groups);
  size_t names = 6;  // "method"
  std::vector<size_t> widths;
  for (const GroupColumn& column : shown) widths.push_back(std::strlen(column.title));
  for (const Json& group : groups) {
    for (const auto& [name, method] : at_path(group, {"methods"}).items()) {
      names = std::max(names, name.size());
      for (size_t i = 0; i < shown.size(); ++i) {
        widths[i] = std::max(widths[i], shown[i].cell(method).size());
      }
    }
  }
  std::string text;
  for (const Json& group : groups) {
    text += fmt::format("\n{}\n  {:<{}}", group_title(group), "method", names);
    for (size_t i = 0; i < shown.size(); ++i) {
      text += fmt::format("  {:>{}}", shown[i].title, widths[i]);
    }
    text += '\n';
    for (const auto& [name, method] : at_path(group, {"methods"}).items()) {
      text += fmt::format("  {:<{}}", name, names);
      for (size_t i = 0; i < shown.size(); ++i) {
        text += fmt::format("  {:>{}}", shown[i].cell(method), widths[i]);
      }
      text += '\n';
    }
  }
  text += '\n';
  for (const GroupColumn& column : shown) {
    text += fmt::format("{}: {}.\n", column.title, column.meaning);
  }
  return text;
}

}  // namespace

const std::vector<std::string>& group_names() {
  static const std::vector<std::string> names{"source", "last_change", "length", "tools"};
  return names;
}

std::string groups_text(const Json& report, const std::string& by) {
  std::string text = "Where it pays. " + title_of(by) + '\n';
  for (const Json& run : at_path(report, {"runs"})) {
    const Json& groups = at_path(run, {"groups", by});
    text += '\n' + run_title(run) + '\n';
    text += groups.empty() ? "Nothing to show: " + missing(by) + ".\n" : text_of_groups(groups);
  }
  return text;
}

Json group_table(const Json& run, const std::string& by) {
  const Json& groups = at_path(run, {"groups", by});
  Json table{{"title", title_of(by)},
             {"columns", Json::array()},
             {"groups", Json::array()},
             {"missing", groups.empty() ? missing(by) : ""}};
  const std::vector<GroupColumn> shown = columns_of(groups);
  for (const GroupColumn& column : shown) {
    table["columns"].push_back({{"title", column.title}, {"meaning", column.meaning}});
  }
  for (const Json& group : groups) {
    Json rows = Json::array();
    for (const auto& [name, method] : at_path(group, {"methods"}).items()) {
      Json& row = rows.emplace_back(Json::array({name}));
      for (const GroupColumn& column : shown) row.push_back(column.cell(method));
    }
    table["groups"].push_back({{"title", group_title(group)}, {"rows", std::move(rows)}});
  }
  return table;
}

}  // namespace predgen::evaluate
