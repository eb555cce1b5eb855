#include "data/hdf5_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/version.h"
#include "data/hdf5_file.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::data {
namespace {

namespace fs = std::filesystem;

Record record(int64_t number) {
  Record result;
  result.conversation_id = "id-" + std::to_string(number) + "-ü";
  result.round = number % 3;
  for (int64_t t = 0; t < 3 + number % 4; ++t) {
    result.tokens.push_back(100 * number + t);
    result.loss_mask.push_back(t % 2);
  }
  result.prompt_length = 2;
  if (number % 3 == 1) result.branches = {1, 2};
  for (int64_t b = 0; b < number % 3; ++b) {
    result.blocks.push_back({{{number, b}, {number + 1, b}, {7, 8}}});
    result.blocks.back().states.resize(static_cast<size_t>(1 + (number + b) % 3));
  }
  return result;
}

void expect_equal(const Record& a, const Record& b) {
  EXPECT_EQ(a.conversation_id, b.conversation_id);
  EXPECT_EQ(a.round, b.round);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.loss_mask, b.loss_mask);
  EXPECT_EQ(a.prompt_length, b.prompt_length);
  EXPECT_EQ(a.branches, b.branches);
  ASSERT_EQ(a.blocks.size(), b.blocks.size());
  for (size_t i = 0; i < a.blocks.size(); ++i) EXPECT_EQ(a.blocks[i].states, b.blocks[i].states);
}

void expect_size(const RecordSize& size, const Record& record) {
  EXPECT_EQ(size.tokens, static_cast<int64_t>(record.tokens.size()));
  EXPECT_EQ(size.prompt_length, record.prompt_length);
  EXPECT_EQ(size.has_branches, !record.branches.empty());
  ASSERT_EQ(size.blocks.size(), record.blocks.size());
  for (size_t i = 0; i < record.blocks.size(); ++i) {
    const std::vector<TokenIds>& states = record.blocks[i].states;
    EXPECT_EQ(size.blocks[i].tokens, static_cast<int64_t>(states.back().size()));
    EXPECT_EQ(size.blocks[i].num_states, static_cast<int64_t>(states.size()));
  }
}

const Json kRecipe{{"seed", 1}, {"filters", {{"max_tokens", 9}}}};

void write(const fs::path& folder, int64_t count) {
  const auto writer = create_dataset(folder, kRecipe, {.records_per_shard = 4});
  for (int64_t i = 0; i < count; ++i) writer->append(record(i));
  writer->finish({{"rows", count}});
}

TEST(Hdf5Store, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  write(folder.path(), 10);
  const auto reader = open_dataset(folder.path());
  ASSERT_EQ(reader->size(), 10);
  for (const int64_t i : {9, 0, 4, 3, 8, 7, 1, 2, 5, 6}) {
    expect_equal(reader->read(i), record(i));
    expect_size(reader->size_of(i), record(i));
  }
  EXPECT_EQ(reader->manifest().at("shards").size(), 3u);
  EXPECT_EQ(reader->manifest().at("counters").at("rows"), 10);
  EXPECT_EQ(reader->manifest().at("predgen"), program_version());
  EXPECT_FALSE(fs::exists(folder.path() / "recipe.json"));
}

/// For as long as it lives, this process can open so many files more, at most.
class FewFiles {
 public:
  explicit FewFiles(int more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDIN_FILENO);  // the lowest number that is free
    close(next);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next + more);
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Hdf5Store, ManyShardsNeedFewFiles) {
  const TemporaryFolder folder;
  write(folder.path(), 4 * 60);
  const FewFiles limit(24);
  const auto reader = open_dataset(folder.path());
  ASSERT_EQ(reader->size(), 240);
  for (int64_t i = 0; i < 240; ++i) {
    const int64_t place = (i * 37) % 240;  // from shard to shard
    expect_equal(reader->read(place), record(place));
    expect_size(reader->size_of(place), record(place));
  }
}

TEST(Hdf5Store, AWantOfFilesIsNotBlamedOnTheData) {
  const TemporaryFolder folder;
  write(folder.path(), 4);
  const auto reader = open_dataset(folder.path());
  const FewFiles limit(0);
  expect_user_error([&] { reader->read(0); }, {"Too many open files", "ulimit -n"});
  expect_user_error([&] { hash_file(folder / "shard-00000.h5"); },
                    {"Too many open files", "ulimit -n"});
}

TEST(Hdf5Store, SeveralDatasetsReadAsOne) {
  const TemporaryFolder folder;
  write(folder.path() / "a", 3);
  write(folder.path() / "b", 5);
  const auto reader = open_datasets({folder.path() / "a", folder.path() / "b"});
  ASSERT_EQ(reader->size(), 8);
  for (const int64_t i : {7, 0, 2, 3}) {
    expect_equal(reader->read(i), record(i < 3 ? i : i - 3));
    expect_size(reader->size_of(i), record(i < 3 ? i : i - 3));
  }
  EXPECT_EQ(reader->manifest().size(), 2u);
}

TEST(Hdf5Store, SameRecordsSameBytes) {
  const TemporaryFolder folder;
  write(folder.path() / "a", 6);
  write(folder.path() / "b", 6);
  for (const char* name : {"shard-00000.h5", "shard-00001.h5", "manifest.json"}) {
    EXPECT_EQ(read_file(folder.path() / "a" / name), read_file(folder.path() / "b" / name)) << name;
  }
}

TEST(Hdf5Store, AnUnfinishedDatasetIsNotReadAndResumes) {
  const TemporaryFolder folder;
  {
    const auto killed = create_dataset(folder.path(), kRecipe, {.records_per_shard = 4});
    for (int64_t i = 0; i < 6; ++i) killed->append(record(i));
  }
  write_file(folder / "shard-00001.h5.tmp", "half a shard");
  expect_user_error([&] { open_dataset(folder.path()); }, {"did not finish"});
  expect_user_error([&] { create_dataset(folder.path(), kRecipe, {}); }, {"unfinished"});
  const auto writer =
      create_dataset(folder.path(), kRecipe, {.records_per_shard = 4, .resume = true});
  EXPECT_FALSE(fs::exists(folder.path() / "shard-00001.h5.tmp"));
  ASSERT_EQ(writer->size(), 4);
  for (int64_t i = 4; i < 10; ++i) writer->append(record(i));
  writer->finish({});
  const auto reader = open_dataset(folder.path());
  ASSERT_EQ(reader->size(), 10);
  for (int64_t i = 0; i < 10; ++i) expect_equal(reader->read(i), record(i));
}

TEST(Hdf5Store, ShowsHowRecipesDiffer) {
  const TemporaryFolder folder;
  write(folder.path(), 2);
  Json other = kRecipe;
  other["filters"]["max_tokens"] = 10;
  expect_user_error([&] { create_dataset(folder.path(), other, {.resume = true}); },
                    {"filters.max_tokens: 9 there, 10 here"});
  EXPECT_TRUE(dataset_is_complete(folder.path(), kRecipe));
  EXPECT_FALSE(dataset_is_complete(folder.path(), other));
}

TEST(Hdf5Store, RefusesDamagedShards) {
  const TemporaryFolder folder;
  write(folder.path(), 10);
  const fs::path shard = folder.path() / "shard-00001.h5";
  const std::string whole = read_file(shard);

  fs::resize_file(shard, fs::file_size(shard) / 2);
  expect_user_error([&] { open_dataset(folder.path()); }, {"truncated"});

  std::string changed = whole;
  changed[changed.size() / 2] ^= 1;
  write_file(folder / "shard-00001.h5", changed);
  expect_user_error([&] { open_dataset(folder.path()); }, {"not those of the manifest"});

  fs::remove(shard);
  expect_user_error([&] { open_dataset(folder.path()); }, {"is missing"});
  expect_user_error([&] { open_dataset(folder.path() / "nothing"); }, {"manifest"});
}

/// Changes the columns of the first shard, and its hash and size in the manifest.
template <typename Change>
void change_shard(const fs::path& folder, const Change& change) {
  const fs::path shard = folder / "shard-00000.h5";
  {
    const Lock lock(hdf5_mutex());
    const Hdf5Handle file(H5Fopen(shard.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, "H5Fopen");
    change(file);
  }
  Json manifest = read_json(folder / "manifest.json");
  manifest["shards"][0]["num_bytes"] = fs::file_size(shard);
  manifest["shards"][0]["hash"] = hash_file(shard);
  write_file(folder / "manifest.json", manifest.dump());
}

void remove_column(hid_t file, const char* name) { H5Ldelete(file, name, H5P_DEFAULT); }

void replace_column(hid_t file, const char* name, const std::vector<int64_t>& values) {
  remove_column(file, name);
  write_column(file, name, values);
}

TEST(Hdf5Store, RefusesOffsetsThatPointElsewhere) {
  using Change = std::function<void(std::vector<int64_t>&)>;
  const std::vector<std::pair<const char*, Change>> faults{
      {"block_offsets", [](auto& v) { v[1] = 2'000'000'000; }},
      {"block_offsets", [](auto& v) { v[0] = -1; }},
      {"state_offsets", [](auto& v) { v[1] = v[0]; }},
      {"state_offsets", [](auto& v) { v.back() = 5'000'000; }},
      {"state_token_offsets", [](auto& v) { v[1] = 1'000'000'000; }},
      {"state_token_offsets", [](auto& v) { v[1] = -100'000'000; }},
      {"state_token_offsets", [](auto& v) { ++v[1]; }},
      {"token_offsets", [](auto& v) { v.front() = 1; }},
      {"token_offsets", [](auto& v) { std::swap(v[1], v[2]); }},
      {"token_offsets", [](auto& v) { v.pop_back(); }},
      {"token_offsets", [](auto& v) { v[1] = std::numeric_limits<int64_t>::min(); }},
      {"conversation_id_offsets", [](auto& v) { --v.back(); }},
      {"branch_offsets", [](auto& v) { v.pop_back(); }},
      {"branch_offsets", [](auto& v) { v[1] = -1; }},
      {"branches", [](auto& v) { v[0] = 0; }},
      {"branches", [](auto& v) { v[1] = v[0]; }},
      {"branches", [](auto& v) { v[1] = 1'000'000; }},
      {"prompt_length", [](auto& v) { v[0] = 1'000'000; }},
      {"prompt_length", [](auto& v) { v[0] = -1; }},
      {"round", [](auto& v) { v.pop_back(); }}};
  for (const auto& fault : faults) {
    const TemporaryFolder folder;
    write(folder.path(), 4);
    change_shard(folder.path(), [&](hid_t file) {
      std::vector<int64_t> values;
      {
        const Hdf5Handle column = open_column(file, fault.first);
        values = read_entries<int64_t>(column, 0, column_size(column));
      }
      fault.second(values);
      replace_column(file, fault.first, values);
    });
    expect_user_error([&] { open_dataset(folder.path()); }, {"not a whole shard", fault.first});
  }
}

TEST(Hdf5Store, OlderShardsHaveNoBranches) {
  const TemporaryFolder folder;
  write(folder.path(), 4);
  change_shard(folder.path(), [](hid_t file) {
    remove_column(file, "branches");
    remove_column(file, "branch_offsets");
  });
  const auto reader = open_dataset(folder.path());
  EXPECT_FALSE(reader->size_of(1).has_branches);
  EXPECT_TRUE(reader->read(1).branches.empty());
  EXPECT_EQ(reader->read(1).tokens, record(1).tokens);
}

/// A new column "tokens" whose creation list and space `set` changes.
template <typename Set>
void create_tokens(hid_t file, hsize_t size, const Set& set) {
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate");
  const Hdf5Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, "H5Screate");
  set(hid_t(creation), hid_t(space));
  const Hdf5Handle made(
      H5Dcreate2(file, "tokens", H5T_NATIVE_INT32, space, H5P_DEFAULT, creation, H5P_DEFAULT),
      H5Dclose, "H5Dcreate");
}

void store_tokens_in(const fs::path& other, hid_t file) {
  create_tokens(file, 4,
                [&](hid_t creation, hid_t) { H5Pset_external(creation, other.c_str(), 0, 16); });
}

void map_tokens_to(const fs::path& other, hid_t file) {
  create_tokens(file, 4, [&](hid_t creation, hid_t space) {
    H5Pset_virtual(creation, space, other.c_str(), "tokens", space);
  });
}

void link_tokens_to(const fs::path& other, hid_t file) {
  H5Lcreate_external(other.c_str(), "tokens", file, "tokens", H5P_DEFAULT, H5P_DEFAULT);
}

void link_tokens_softly(const fs::path&, hid_t file) {
  H5Lcreate_soft("/loss_mask", file, "tokens", H5P_DEFAULT, H5P_DEFAULT);
}

void claim_many_tokens(const fs::path&, hid_t file) {
  create_tokens(file, hsize_t{1} << 40, [](hid_t creation, hid_t) {
    const hsize_t chunk = 1 << 20;
    H5Pset_chunk(creation, 1, &chunk);
  });
}

TEST(Hdf5Store, RefusesColumnsInOtherFiles) {
  using Change = void (*)(const fs::path& other, hid_t file);
  const std::vector<std::pair<const char*, Change>> faults{
      {"in another file", store_tokens_in},
      {"in another file", map_tokens_to},
      {"is a link", link_tokens_to},
      {"is a link", link_tokens_softly},
      {"more than it stores", claim_many_tokens}};
  for (const auto& fault : faults) {
    const TemporaryFolder folder;
    write(folder.path() / "set", 4);
    write_file(folder / "secret", "root:x:0:0:root:");
    change_shard(folder.path() / "set", [&](hid_t file) {
      remove_column(file, "tokens");
      fault.second(folder.path() / "secret", file);
    });
    expect_user_error([&] { open_dataset(folder.path() / "set"); },
                      {"not a whole shard", fault.first});
  }
}

TEST(Hdf5Store, ResumeRefusesAShardKilledInTheMiddle) {
  const TemporaryFolder folder;
  {
    const auto killed = create_dataset(folder.path(), kRecipe, {.records_per_shard = 4});
    for (int64_t i = 0; i < 4; ++i) killed->append(record(i));
  }
  const fs::path shard = folder.path() / "shard-00000.h5";
  fs::resize_file(shard, fs::file_size(shard) / 2);
  expect_user_error([&] { create_dataset(folder.path(), kRecipe, {.resume = true}); },
                    {"start again"});
}

TEST(Hdf5Store, AFailureBeforeTheFirstShardLeavesNothing) {
  const TemporaryFolder folder;
  const fs::path made = folder.path() / "new";
  create_dataset(made, kRecipe, {.records_per_shard = 4})->append(record(0));
  EXPECT_FALSE(fs::exists(made));
  // What lies in it already, as a held-out part does, can only be gone on with.
  {
    const auto writer = create_dataset(made, kRecipe, {.records_per_shard = 4});
    fs::create_directories(made / "held_out");
  }
  EXPECT_NO_THROW(create_dataset(made, kRecipe, {.resume = true}));
}

TEST(Hdf5Store, RefusesForeignFoldersAndEmptyDatasets) {
  const TemporaryFolder folder;
  write_file(folder / "holiday.jpg", "x");
  expect_user_error([&] { create_dataset(folder.path(), kRecipe, {.resume = true}); },
                    {"not empty"});
  const auto writer = create_dataset(folder.path() / "new", kRecipe, {});
  expect_user_error([&] { writer->finish({{"rows", 3}}); }, {"empty"});
}

}  // namespace
}  // namespace predgen::data
