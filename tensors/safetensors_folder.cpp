// SafetensorsFolder of tensors/safetensors.h.

#include "core/error.h"
#include "core/json.h"
#include "tensors/safetensors.h"

namespace predgen {
namespace fs = std::filesystem;

SafetensorsFolder::SafetensorsFolder(const fs::path& folder) : folder_(folder) {
  if (!fs::is_directory(folder)) throw UserError("{}: is not a folder", folder.string());
  const fs::path single = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  if (fs::exists(single)) {
    files_.emplace_back(single);
    for (const auto& [name, entry] : files_[0].entries()) where_[name] = 0;
    return;
  }
  if (!fs::exists(index)) {
    throw UserError("{}: has neither model.safetensors nor model.safetensors.index.json",
                    folder.string());
  }
  const Json json = read_json(index);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    throw UserError("{}: \"weight_map\" must map tensor names to files", index.string());
  }
  std::map<std::string, size_t> file_index;
  for (const auto& [name, value] : json["weight_map"].items()) {
    const std::string file = value.is_string() ? value.get<std::string>() : "";
    if (file.empty() || fs::path(file).filename() != file) {
      throw UserError("{}: tensor {}: {} is not a file name", index.string(), name, value.dump());
    }
    if (!file_index.contains(file)) {
      std::error_code unusable;  // a name that is too long, for example
      if (!fs::exists(folder / file, unusable)) {
        throw UserError("{}: tensor {} is in {}, which is missing", index.string(), name, file);
      }
      file_index[file] = files_.size();
      files_.emplace_back(folder / file);
    }
    const size_t position = file_index[file];
    if (!files_[position].entries().contains(name)) {
      throw UserError("{}: {} has no tensor {}", index.string(), file, name);
    }
    where_[name] = position;
  }
  for (const auto& [file, position] : file_index) {
    for (const auto& [name, entry] : files_[position].entries()) {
      const auto listed = where_.find(name);
      if (listed == where_.end() || listed->second != position) {
        throw UserError("{}: {} holds tensor {}, which the index does not list there",
                        index.string(), file, name);
      }
    }
  }
}

std::vector<std::string> SafetensorsFolder::names() const {
  std::vector<std::string> names;
  for (const auto& [name, position] : where_) names.push_back(name);
  return names;
}

const SafetensorsFile& SafetensorsFolder::file_of(const std::string& name) const {
  const auto found = where_.find(name);
  if (found == where_.end()) throw UserError("{}: has no tensor {}", folder_.string(), name);
  return files_[found->second];
}

TensorShape SafetensorsFolder::shape(const std::string& name) const {
  const SafetensorsFile::Entry& entry = file_of(name).entries().at(name);
  return {entry.dtype, entry.shape};
}

at::Tensor SafetensorsFolder::tensor(const std::string& name) const {
  return file_of(name).tensor(name);
}

at::Tensor SafetensorsFolder::load(const std::string& name, at::Device device,
                                   at::ScalarType dtype) const {
  return file_of(name).load(name, device, dtype);
}

at::Tensor SafetensorsFolder::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  return file_of(name).read_rows(name, begin, end);
}

}  // namespace predgen
