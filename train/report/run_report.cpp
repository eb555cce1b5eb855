#include "train/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/config.h"
#include "core/files.h"
#include "core/text.h"
#include "page/page_style.h"
#include "train/report/page_script.h"
#include "train/report/run_charts.h"
#include "train/report/run_history.h"

namespace predgen::train {
namespace {

constexpr size_t kAnswersShown = 6;
constexpr size_t kPromptShown = 300;  // bytes of its end

/// The few settings that the page's head names.
struct Head {
  int64_t max_steps = 0;
  double epochs = 0.0;
  std::string model, mode = "lora", objective;
};

Head read_head(const std::string& config) {
  Head head;
  ConfigReader reader = ConfigReader::parse(config, "config.yaml");
  reader.optional("max_steps", head.max_steps);
  reader.optional("epochs", head.epochs);
  reader.optional("mode", head.mode);
  reader.optional("model", head.model);
  if (head.model.empty()) reader.optional("initialize", head.model);
  reader.section("objective").optional("kind", head.objective);
  return head;
}

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<int64_t>(std::lround(seconds / 60));
  if (minutes < 60) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string head_of_page(const std::string& name, const RunHistory& history) {
  const Head head = read_head(history.config);
  const double seconds = history.last("train/seconds"), epoch = history.last("train/epoch");
  const auto step = static_cast<double>(history.last_step);
  std::string where = fmt::format("step {}", with_commas(history.last_step));
  double share = NAN;
  if (head.max_steps > 0) {
    where += fmt::format(" of {}", with_commas(head.max_steps));
    share = step / static_cast<double>(head.max_steps);
  } else if (std::isfinite(epoch)) {
    where += fmt::format(", epoch {:.2f} of {:g}", epoch, head.epochs);
    share = epoch / head.epochs;
  }
  if (std::isfinite(seconds)) {
    where += fmt::format(" · {} of training", duration(seconds));
    if (share > 0 && share < 0.995) {
      // True of a run that was stopped, too.
      where += fmt::format(" · about {} for the rest", duration(seconds / share - seconds));
    }
  }
  std::string html =
      fmt::format("<h1>{}</h1><p class=soft>{} training of {}{}{}</p><p class=soft>{}</p>\n",
                  escape_html(name), head.mode == "lora" ? "LoRA" : "Full", escape_html(head.model),
                  head.objective.empty() ? "" : ", objective ", escape_html(head.objective), where);
  if (share > 0) {
    html += fmt::format("<div class=progress><div style='width:{:.1f}%'></div></div>\n",
                        100 * std::min(share, 1.0));
  }
  if (history.last("watch/collapsed") > 0) {
    html +=
        "<p class=alarm><strong>The model collapses.</strong> Its answers to the watched prompts "
        "repeat themselves more than before, or have become short: see the answers below.</p>\n";
  }
  return html;
}

std::string tile(const std::string& name, const std::string& value, const std::string& note = "") {
  return fmt::format("<div class=tile><span>{}</span><strong>{}</strong><span>{}</span></div>\n",
                     escape_html(name), value, note);
}

/// The lowest value of a loss, and where.
std::string best_of(const Series& series) {
  size_t best = series.values.size();
  for (size_t i = 0; i < series.values.size(); ++i) {
    if (!std::isfinite(series.values[i])) continue;
    if (best == series.values.size() || series.values[i] < series.values[best]) best = i;
  }
  if (best == series.values.size()) return "";
  return fmt::format("lowest {:.4f} at step {}", series.values[best],
                     with_commas(series.steps[best]));
}

std::string tiles(const RunHistory& history) {
  std::string html = "<div class=tiles>\n";
  const auto number = [&](const std::string& name, const std::string& tag, const char* format,
                          double scale = 1.0, const std::string& note = "") {
    const double value = history.last(tag);
    if (std::isfinite(value))
      html += tile(name, fmt::format(fmt::runtime(format), scale * value), note);
  };
  for (const std::string& name : loss_names(history)) {
    number("loss: " + name, "train/" + name, "{:.4f}");
  }
  for (const std::string& name : history.names("held_out/")) {
    number("held-out loss: " + name, "held_out/" + name, "{:.4f}", 1.0,
           best_of(history.scalars.at("held_out/" + name)));
  }
  number("tokens a second", "train/tokens_per_second", "{:.0f}");
  number("most memory", "memory/process_gib", "{:.2f} GiB");
  number("most GPU memory", "memory/gpu_gib", "{:.2f} GiB");
  number("tokens a pass", "watch/tokens_per_pass", "{:.2f}");
  number("answers that repeat themselves", "watch/repetition", "{:.0f} %", 100);
  const auto outliers = std::ranges::count_if(history.skipped, &SkippedStep::outlier);
  html += tile("steps skipped", std::to_string(history.skipped.size()),
               history.skipped.empty() ? "" : fmt::format("of which outliers: {}", outliers));
  return html + "</div>\n";
}

/// The end of a text, in whole characters.
std::string end_of(const std::string& text) {
  if (text.size() <= kPromptShown) return text;
  return "… " + std::string(last_bytes(text, kPromptShown));
}

std::string answers(const RunHistory& history) {
  if (history.first_watch.is_null()) return "";
  const auto texts = [](const Json& watch) {
    std::vector<std::string> found;
    for (const Json& answer : watch.at("answers")) {
      found.push_back(json_get<std::string>(answer, "text", "watch.jsonl"));
    }
    return found;
  };
  const auto step = [](const Json& watch) { return with_commas(watch.at("step").get<int64_t>()); };
  const std::vector<std::string> first = texts(history.first_watch),
                                 last = texts(history.last_watch);
  const auto prompts =
      json_get<std::vector<std::string>>(history.first_watch, "prompts", "watch.jsonl");
  std::string html = fmt::format(
      "<h2>What the model answers</h2>\n<table class=answers><tr><th>prompt<th>step {}<th>step "
      "{}</tr>\n",
      step(history.first_watch), step(history.last_watch));
  const auto shown = [](const std::string& text) {
    return text.empty() ? "<span class=soft>(nothing)</span>" : escape_html(text);
  };
  const size_t count = std::min({prompts.size(), first.size(), last.size(), kAnswersShown});
  for (size_t i = 0; i < count; ++i) {
    html += fmt::format("<tr><td>{}<td>{}<td>{}</tr>\n", escape_html(end_of(prompts[i])),
                        shown(first[i]), shown(last[i]));
  }
  return html + "</table>\n";
}

std::string settings(const RunHistory& history) {
  std::string html = "<details><summary>Configuration</summary><pre>" +
                     escape_html(history.config) +
                     "</pre></details>\n<details><summary>What identifies the run</summary>\n";
  if (history.identity.empty()) return html + "<p>No checkpoint yet.</p></details>\n";
  html +=
      "<p class=soft>A checkpoint is resumed only where all of these are the same. Models and data "
      "are named by hashes of their contents.</p><table>\n";
  for (const auto& [key, value] : history.identity) {
    html += fmt::format("<tr><td>{}<td>{}</tr>\n", escape_html(key), escape_html(value));
  }
  return html + "</table></details>\n";
}

std::string format_run_report(const std::string& name, const RunHistory& history) {
  return fmt::format(
             "<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
             "<meta name=viewport content='width=device-width'><meta name=color-scheme "
             "content='light "
             "dark'>\n<title>{} · predgen train</title>\n<style>{}</style>\n<main>\n",
             escape_html(name), kPageStyle) +
         head_of_page(name, history) + tiles(history) + run_charts(history) + answers(history) +
         "<h2>Settings</h2>\n" + settings(history) + "</main>\n<script>" + kPageScript +
         "</script>\n";
}

}  // namespace

std::filesystem::path write_run_report(const std::filesystem::path& run,
                                       const std::filesystem::path& file) {
  const std::string name = std::filesystem::absolute(run / "").parent_path().filename().string();
  const std::filesystem::path target = file.empty() ? run / "report.html" : file;
  write_file(target, format_run_report(name, read_run(run)));
  return target;
}

}  // namespace predgen::train
