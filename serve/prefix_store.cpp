#include "serve/prefix_store.h"

#include <c10/core/InferenceMode.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/text.h"
#include "tensors/safetensors.h"

namespace predgen::serve {
namespace {

constexpr size_t kMaxKnown = 256;

struct FileState {
  std::string key;     // of the file as it is
  Seconds written{0};  // or changed otherwise, since the epoch
};

FileState state_of(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) throw UserError("{}: cannot be read", file.string());
  const auto& [seconds, nanoseconds] = found.st_ctim;  // which nobody sets
  return {
      .key = fmt::format("{}-{}-{}-{}.{:09}-{}.{:09}", found.st_dev, found.st_ino, found.st_size,
                         found.st_mtim.tv_sec, found.st_mtim.tv_nsec, seconds, nanoseconds),
      .written = Seconds(static_cast<double>(seconds) + static_cast<double>(nanoseconds) / 1e9)};
}

Seconds now() { return std::chrono::system_clock::now().time_since_epoch(); }

}  // namespace

KnownHashes::KnownHashes(std::filesystem::path record, Seconds settled)
    : record_(std::move(record)), settled_(settled) {
  if (!std::filesystem::exists(record_)) return;
  try {
    const Json read = read_json(record_);
    for (const auto& [key, hash] : read.items()) {
      if (hash.is_string()) known_[key] = hash;
    }
  } catch (const UserError&) {  // it is written anew
  }
}

std::string KnownHashes::hash(const std::vector<std::filesystem::path>& files) {
  Hasher hasher;
  for (const auto& file : files) hasher.add(file.filename().string()).add(hash_of(file));
  return hasher.hex();
}

std::string KnownHashes::hash_of(const std::filesystem::path& file) {
  const FileState before = state_of(file);
  if (known_.contains(before.key)) return known_[before.key].get<std::string>();
  const Seconds begun = now();
  ++num_read_;
  const std::string found = Hasher().add_file(file).hex();
  if (begun - before.written >= settled_ && state_of(file).key == before.key) {
    known_[before.key] = found;
    is_new_ = true;
  }
  return found;
}

void KnownHashes::save() const {
  if (!is_new_) return;
  Json newest = known_;
  while (newest.size() > kMaxKnown) newest.erase(newest.begin());
  write_file(record_, to_text(newest, 1) + "\n");
}

namespace fs = std::filesystem;

namespace {

constexpr const char* kFormat = "predgen-prefix-1";
constexpr const char* kExtension = ".safetensors";

std::string hashed(const std::string& client) { return sha256_hex("predgen client " + client); }

std::string name_of(size_t layer, const char* side) { return fmt::format("{}.{}", layer, side); }

/// Of all bytes of the tensors, which are contiguous.
std::string sum_of(const std::map<std::string, at::Tensor>& tensors) {
  Hasher hasher;
  for (const auto& [name, tensor] : tensors) {
    hasher.add(name).add({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  return hasher.hex();
}

at::Tensor tensor_of(TokenSpan tokens) {
  return at::tensor(at::ArrayRef<TokenId>(tokens.data(), tokens.size()),
                    at::TensorOptions().dtype(at::kLong));
}

int64_t num_bytes(const KvRows& rows) {
  int64_t sum = 0;
  for (const auto& [keys, values] : rows) {
    sum += static_cast<int64_t>(keys.nbytes() + values.nbytes());
  }
  return sum;
}

}  // namespace

PrefixStore::PrefixStore(Options options, const KvLayout& layout) : options_(std::move(options)) {
  if (layout.num_states > 0) {
    throw UserError("--prefix-cache: this model also keeps states, which are not stored");
  }
  std::error_code error;
  if (fs::create_directories(options_.folder, error)) {
    fs::permissions(options_.folder, fs::perms::owner_all, error);  // it tells what was asked
  }
  if (error) {
    throw UserError("--prefix-cache {}: {}", options_.folder.string(), error.message());
  }
  int64_t num_others = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(options_.folder)) {
    if (entry.path().extension() != kExtension) continue;
    auto prefix = look_at(entry.path());
    num_others += !prefix;
    const Lock lock(mutex_);
    if (prefix) prefixes_.push_back(std::move(*prefix));
  }
  if (num_others > 0) {
    spdlog::warn("{} files in {} are broken or no prefixes, and are left alone", num_others,
                 options_.folder.string());
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

PrefixStore::~PrefixStore() = default;

std::optional<PrefixStore::Prefix> PrefixStore::look_at(const fs::path& file) const {
  try {
    const SafetensorsFile stored(file);
    const auto& said = stored.metadata();
    if (!said.contains("format") || said.at("format") != kFormat) return std::nullopt;
    Prefix prefix{.file = file,
                  .client = said.at("client"),
                  .num_bytes = static_cast<int64_t>(fs::file_size(file)),
                  .used = fs::last_write_time(file)};
    if (said.at("identity") == options_.identity) {
      const at::Tensor ids = stored.load("tokens", at::kCPU, at::kLong);
      prefix.tokens.assign(ids.const_data_ptr<int64_t>(),
                           ids.const_data_ptr<int64_t>() + ids.numel());
    }
    return prefix;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::pair<PrefixStore::Place, int64_t> PrefixStore::find(const std::string& client,
                                                         TokenSpan prompt) {
  std::pair<Place, int64_t> best{prefixes_.end(), 0};
  const std::string mine = hashed(client);
  for (auto one = prefixes_.begin(); one != prefixes_.end(); ++one) {
    const int64_t common = std::ranges::mismatch(one->tokens, prompt).in2 - prompt.begin();
    if (one->client == mine && common > best.second) best = {one, common};
  }
  return best;
}

int64_t PrefixStore::num_common(const std::string& client, TokenSpan prompt) {
  const Lock lock(mutex_);
  return find(client, prompt).second;
}

KvRows PrefixStore::read(const std::string& client, TokenSpan prompt) {
  fs::path file;
  int64_t length = 0;
  {
    const Lock lock(mutex_);
    const auto [place, common] = find(client, prompt);
    if (place == prefixes_.end()) return {};
    file = place->file;
    length = common;
    place->used = fs::file_time_type::clock::now();
  }
  try {
    const SafetensorsFile stored(file);
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [name, entry] : stored.entries()) tensors[name] = stored.tensor(name);
    if (sum_of(tensors) != stored.metadata().at("sum")) throw Error("its sum is another one");
    KvRows rows;
    while (tensors.contains(name_of(rows.size(), "keys"))) {
      const auto part = [&](const char* side) {
        return tensors.at(name_of(rows.size(), side)).narrow(2, 0, length);
      };
      rows.emplace_back(part("keys"), part("values"));
    }
    fs::last_write_time(file, fs::file_time_type::clock::now());
    return rows;
  } catch (const std::exception& error) {
    spdlog::warn("the stored prefix {} is broken, and is read anew: {}", file.string(),
                 first_line(error.what()));
    const Lock lock(mutex_);
    std::erase_if(prefixes_, [&](const Prefix& one) { return one.file == file; });
    return {};
  }
}

void PrefixStore::keep(const std::string& client, TokenSpan tokens, KvRows rows) {
  if (num_bytes(rows) > options_.max_bytes / 2) return;
  const Lock lock(mutex_);
  if (kept_) return;
  kept_ = {
      .client = client, .tokens = TokenIds(tokens.begin(), tokens.end()), .rows = std::move(rows)};
  changed_.notify_all();
}

void PrefixStore::work(const std::stop_token& stop) {
  const c10::InferenceMode inference;
  while (true) {
    const Kept* kept = nullptr;
    {
      Lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&]() REQUIRES(mutex_) { return kept_.has_value(); })) return;
      kept = &*kept_;  // keep() leaves it alone
    }
    try {
      write(*kept);
    } catch (const std::exception& error) {
      spdlog::warn("a prefix is not stored: {}", first_line(error.what()));
    }
    const Lock lock(mutex_);
    kept_.reset();
  }
}

void PrefixStore::write(const Kept& kept) {
  std::map<std::string, at::Tensor> tensors{{"tokens", tensor_of(kept.tokens)}};
  for (size_t layer = 0; layer < kept.rows.size(); ++layer) {
    tensors[name_of(layer, "keys")] = kept.rows[layer].first;
    tensors[name_of(layer, "values")] = kept.rows[layer].second;
  }
  const std::string client = hashed(kept.client), sum = sum_of(tensors);
  const fs::path file =
      options_.folder / (Hasher().add(options_.identity).add(client).add(sum).hex() + kExtension);
  write_safetensors(
      file, tensors,
      {{"format", kFormat}, {"identity", options_.identity}, {"client", client}, {"sum", sum}});
  const auto is_in_it = [&](const Prefix& one) {
    return one.client == client && !one.tokens.empty() && one.tokens.size() <= kept.tokens.size() &&
           std::equal(one.tokens.begin(), one.tokens.end(), kept.tokens.begin());
  };
  const Lock lock(mutex_);
  for (const Prefix& one : prefixes_) {
    std::error_code ignored;
    if (is_in_it(one) && one.file != file) fs::remove(one.file, ignored);
  }
  std::erase_if(prefixes_, is_in_it);
  prefixes_.push_back({.file = file,
                       .client = client,
                       .tokens = kept.tokens,
                       .num_bytes = static_cast<int64_t>(fs::file_size(file)),
                       .used = fs::file_time_type::clock::now()});
  make_room();
}

void PrefixStore::make_room() {
  int64_t sum = 0;
  for (const Prefix& one : prefixes_) sum += one.num_bytes;
  while (sum > options_.max_bytes) {
    const auto oldest = std::ranges::min_element(prefixes_, {}, &Prefix::used);
    std::error_code ignored;
    fs::remove(oldest->file, ignored);
    sum -= oldest->num_bytes;
    prefixes_.erase(oldest);
  }
}

}  // namespace predgen::serve
