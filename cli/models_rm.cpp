#include "cli/models_rm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/model_names.h"
#include "core/speech_model.h"
#include "core/split_name.h"
#include "core/suggest.h"
#include "core/text.h"

namespace predgen::cli {
namespace fs = std::filesystem;
namespace {

/// All files of a split model that are there, else the path alone.
std::vector<fs::path> parts_of(const fs::path& path) {
  const auto name = parse_split_name(path.filename().string());
  if (!name) return {path};
  std::vector<fs::path> parts;
  for (int64_t i = 1; i <= name->count; ++i) {
    const fs::path part = path.parent_path() / name->part(i);
    if (fs::exists(fs::symlink_status(part))) parts.push_back(part);
  }
  return parts;
}

/// Bytes of a file or of all files in a folder; of a link its own, as what it names stays.
uintmax_t size_of(const fs::path& path) {
  if (fs::is_symlink(path)) return 0;
  if (!fs::is_directory(path)) return fs::file_size(path);
  uintmax_t size = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && !entry.is_symlink()) size += entry.file_size();
  }
  return size;
}

/// All names are looked up before anything is removed.
void run_rm(const std::vector<std::string>& names) {
  const fs::path folder = models_folder();
  std::vector<NamedModel> there = models_in(folder);
  for (const NamedModel& model : speech_models_in(folder)) there.push_back(model);
  for (const NamedModel& model : begun_models_in(folder)) there.push_back(model);
  std::vector<NamedModel> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(there, [&](const NamedModel& model) {
      return model.name == name || model.path.filename() == name;
    });
    if (found == there.end()) {
      std::vector<std::string> known;
      for (const NamedModel& model : there) known.push_back(model.name);
      throw UserError("{}: no model of this name in {}; {}", shortened(name), folder.string(),
                      known.empty() ? "there are none" : suggest(name, known));
    }
    chosen.push_back(*found);
  }
  for (const NamedModel& model : chosen) {
    uintmax_t size = 0;
    try {
      for (const fs::path& part : parts_of(model.path)) {
        size += size_of(part);
        fs::remove_all(part);
      }
    } catch (const fs::filesystem_error& error) {
      throw UserError("{}: cannot be removed: {}", error.path1().string(), error.code().message());
    }
    std::printf("removed %s (%.0f MB)\n", model.path.c_str(), static_cast<double>(size) / 1e6);
  }
}

}  // namespace

void add_models_rm(CLI::App& models) {
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* command = models.add_subcommand("rm", "Remove models from the folder of models");
  command->add_option("name", *names, "which ones, as \"predgen models\" names them")
      ->required()
      ->type_name("NAME");
  command->callback([names] { run_rm(*names); });
}

}  // namespace predgen::cli
