#include "evaluate/group_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "evaluate/at_path.h"
#include "evaluate/method_table.h"

namespace predgen::evaluate {
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
