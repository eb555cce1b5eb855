#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/models_get_rm.h"
#include "core/error.h"
#include "core/json.h"
#include "core/model_names.h"
#include "core/text.h"

namespace predgen::cli {
namespace fs = std::filesystem;
namespace {

/// A language model in the folder, with its description or its error.
struct LanguageRow {
  NamedModel model;
  std::optional<CheckpointLabel> label;
  std::string fault;
};

/// The same for a speech recognition or synthesis model.
struct SpeechRow {
  NamedModel model;
  std::optional<SpeechModel> label;
  std::string fault;
};

struct Listing {
  fs::path folder;
  std::vector<LanguageRow> rows;
  std::vector<SpeechRow> speech_rows;
};

LanguageRow read_row(const NamedModel& model) {
  try {
    return {model, open_checkpoint(model.path)->read_label(), ""};
  } catch (const std::exception& error) {  // one broken file does not end the list
    return {model, std::nullopt, first_line(error.what())};
  }
}

SpeechRow read_speech_row(const NamedModel& model, bool with_hashes) {
  try {
    SpeechModel label = read_speech_model(model.path);
    if (with_hashes) check_hashes(label);
    return {model, std::move(label), ""};
  } catch (const std::exception& error) {
    return {model, std::nullopt, first_line(error.what())};
  }
}

/// The models that can be fetched but are absent.
std::vector<KnownModel> absent_models(const Listing& listing) {
  std::vector<KnownModel> absent;
  for (const KnownModel& known : known_models()) {
    const auto is_it = [&](const auto& row) { return row.model.name == known.name; };
    const bool is_there = known.is_language_model()
                              ? std::ranges::any_of(listing.rows, is_it)
                              : std::ranges::any_of(listing.speech_rows, is_it);
    if (!is_there) absent.push_back(known);
  }
  return absent;
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json row_json(const LanguageRow& row) {
  Json json{
      {"name", row.model.name}, {"kind", "language model"}, {"path", row.model.path.string()}};
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

Json row_json(const SpeechRow& row) {
  Json json{{"name", row.model.name}, {"path", row.model.path.string()}};
  if (!row.label) {
    json["error"] = row.fault;
    return json;
  }
  json.update(Json{{"kind", row.label->kind},
                   {"title", row.label->title},
                   {"bytes", row.label->num_bytes()},
                   {"licence", row.label->licence}});
  return json;
}

void print_json(const Listing& listing) {
  Json models = Json::array(), speech = Json::array(), absent = Json::array();
  for (const LanguageRow& row : listing.rows) models.push_back(row_json(row));
  for (const SpeechRow& row : listing.speech_rows) speech.push_back(row_json(row));
  for (const KnownModel& known : absent_models(listing)) {
    absent.push_back({{"name", known.name},
                      {"kind", known.kind},
                      {"title", known.title},
                      {"bytes", known.num_bytes},
                      {"licence", known.licence},
                      {"command", known.command()}});
  }
  const Json document{{"folder", listing.folder.string()},
                      {"models", models},
                      {"speech_models", speech},
                      {"can_be_fetched", absent}};
  std::printf("%s\n", to_text(document).c_str());
}

std::string megabytes(int64_t bytes) {
  const double size = static_cast<double>(bytes) / 1e6;
  return fmt::format("{:.{}f} MB", size, size < 10 ? 1 : 0);
}

/// Lines of cells, each column as wide as its widest; the second cell of a line of two does not
/// count.
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

/// Whether it has the name of a model that can be fetched, and is another one, by its size.
bool is_other(const NamedModel& model) {
  std::error_code absent;
  return std::ranges::any_of(known_models(), [&](const KnownModel& known) {
    return known.is_language_model() && known.name == model.name &&
           fs::file_size(model.path, absent) != static_cast<uintmax_t>(known.num_bytes);
  });
}

void print_language_models(const Listing& listing) {
  if (listing.rows.empty()) {
    std::printf("There are no models in %s yet. docs/models.md says how they get there.\n",
                listing.folder.c_str());
    return;
  }
  std::printf("Models in %s\n", listing.folder.c_str());
  std::vector<std::vector<std::string>> lines{
      {"name", "size", "type", "licence", "context", "path"}};
  for (const LanguageRow& row : listing.rows) {
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
  for (const LanguageRow& row : listing.rows) {
    if (is_other(row.model)) {
      std::printf("%s is not the one that \"%s\" fetches.\n", row.model.name.c_str(),
                  fetch_command(row.model.name).c_str());
    }
  }
}

void print_speech_models(const Listing& listing) {
  if (listing.speech_rows.empty()) return;
  std::printf("Models that hear and speak\n");
  std::vector<std::vector<std::string>> lines{{"name", "kind", "size", "licence", "what", "path"}};
  for (const SpeechRow& row : listing.speech_rows) {
    if (!row.label) {
      lines.push_back({row.model.name, row.fault});
      continue;
    }
    lines.push_back({row.model.name, row.label->kind, megabytes(row.label->num_bytes()),
                     row.label->licence, row.label->title, row.model.path.string()});
  }
  print_table(lines);
}

void print_absent_models(const Listing& listing) {
  const std::vector<KnownModel> absent = absent_models(listing);
  if (absent.empty()) return;
  std::printf("Can be fetched\n");
  std::vector<std::vector<std::string>> lines{{"name", "kind", "size", "licence", "what", "by"}};
  for (const KnownModel& known : absent) {
    lines.push_back({std::string(known.name), std::string(known.kind), megabytes(known.num_bytes),
                     std::string(known.licence), std::string(known.title), known.command()});
  }
  print_table(lines);
}

void run_models(bool json, bool with_hashes) {
  Listing listing{models_folder(), {}, {}};
  if (listing.folder.empty()) {
    throw UserError("PREDGEN_MODELS: is not set, nor is HOME; set it to the folder of models");
  }
  for (const NamedModel& model : models_in(listing.folder)) {
    listing.rows.push_back(read_row(model));
  }
  for (const NamedModel& model : speech_models_in(listing.folder)) {
    listing.speech_rows.push_back(read_speech_row(model, with_hashes));
  }
  if (json) {
    print_json(listing);
    return;
  }
  print_language_models(listing);
  print_speech_models(listing);
  print_absent_models(listing);
  const bool are_right = std::ranges::all_of(
      listing.speech_rows, [](const SpeechRow& row) { return row.label.has_value(); });
  if (with_hashes && are_right && !listing.speech_rows.empty()) {
    std::printf("All that hears and speaks is as it was fetched.\n");
  }
}

}  // namespace

void add_models(CLI::App& app, const std::stop_token&) {
  auto json = std::make_shared<bool>(false);
  auto with_hashes = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "models",
      "Which models can be called by their name; get NAME fetches one, rm NAME removes it");
  CLI::App* get = add_models_get(*command);
  add_models_rm(*command);
  command->add_subcommand("list", "The list, as without a word")->fallthrough();
  command->require_subcommand(0, 1);
  get->excludes(command->add_flag("--json", *json, "one JSON document on stdout"));
  get->excludes(command->add_flag("--check", *with_hashes,
                                  "read the models that hear and speak, and compare their hashes"));
  command->footer(
      "They lie in $PREDGEN_MODELS, or else in predgen/models in your cache folder.\n\n"
      "Examples:\n  predgen models\n  predgen models get smollm2\n  predgen models rm smollm2");
  command->callback([command, json, with_hashes] {
    const auto words = command->get_subcommands();
    if (words.empty() || words.front()->get_name() == "list") run_models(*json, *with_hashes);
  });
}

}  // namespace predgen::cli
