#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "evaluate/report.h"

namespace predgen {
namespace {

std::string number(const Json& value, double scale, int digits) {
  return value.is_number() ? fmt::format("{:.{}f}", value.get<double>() * scale, digits) : "-";
}

const Json& find(const Json& object, const std::string& key) {
  static const Json null;
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it == object.end() ? null : *it;
}

/// Mean passes of the model, and after a + those of a draft model.
std::string passes(const Json& method, const char* metric, const char* of_draft_model, int digits) {
  const std::string own = number(method[metric]["mean"], 1, digits);
  const Json& more = method[of_draft_model]["mean"];
  return more.is_number() && more > 0.0 ? own + "+" + number(more, 1, digits) : own;
}

/// "83.0 74-90": a share and its 95 % interval, in percent.
std::string share_cell(const Json& share) {
  if (share.is_null()) return "-";
  return number(share["share"], 100, 1) + ' ' + number(share["low"], 100, 0) + '-' +
         number(share["high"], 100, 0);
}

/// " 2 out": so many are in no mean.
std::string missing_cell(const Json& judged) {
  return judged["missing"] == 0 ? "" : " " + judged["missing"].dump() + " out";
}

std::string grade_cell(const Json& judged) {
  if (judged.is_null()) return "no judge";
  const Json& grade = judged["grade"];
  return grade.is_null() ? "-" : number(grade["mean"], 1, 2) + missing_cell(grade);
}

std::string pairs_cell(const Json& pairs) {
  if (pairs.is_null()) return "-";
  return fmt::format("{}/{}/{}", pairs["wins"].dump(), pairs["ties"].dump(),
                     pairs["losses"].dump()) +
         missing_cell(pairs);
}

struct Column {
  std::string title;
  std::string (*cell)(const Json& method, const Json& comparison);
};

// Columns of a run's table, on the terminal and on the page: those that say something of any
// method.
std::vector<Column> columns(const Json& run) {
  using J = const Json&;
  std::vector<Column> list{
      {"ttfs ms", [](J m, J) { return number(m["ttfs"]["mean"], 1e3, 1); }},
      {"P50", [](J m, J) { return number(m["ttfs"]["p50"], 1e3, 1); }},
      {"P90", [](J m, J) { return number(m["ttfs"]["p90"], 1e3, 1); }},
      {"NFE",
       [](J m, J) { return passes(m, "nfe_paper", "draft_model_nfe_to_first_sentence", 2); }},
      {"x fewer", [](J, J c) { return number(find(find(c, "nfe_saving_paper"), "ratio"), 1, 2); }},
      {"NFE ahead",
       [](J m, J) { return passes(m, "speculative_nfe", "draft_model_speculative_nfe", 1); }},
      {"wasted", [](J m, J) { return number(m["spec_tokens_wasted"]["mean"], 1, 1); }},
      {"joules", [](J m, J) { return number(m["joules"]["mean"], 1, 1); }},
      {"audio ms", [](J m, J) { return number(m["audio_latency"]["mean"], 1e3, 1); }},
      {"speed-up", [](J m, J) { return number(find(m, "speedup"), 1, 2); }},
      {"kept %", [](J m, J) { return number(m["kept_whole"], 100, 0); }},
      {"tokens/pass", [](J m, J) { return number(m["tokens_per_pass"], 1, 2); }},
      {"accuracy %", [](J m, J) { return share_cell(find(m, "accuracy")); }},
      {"strict %", [](J m, J) { return share_cell(find(find(m, "accuracy"), "strict")); }},
      {"repeats %", [](J m, J) { return number(m["share_of_values_repeated"], 100, 0); }},
      {"known %", [](J m, J) { return number(find(find(m, "task"), "known_values"), 100, 0); }},
      {"same act %", [](J m, J) { return share_cell(find(find(m, "task"), "same_act")); }},
      {"judge", [](J m, J) { return grade_cell(find(m, "judge")); }},
      {"win/tie/loss", [](J m, J) { return pairs_cell(find(find(m, "judge"), "pairs")); }},
      {"changed %", [](J, J c) { return share_cell(find(c, "changed_text")); }},
      {"equal text",
       [](J, J c) {
         const Json& equal = find(c, "equal_text");
         if (equal.is_null()) return std::string("-");
         return fmt::format("{}/{} {}", equal["count"].get<int64_t>(), equal["n"].get<int64_t>(),
                            equal["against"].get<std::string>());
       }},
  };
  std::erase_if(list, [&](const Column& column) {
    const auto& methods = run["methods"].items();
    return std::all_of(methods.begin(), methods.end(), [&](const auto& method) {
      return column.cell(method.value(), find(run["comparisons"], method.key())) == "-";
    });
  });
  return list;
}

std::string quote_csv(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string quoted(1, '"');
  for (const char c : value.get<std::string>()) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

std::string bars(const Json& run, const char* metric, const char* title, double scale) {
  double longest = 0;
  for (const auto& [name, method] : run["methods"].items()) {
    if (method[metric]["mean"].is_number()) {
      longest = std::max(longest, method[metric]["mean"].get<double>());
    }
  }
  if (longest == 0) return "";
  std::string html = fmt::format("<h3>{}</h3>\n", title);
  for (const auto& [name, method] : run["methods"].items()) {
    const Json& mean = method[metric]["mean"];
    const double width = mean.is_number() ? 100 * mean.get<double>() / longest : 0;
    html += fmt::format(
        "<div class=row><span>{}</span><div class=bar style='width:{:.1f}%'></div>{}</div>\n",
        escape_html(name), 0.6 * width, number(mean, scale, 2));
  }
  return html;
}

/// Which texts of a method that verifies exactly differ, and how near the choice was.
std::string flips_line(const std::string& name, const Json& equal) {
  const Json& flips = find(equal, "flips");
  if (flips.is_null() || flips.empty()) return "";
  std::string line = fmt::format(
      "{}: {} of {} texts differ from those of {}; there the two likeliest logits of plain "
      "decoding are "
      "apart by",
      name, flips.size(), equal["n"].dump(), equal["against"].get<std::string>());
  for (const Json& flip : flips) {
    line += fmt::format(" {} (turn {}, token {})", number(flip["margin"], 1, 4),
                        flip["turn"].dump(), flip["token"].dump());
  }
  return line + '\n';
}

/// Whose figures these are, and by which price.
std::string run_title(const Json& run) {
  const Json& price = run["price"];
  std::string title = fmt::format("{}, price {}", run["model"].get<std::string>(),
                                  price["name"].get<std::string>());
  if (price.contains("seconds_per_pass")) {
    title += fmt::format(": {:.4g} ms a pass and {:.4g} ms a token",
                         1e3 * price["seconds_per_pass"].get<double>(),
                         1e3 * price["seconds_per_token"].get<double>());
  }
  return title + " (" + price["basis"].get<std::string>() + ")";
}

/// Of a run, or of its unseen turns.
std::string methods_table(const Json& run) {
  const std::vector<Column> shown = columns(run);
  std::string table = fmt::format("{:<16}", "method");
  for (const Column& column : shown) table += fmt::format(" {:>11}", column.title);
  table += '\n';
  for (const auto& [name, method] : run["methods"].items()) {
    table += fmt::format("{:<16}", name);
    for (const Column& column : shown) {
      table += fmt::format(" {:>11}", column.cell(method, find(run["comparisons"], name)));
    }
    table += '\n';
  }
  return table;
}

/// Empty for a set without categories.
std::string category_table(const Json& methods) {
  const Json& first = find(find(methods.front(), "accuracy"), "by_category");
  if (first.is_null()) return "";
  std::string table = fmt::format("\n{:<20} {:>5}", "accuracy % in", "turns");
  for (const auto& [name, method] : methods.items()) table += fmt::format(" {:>11}", name);
  table += '\n';
  for (const auto& [category, share] : first.items()) {
    table += fmt::format("{:<20} {:>5}", category, share["n"].dump());
    for (const Json& method : methods) {
      table += fmt::format(" {:>11}", share_cell(method["accuracy"]["by_category"][category]));
    }
    table += '\n';
  }
  return table;
}

/// Answers that the judge could not judge; each is in results.json.
std::string judge_problems(const Json& report) {
  constexpr int64_t kShown = 5;
  std::string lines;
  int64_t count = 0;
  for (const Json& row : report["turns"]) {
    for (const char* key : {"judge_grade_problem", "judge_against_baseline_problem"}) {
      const Json& problem = find(row, key);
      if (problem.is_null() || problem == "" || ++count > kShown) continue;
      lines += fmt::format("  turn {}, {}: {}\n", row["id"].get<std::string>(),
                           row["method"].get<std::string>(), problem.get<std::string>());
    }
  }
  if (count > kShown) lines += fmt::format("  and {} more, in results.json\n", count - kShown);
  return count == 0 ? "" : fmt::format("\nNot judged, and in no mean: {}\n", count) + lines;
}

/// Empty without training data.
std::string overlap_line(const Json& report) {
  const Json& seen = find(report, "training_overlap");
  if (seen.is_null()) return "";
  return fmt::format(
      "\n{} of {} turns stand in the training data word for word, {} but for case and "
      "punctuation.\n",
      seen["exact"].dump(), report["num_turns"].dump(), seen["normalised"].dump());
}

std::string run_table(const Json& run) {
  std::string table = run_title(run) + '\n' + methods_table(run) + category_table(run["methods"]);
  for (const auto& [name, method] : run["methods"].items()) {
    table += flips_line(name, find(find(run["comparisons"], name), "equal_text"));
  }
  const Json& unseen = find(run, "unseen");
  if (!unseen.is_null()) table += "\nTurns that the training data lacks:\n" + methods_table(unseen);
  return table;
}

std::string run_html(const Json& run) {
  std::string html = "<h2>" + escape_html(run_title(run)) + "</h2>\n<table><tr><th>method";
  const std::vector<Column> shown = columns(run);
  for (const Column& column : shown) html += "<th>" + column.title;
  html += "</tr>\n";
  for (const auto& [name, method] : run["methods"].items()) {
    html += "<tr><td>" + escape_html(name);
    for (const Column& column : shown) {
      html += "<td>" + escape_html(column.cell(method, find(run["comparisons"], name)));
    }
    html += "</tr>\n";
  }
  return html + "</table>\n" + bars(run, "ttfs", "Time to first sentence, mean ms", 1e3) +
         bars(run, "nfe_paper", "Forward passes to first sentence, mean of max(1, n)", 1);
}

}  // namespace

std::string format_table(const Json& report) {
  std::string tables;
  for (const Json& run : report["runs"]) {
    tables += (tables.empty() ? "" : "\n") + run_table(run);
  }
  return tables + overlap_line(report) + judge_problems(report);
}

std::string format_csv(const Json& report) {
  std::string csv;
  const auto line = [&](const Json& row, bool names) {
    std::string text;
    for (const auto& [key, value] : row.items()) {
      if (key == "token_ids") continue;
      if (!text.empty()) text += ',';
      text += quote_csv(names ? Json(key) : value);
    }
    csv += text;
    csv += "\r\n";
  };
  for (const Json& row : report["turns"]) {
    if (csv.empty()) line(row, true);
    line(row, false);
  }
  return csv;
}

std::string format_html(const Json& report) {
  std::string html =
      "<!doctype html><meta charset=utf-8><title>predgen eval</title>\n<style>"
      "body{font:15px sans-serif;margin:2em}td,th{padding:.3em .8em;text-align:right;"
      "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
      ".row{display:flex;gap:.6em;margin:.2em 0}.row span{width:8em}.bar{background:#48a}"
      "pre{background:#f4f4f4;padding:1em}</style>\n<h1>predgen eval</h1>\n";
  html += fmt::format("<p>{} turns.</p>\n", report["num_turns"].dump());
  for (const Json& run : report["runs"]) html += run_html(run);
  html += "<h2>First turns</h2>\n<table><tr><th>prompt<th>method<th>answer</tr>\n";
  constexpr int64_t kTurnsShown = 20;
  for (const Json& row : report["turns"]) {
    if (row["turn"].get<int64_t>() >= kTurnsShown) break;
    html += "<tr>";
    for (const char* key : {"prompt", "method", "text"}) {
      html += "<td style='text-align:left'>" + escape_html(row[key].get<std::string>());
    }
    html += "</tr>\n";
  }
  html += "</table>\n<h2>Configuration</h2>\n<pre>" +
          escape_html(report["config"].get<std::string>()) + "</pre>\n";
  return html;
}

}  // namespace predgen
