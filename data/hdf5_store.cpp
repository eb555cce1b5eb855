#include "data/hdf5_store.h"

#include <fstream>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "data/hdf5_file.h"

namespace predgen::data {
namespace fs = std::filesystem;

std::string hash_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw cannot_open(file);
  Hasher hasher;
  std::string piece(1 << 22, '\0');
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hasher.add(std::string_view(piece).substr(0, static_cast<size_t>(stream.gcount())));
  }
  return hasher.hex();
}

Json hash_files(const std::vector<fs::path>& files) {
  Json hashes = Json::array();
  for (const fs::path& file : files) {
    hashes.push_back({{"file", file.filename().string()}, {"hash", hash_file(file)}});
  }
  return hashes;
}

std::string recipe_hash(const Json& recipe) { return Hasher().add(recipe.dump()).hex(); }

namespace {

/// "seed: 1 there, 2 here; ..." for the first five leaves in which two recipes differ.
std::string recipe_difference(const Json& there, const Json& here) {
  const Json before = there.flatten(), after = here.flatten();
  std::string text;
  int count = 0;
  const auto add = [&](const std::string& key, const std::string& old_value,
                       const std::string& new_value) {
    if (++count > 5) return;
    std::string name = key.substr(key.empty() ? 0 : 1);
    for (char& c : name) c = c == '/' ? '.' : c;
    text += fmt::format("{}{}: {} there, {} here", text.empty() ? "" : "; ", name, old_value,
                        new_value);
  };
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) {
      add(key, value.dump(), "nothing");
    } else if (after.at(key) != value) {
      add(key, value.dump(), after.at(key).dump());
    }
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) add(key, "nothing", value.dump());
  }
  if (count > 5) text += fmt::format("; and {} more", count - 5);
  return text.empty() ? "nothing but the order of keys" : text;
}

}  // namespace

void check_same_recipe(const fs::path& folder, const Json& there, const Json& here) {
  if (there == here) return;
  throw UserError("{}: holds a dataset of another recipe ({}); remove it or choose another folder",
                  folder.string(), recipe_difference(there, here));
}

bool dataset_is_complete(const fs::path& folder, const Json& recipe) {
  if (!fs::exists(folder / "manifest.json")) return false;
  return open_dataset(folder)->manifest().at("recipe") == recipe;
}

}  // namespace predgen::data
