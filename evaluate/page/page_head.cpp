#include "evaluate/page/page_head.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "core/text.h"
#include "evaluate/page/page_tables.h"
#include "evaluate/page/quality_measure.h"
#include "evaluate/page/run_set.h"

namespace predgen::evaluate {
namespace {

std::string tile(const std::string& name, const std::string& value, const std::string& note) {
  return fmt::format("<div class=tile><span>{}</span><strong>{}</strong><span>{}</span></div>\n",
                     escape_html(name), escape_html(value), escape_html(note));
}

/// The method that saves the most time among those that keep the baseline's texts, or not.
std::string soonest(const RunView& run, bool keeps_texts) {
  std::string best;
  double most = 0;
  for (const std::string& method : run.methods()) {
    const auto sooner = run.ms_sooner(method);
    if (!sooner || run.keeps_texts(method) != keeps_texts || sooner->value <= most) continue;
    best = method;
    most = sooner->value;
  }
  return best;
}

std::string speed_tile(const RunView& run, const std::string& name, const std::string& method,
                       const std::string& note) {
  const auto sooner = run.ms_sooner(method);
  if (!sooner) return "";
  return tile(
      name + ": " + method, fmt::format("{:.0f} ms sooner", sooner->value),
      fmt::format("the first sound, mean ({:.0f}–{:.0f}){}", sooner->low, sooner->high, note));
}

}  // namespace

std::string set_name(const Json& report) {
  const RunSet set = run_set(report);
  const std::string paper = paper_set_of(report);
  if (paper == "mt_bench") return "MT-Bench";
  if (paper == "gsm8k") return "GSM8K";
  if (paper == "mmlu_pro") return "MMLU-Pro";
  if (paper == "lmsys") return "Lmsys";
  const std::filesystem::path file(set.file);
  const std::string folder = file.parent_path().filename().string();
  if (file.empty()) return "An evaluation";
  return (folder.empty() ? "" : folder + "/") + file.filename().string();
}

std::string page_head(const Json& report, const std::vector<RunView>& runs) {
  std::set<std::string> models, prices;
  for (const RunView& run : runs) {
    models.insert(run.model());
    prices.insert(run.price());
  }
  const std::string left = left_out(report);
  const size_t num_failed = at_path(report, {"failed"}).size();
  std::string html = fmt::format(
      "<h1>{} <small>· predgen eval</small></h1>\n<p class=soft>{} turns, {} methods, {} model{}, "
      "{} "
      "price{} of a pass</p>\n",
      escape_html(set_name(report)), at_path(report, {"num_turns"}).dump(),
      runs.empty() ? 0 : runs.front().methods().size(), models.size(),
      models.size() == 1 ? "" : "s", prices.size(), prices.size() == 1 ? "" : "s");
  html +=
      "<nav aria-label='On this page'><a href='#table1'>Summary</a><a "
      "href='#figures'>Figures</a><a "
      "href='#timelines'>One turn</a><a href='#methods'>All methods</a><a "
      "href='#pays'>Where it pays</a><a "
      "href='#turns'>Turns</a><a href='#settings'>Settings</a></nav>\n";
  if (!left.empty()) {
    html += fmt::format("<div class='alarm{}'>{}</div>\n", num_failed == 0 ? " mild" : "", left);
  }
  return html;
}

std::string headline_tiles(const RunView& run) {
  std::string baseline;
  for (const std::string& method : run.methods()) {
    if (run.is_baseline(method) && baseline.empty()) baseline = method;
  }
  std::string html;
  if (const auto latency = number_at(run.method(baseline), {"audio_latency", "mean"})) {
    html += tile("The " + baseline + " waits", fmt::format("{:.0f} ms", 1e3 * *latency),
                 "from the last word to the first sound, mean");
  }
  html += speed_tile(run, "With the same texts", soonest(run, true), "");
  const std::string other = soonest(run, false);
  std::string note;
  if (const auto changed = number_at(run.comparison(other), {"changed_text", "share"})) {
    note = fmt::format("; changes {:.0f} % of the texts", 100 * *changed);
  }
  html += speed_tile(run, "With other texts", other, note);
  const auto measure = quality_measure(run);
  if (measure && measure->is_of_answers && !other.empty()) {
    const auto before = measure->of(baseline), after = measure->of(other);
    if (before && after) {
      html += tile(measure->name,
                   fmt::format("{:.{}f} → {:.{}f}", before->value, measure->digits, after->value,
                               measure->digits),
                   baseline + " → " + other);
    }
  }
  return html.empty() ? "" : "<div class=tiles>\n" + html + "</div>\n";
}

std::string without_ids(std::string html) {
  for (size_t at = 0; (at = html.find(" id=", at)) != std::string::npos;) {
    // Only inside tags: text has no '<' of its own, as it is escaped.
    const size_t open = html.rfind('<', at), close = html.rfind('>', at);
    if (open == std::string::npos || (close != std::string::npos && close > open)) {
      at += 4;
      continue;
    }
    html.erase(at, html.find_first_of(" >", at + 1) - at);
  }
  return html;
}

}  // namespace predgen::evaluate
