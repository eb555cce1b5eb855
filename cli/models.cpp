#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/command.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/model_names.h"

namespace predgen::cli {
namespace fs = std::filesystem;
namespace {

/// A model of the folder, with what it says of itself or what is wrong with it.
struct Row {
  NamedModel model;
  std::optional<CheckpointLabel> label;
  std::string fault;
};

Row read_row(const NamedModel& model) {
  try {
    return {model, open_checkpoint(model.path)->read_label(), ""};
  } catch (const std::exception& error) {  // one broken file is not the end of the list
    return {model, std::nullopt, first_line(error.what())};
  }
}

/// Of those that can be fetched, which are not there.
std::vector<KnownModel> absent_models(const std::vector<Row>& rows) {
  std::vector<KnownModel> absent;
  for (const KnownModel& known : known_models()) {
    const bool is_there =
        std::ranges::any_of(rows, [&](const Row& row) { return row.model.name == known.name; });
    if (!is_there) absent.push_back(known);
  }
  return absent;
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json row_json(const Row& row) {
  Json json{{"name", row.model.name}, {"path", row.model.path.string()}};
  if (!row.label) {
    json["error"] = row.fault;
    return json;
  }
  json.update(Json{{"architecture", row.label->architecture},
                   {"title", or_null(row.label->name)},
                   {"parameters", row.label->num_parameters},
                   {"bytes", row.label->num_bytes},
                   {"type", or_null(row.label->type)},
                   {"licence", or_null(row.label->licence)},
                   {"context", row.label->context}});
  return json;
}

void print_json(const fs::path& folder, const std::vector<Row>& rows) {
  Json models = Json::array(), absent = Json::array();
  for (const Row& row : rows) models.push_back(row_json(row));
  for (const KnownModel& known : absent_models(rows)) {
    absent.push_back({{"name", known.name},
                      {"title", known.title},
                      {"bytes", known.num_bytes},
                      {"licence", known.licence},
                      {"command", known.command()}});
  }
  const Json document{{"folder", folder.string()}, {"models", models}, {"can_be_fetched", absent}};
  std::printf("%s\n",
              document.dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace).c_str());
}

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

/// Lines of cells, each column as wide as its widest; a line of one cell behind the first counts
/// for none.
void print_table(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < (line.size() == 2 ? 1 : line.size()); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  for (const auto& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) text += fmt::format("  {:<{}}", line[i], widths[i]);
    std::printf("%s\n", text.substr(0, text.find_last_not_of(' ') + 1).c_str());
  }
}

void print_text(const fs::path& folder, const std::vector<Row>& rows) {
  if (rows.empty()) {
    std::printf("There are no models in %s yet. docs/models.md says how they get there.\n",
                folder.c_str());
  } else {
    std::printf("Models in %s\n", folder.c_str());
    std::vector<std::vector<std::string>> lines{
        {"name", "size", "type", "licence", "context", "path"}};
    for (const Row& row : rows) {
      if (!row.label) {
        lines.push_back({row.model.name, row.fault});
        continue;
      }
      const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
      lines.push_back({row.model.name, megabytes(row.label->num_bytes), or_dash(row.label->type),
                       or_dash(row.label->licence), std::to_string(row.label->context),
                       row.model.path.string()});
    }
    print_table(lines);
  }
  const std::vector<KnownModel> absent = absent_models(rows);
  if (absent.empty()) return;
  std::printf("Can be fetched\n");
  std::vector<std::vector<std::string>> lines{{"name", "size", "licence", "what", "by"}};
  for (const KnownModel& known : absent) {
    lines.push_back({std::string(known.name), megabytes(known.num_bytes),
                     std::string(known.licence), std::string(known.title), known.command()});
  }
  print_table(lines);
}

void run_models(bool json) {
  const fs::path folder = models_folder();
  if (folder.empty()) {
    throw UserError("PREDGEN_MODELS: is not set, nor is HOME; set it to the folder of models");
  }
  std::vector<Row> rows;
  for (const NamedModel& model : models_in(folder)) rows.push_back(read_row(model));
  if (json) {
    print_json(folder, rows);
  } else {
    print_text(folder, rows);
  }
}

}  // namespace

void add_models(CLI::App& app, const std::stop_token&) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "models", "Which models can be called by their name, and which can be fetched");
  command->add_flag("--json", *json, "one JSON document on stdout");
  command->footer(
      "They lie in $PREDGEN_MODELS, or else in predgen/models in your cache folder.\n\n"
      "Example:\n  scripts/fetch_model.py smollm2\n  predgen models");
  command->callback([json] { run_models(*json); });
}

}  // namespace predgen::cli
