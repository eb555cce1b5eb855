#include "train/report/run_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "core/page/page_with_data.h"
#include "train/checkpoint_store.h"
#include "train/run_log.h"

namespace predgen::train {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Whether a counter has grown since its previous value.
bool has_grown(const Json& line, const char* tag, double& before) {
  const double now = line.value(tag, before);
  const bool grown = now > before;
  before = now;
  return grown;
}

void read_scalars(const std::filesystem::path& file, RunHistory& history) {
  double skipped = 0.0, outliers = 0.0;
  read_metrics(file, [&](const Json& line) {
    const auto step = line.at("step").get<int64_t>();
    history.last_step = std::max(history.last_step, step);
    for (const auto& [tag, value] : line.items()) {
      if (tag == "step") continue;
      Series& series = history.scalars[tag];
      series.steps.push_back(step);
      series.values.push_back(value.is_number() ? value.get<double>() : kNan);
    }
    // A line is written for every skipped step.
    const bool outlier = has_grown(line, "train/outlier_steps", outliers);
    if (has_grown(line, "train/skipped_steps", skipped)) history.skipped.push_back({step, outlier});
  });
}

}  // namespace

double RunHistory::last(const std::string& tag) const {
  const auto found = scalars.find(tag);
  if (found == scalars.end()) return kNan;
  const std::vector<double>& values = found->second.values;
  const auto finite = std::find_if(values.rbegin(), values.rend(),
                                   [](double value) { return std::isfinite(value); });
  return finite == values.rend() ? kNan : *finite;
}

RunHistory read_run(const std::filesystem::path& run) {
  if (!std::filesystem::exists(run / "metrics.jsonl") ||
      !std::filesystem::exists(run / "config.yaml")) {
    throw UserError("{}: has no metrics.jsonl and config.yaml: is it the output of a training?",
                    run.string());
  }
  RunHistory history;
  history.config = read_file(run / "config.yaml");
  read_scalars(run / "metrics.jsonl", history);
  if (std::filesystem::exists(run / "watch.jsonl")) {
    std::map<std::string, Json> first;  // a resumed run may watch other prompts
    read_metrics(run / "watch.jsonl", [&](const Json& line) {
      history.first_watch = first.try_emplace(line.value("watched", ""), line).first->second;
      history.last_watch = line;
    });
  }
  if (const auto checkpoint = CheckpointStore(run, {}, 1).newest()) {
    const std::filesystem::path file = *checkpoint / "state.json";
    history.identity = json_get<RunIdentity>(read_json(file), "run", file.string());
  }
  return history;
}

ThinLine thin(const Series& series, int64_t last_step, size_t most) {
  ThinLine line;
  const size_t size = series.steps.size();
  const double width = static_cast<double>(last_step + 1) / static_cast<double>(most);
  double bucket = -1.0, count = 0.0;
  for (size_t i = 0; i < size; ++i) {
    const double value = series.values[i];
    if (!std::isfinite(value)) continue;
    const auto step = static_cast<double>(series.steps[i]);
    // Few enough: each value on its own.
    const double place = size <= most ? static_cast<double>(i) : std::floor(step / width);
    if (place != bucket) {
      bucket = place;
      count = 0.0;
      line.steps.push_back(0.0);
      line.means.push_back(0.0);
      line.lowest.push_back(value);
      line.highest.push_back(value);
    }
    ++count;
    line.steps.back() += (step - line.steps.back()) / count;
    line.means.back() += (value - line.means.back()) / count;
    line.lowest.back() = std::min(line.lowest.back(), value);
    line.highest.back() = std::max(line.highest.back(), value);
  }
  return line;
}

std::string_view page_source();  // cmake/EmbedReport.cmake makes it of the files beside this one

namespace {

constexpr size_t kMostPoints = 240;  // of a line
constexpr size_t kAnswersShown = 6;

/// The few settings that the page's head names.
Json head_of(const std::string& config) {
  int64_t max_steps = 0;
  double epochs = 0.0;
  std::string model, mode = "lora", objective;
  ConfigReader reader = ConfigReader::parse(config, "config.yaml");
  reader.optional("max_steps", max_steps);
  reader.optional("epochs", epochs);
  reader.optional("mode", mode);
  reader.optional("model", model);
  if (model.empty()) reader.optional("initialize", model);
  reader.section("objective").optional("kind", objective);
  return {{"max_steps", max_steps},
          {"epochs", epochs},
          {"mode", mode},
          {"model", model},
          {"objective", objective}};
}

/// With the digits that a screen can show, so that the page stays small.
double rounded(double value) {
  if (value == 0.0) return value;
  const double scale = std::pow(10.0, 5.0 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) ? std::round(value * scale) / scale : value;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// The lowest value, and where; null if none is finite.
Json lowest_of(const Series& series) {
  Json lowest;
  double best = 0.0;
  for (size_t i = 0; i < series.values.size(); ++i) {
    const double value = series.values[i];
    if (!std::isfinite(value) || (!lowest.is_null() && value >= best)) continue;
    best = value;
    lowest = {{"value", value}, {"step", series.steps[i]}};
  }
  return lowest;
}

/// "points": [step, mean] or, where steps were put together, [step, mean, lowest, highest].
Json series_json(const Series& series, double last, int64_t last_step) {
  const ThinLine line = thin(series, last_step, kMostPoints);
  const bool has_band = line.lowest != line.highest;
  Json points = Json::array();
  for (size_t i = 0; i < line.steps.size(); ++i) {
    Json& point = points.emplace_back(
        Json::array({std::round(10 * line.steps[i]) / 10, rounded(line.means[i])}));
    if (!has_band) continue;
    point.push_back(rounded(line.lowest[i]));
    point.push_back(rounded(line.highest[i]));
  }
  return {{"points", points}, {"last", finite(last)}, {"lowest", lowest_of(series)}};
}

/// Of the first and the last watch, to the same prompts; null without a watch.
Json answers_of(const RunHistory& history) {
  if (history.first_watch.is_null()) return nullptr;
  const auto texts = [](const Json& watch) {
    std::vector<std::string> found;
    for (const Json& answer : watch.at("answers")) {
      found.push_back(json_get<std::string>(answer, "text", "watch.jsonl"));
    }
    return found;
  };
  const std::vector<std::string> first = texts(history.first_watch),
                                 last = texts(history.last_watch);
  const auto prompts =
      json_get<std::vector<std::string>>(history.first_watch, "prompts", "watch.jsonl");
  Json rows = Json::array();
  for (size_t i = 0; i < std::min({prompts.size(), first.size(), last.size(), kAnswersShown});
       ++i) {
    rows.push_back({prompts[i], first[i], last[i]});
  }
  return {{"first_step", history.first_watch.at("step")},
          {"last_step", history.last_watch.at("step")},
          {"rows", rows}};
}

}  // namespace

Json run_report_data(const std::string& name, const RunHistory& history) {
  Json series = Json::object(), skipped = Json::array();
  for (const auto& [tag, values] : history.scalars) {
    series[tag] = series_json(values, history.last(tag), history.last_step);
  }
  for (const SkippedStep& step : history.skipped) {
    skipped.push_back({{"step", step.step}, {"outlier", step.outlier}});
  }
  return {{"name", name},
          {"head", head_of(history.config)},
          {"last_step", history.last_step},
          {"series", series},
          {"skipped", skipped},
          {"answers", answers_of(history)},
          {"config", history.config},
          {"identity", history.identity}};
}

std::filesystem::path write_run_report(const std::filesystem::path& run,
                                       const std::filesystem::path& file) {
  const std::string name = std::filesystem::absolute(run / "").parent_path().filename().string();
  const std::filesystem::path target = file.empty() ? run / "report.html" : file;
  write_file(target, page_with_data(page_source(), run_report_data(name, read_run(run))));
  return target;
}

}  // namespace predgen::train
