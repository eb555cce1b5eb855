#include "model/weights/weight_files.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"

namespace predgen {

namespace fs = std::filesystem;

std::vector<fs::path> weight_files(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw UserError("{}: no such folder", folder.string());
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    const bool says_shape = name == "config.json" || name == "adapter_config.json";
    if (says_shape || name.extension() == ".safetensors") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string hash_weights(const std::vector<fs::path>& files) {
  Hasher hasher;
  for (const fs::path& file : files) hasher.add(file.filename().string()).add_file(file);
  return hasher.hex();
}

std::string fingerprint(const std::vector<fs::path>& files) {
  constexpr uint64_t kParts = 64, kPartBytes = 4096;
  uint64_t hash = 14695981039346656037U;
  const auto add = [&](std::string_view bytes) {
    for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211U;
  };
  for (const fs::path& file : files) {
    std::error_code error;
    const uint64_t size = fs::file_size(file, error);
    std::ifstream stream(file, std::ios::binary);
    if (error || !stream) throw UserError("{}: cannot be read", file.string());
    add(std::to_string(size) + "\n");
    std::string part(kPartBytes, '\0');
    for (uint64_t i = 0; i < kParts; ++i) {
      stream.clear();
      stream.seekg(static_cast<std::streamoff>(size / kParts * i));
      stream.read(part.data(), std::ssize(part));
      add(std::string_view(part).substr(0, static_cast<size_t>(stream.gcount())));
    }
  }
  return fmt::format("{:016x}", hash);
}

void check_weights(const std::vector<WeightSpec>& layout, const std::vector<std::string>& names,
                   const std::function<at::Tensor(const std::string&)>& tensor,
                   const std::string& where, const std::string& what) {
  const std::set<std::string> stored(names.begin(), names.end());
  std::set<std::string> used;
  for (const WeightSpec& weight : layout) {
    if (!stored.contains(weight.name)) {
      throw UserError("{}: tensor {} of {} is missing", where, weight.name, what);
    }
    const at::Tensor found = tensor(weight.name);
    if (!at::isFloatingType(found.scalar_type())) {
      throw UserError("{}: tensor {} has type {}, not a floating-point one", where, weight.name,
                      at::toString(found.scalar_type()));
    }
    if (found.sizes() != at::IntArrayRef(weight.shape)) {
      throw UserError("{}: tensor {} has shape {}, {} needs {}", where, weight.name,
                      c10::str(found.sizes()), what, c10::str(at::IntArrayRef(weight.shape)));
    }
    used.insert(weight.name);
  }
  for (const std::string& name : names) {
    if (!used.contains(name)) {
      throw UserError("{}: tensor {} belongs to no part of {}", where, name, what);
    }
  }
}

namespace {

constexpr const char* kIndexFile = "model.safetensors.index.json";

bool is_model_weights(const std::string& name) {
  return name == kIndexFile || (name.starts_with("model") && name.ends_with(".safetensors"));
}

}  // namespace

ShardPlan plan_shards(const std::vector<std::pair<std::string, uint64_t>>& tensor_bytes,
                      uint64_t max_shard_bytes) {
  ShardPlan plan;
  ShardPlan::Shard current;
  uint64_t current_bytes = 0;
  for (const auto& [name, bytes] : tensor_bytes) {
    plan.total_bytes += bytes;
    if (bytes > max_shard_bytes) {
      plan.shards.push_back({"", {name}});
      continue;
    }
    if (current_bytes + bytes > max_shard_bytes) {
      plan.shards.push_back(std::move(current));
      current = {};
      current_bytes = 0;
    }
    current.tensors.push_back(name);
    current_bytes += bytes;
  }
  if (!current.tensors.empty()) plan.shards.push_back(std::move(current));
  const size_t count = plan.shards.size();
  for (size_t i = 0; i < count; ++i) {
    plan.shards[i].file = count == 1
                              ? "model.safetensors"
                              : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, count);
  }
  return plan;
}

Json ShardPlan::index() const {
  Json weight_map = Json::object();
  for (const Shard& shard : shards) {
    for (const std::string& tensor : shard.tensors) weight_map[tensor] = shard.file;
  }
  return {{"metadata", {{"total_size", total_bytes}}}, {"weight_map", std::move(weight_map)}};
}

void write_sharded_weights(const fs::path& folder, const std::vector<WeightSpec>& layout,
                           at::ScalarType dtype, const TensorRows& rows, uint64_t max_shard_bytes) {
  std::vector<std::pair<std::string, uint64_t>> sizes;
  std::map<std::string, TensorShape> shapes;
  for (const WeightSpec& weight : layout) {
    sizes.emplace_back(weight.name, static_cast<uint64_t>(c10::multiply_integers(weight.shape)) *
                                        at::elementSize(dtype));
    shapes[weight.name] = {dtype, weight.shape};
  }
  const ShardPlan plan = plan_shards(sizes, max_shard_bytes);
  std::set<std::string> written;
  for (const ShardPlan::Shard& shard : plan.shards) {
    std::map<std::string, TensorShape> tensors;
    for (const std::string& name : shard.tensors) tensors[name] = shapes.at(name);
    write_safetensors(folder / shard.file, tensors, rows);
    written.insert(shard.file);
  }
  if (plan.shards.size() > 1) {
    write_file(folder / kIndexFile, plan.index().dump(2));
    written.insert(kIndexFile);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (is_model_weights(name) && !written.contains(name)) fs::remove(entry.path());
  }
}

void write_sharded_weights(const fs::path& folder,
                           const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                           at::ScalarType dtype, uint64_t max_shard_bytes) {
  std::vector<WeightSpec> layout;
  std::map<std::string, at::Tensor> by_name;
  for (const auto& [name, tensor] : tensors) {
    layout.push_back({name, tensor.sizes().vec()});
    by_name[name] = tensor.detach();
  }
  const auto rows = [&](const std::string& name, int64_t begin, int64_t end) {
    const at::Tensor& tensor = by_name.at(name);
    return (tensor.dim() == 0 ? tensor : tensor.narrow(0, begin, end - begin)).to(at::kCPU, dtype);
  };
  write_sharded_weights(folder, layout, dtype, rows, max_shard_bytes);
}

}  // namespace predgen
