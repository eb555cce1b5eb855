#include "serve/prefix_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "serve/prefix_cache.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/waiting.h"

namespace predgen::serve {
namespace {

namespace fs = std::filesystem;

/// What the next start finds: the hash, and how many files it has read for it.
std::pair<std::string, int64_t> start(const TemporaryFolder& folder, Seconds settled = Seconds(0)) {
  KnownHashes known(folder / "known.json", settled);
  const std::string hash = known.hash({folder / "config.json", folder / "weights"});
  known.save();
  return {hash, known.num_read()};
}

void write(const fs::path& file, const std::string& text) {
  std::fstream(file, std::ios::out | std::ios::in) << text;  // as it is, in place
}

/// Writes a text of the same size, and sets the time back.
void forge(const fs::path& file, const std::string& text) {
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_TRUE(comes_true([&] {  // clocks of files are coarse
    write(file, text);
    ::utimensat(AT_FDCWD, file.c_str(), times, 0);
    ::stat(file.c_str(), &after);
    return after.st_ctim.tv_nsec != before.st_ctim.tv_nsec;
  }));
  ASSERT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

struct KnownHashesTest : testing::Test {
  KnownHashesTest() {
    std::ofstream(folder / "config.json") << "{}";
    std::ofstream(folder / "weights") << "0123456789";
  }
  TemporaryFolder folder;
};

TEST_F(KnownHashesTest, AFileIsReadOnce) {
  const auto [hash, num_read] = start(folder);
  EXPECT_EQ(num_read, 2);
  EXPECT_EQ(start(folder), (std::pair{hash, int64_t{0}}));
}

TEST_F(KnownHashesTest, AChangedFileIsReadAgain) {
  const std::string hash = start(folder).first;
  forge(folder / "weights", "0123456780");
  const auto [changed, num_read] = start(folder);
  EXPECT_EQ(num_read, 1);
  EXPECT_NE(changed, hash);
  fs::remove(folder / "weights");
  std::ofstream(folder / "weights") << "0123456789";
  EXPECT_EQ(start(folder), (std::pair{hash, int64_t{1}})) << "another file with the same content";
}

TEST_F(KnownHashesTest, AFileThatMayStillChangeIsNotRecorded) {
  const std::string hash = start(folder, Seconds(3600)).first;
  EXPECT_FALSE(fs::exists(folder / "known.json"));
  EXPECT_EQ(start(folder, Seconds(3600)), (std::pair{hash, int64_t{2}}));
}

TEST_F(KnownHashesTest, ABrokenRecordIsWrittenAnew) {
  const std::string hash = start(folder).first;
  for (const char* broken : {"", "[1", "[1]", "7", R"({"x": 3})"}) {
    std::ofstream(folder / "known.json") << broken;
    EXPECT_EQ(start(folder), (std::pair{hash, int64_t{2}})) << broken;
    EXPECT_EQ(start(folder), (std::pair{hash, int64_t{0}})) << broken;
  }
  fs::remove(folder / "weights");
  expect_user_error([&] { start(folder); }, {"weights", "cannot be read"});
}

constexpr int64_t kLength = 400;

std::unique_ptr<Transformer> long_model() {
  ModelConfig config = small_config();
  config.max_positions = 1024;
  return Transformer::initialize(config, 1, at::kFloat);
}

TokenIds prompt_of(int64_t length, TokenId last) {
  TokenIds tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back(static_cast<TokenId>(1 + i * i % 59));
  tokens.push_back(last);
  return tokens;
}

/// A server that has just started.
struct Started {
  explicit Started(const fs::path& folder, const std::string& identity = "model",
                   int64_t max_bytes = int64_t{1} << 30)
      : store({.folder = folder, .max_bytes = max_bytes, .identity = identity}, model->kv_layout()),
        cache(engine, engine_lock, 1024, 4, &store) {}

  /// Answers a prompt; returns how many of its tokens were not read. The logits must be those of a
  /// model that has read them all.
  int64_t ask(const TokenIds& prompt, int64_t num_static = 0, const std::string& client = "me") {
    const EngineLock::Hold hold(engine_lock, client);
    Sequence sequence = cache.take(client, prompt);
    const int64_t cached = sequence.num_cached();
    const at::Tensor logits = *engine.run({.sequence = &sequence}).logits;
    Sequence fresh = sequence_of(engine, prompt, 1024);
    EXPECT_TRUE(at::equal(logits, *engine.run({.sequence = &fresh}).logits)) << "other bits";
    sequence.append(TokenIds{9});
    cache.keep(client, std::move(sequence), num_static);
    return cached;
  }
  /// Whether it has stored so much of the prompt by now.
  bool has_stored(const TokenIds& prompt, int64_t length) {
    return comes_true([&] { return store.num_common("me", prompt) == length; });
  }

  std::unique_ptr<Transformer> model = long_model();
  EngineLock engine_lock;
  Engine engine = borrowing_engine(*model, {.pass_tokens = 64, .engine_lock = &engine_lock});
  PrefixStore store;
  PrefixCache cache;
};

TEST(PrefixStore, APromptIsNotReadAgainAfterARestart) {
  const TemporaryFolder folder;
  const TokenIds first = prompt_of(kLength, 3), second = prompt_of(kLength, 5);
  {
    Started server(folder.path());
    EXPECT_EQ(server.ask(first, kLength), 0);
    EXPECT_TRUE(server.has_stored(second, kLength));
  }
  Started again(folder.path());
  EXPECT_EQ(again.ask(second), kLength);
  EXPECT_EQ(again.ask(first, 0, "another"), 0) << "a cache hit tells what was asked";
  EXPECT_EQ(again.ask(prompt_of(200, 7)), 200) << "a part of it";
  Started other(folder.path(), "another model");
  EXPECT_EQ(other.ask(second), 0);
}

TEST(PrefixStore, WhatConversationsHaveInCommonIsStored) {
  const TemporaryFolder folder;
  Started server(folder.path());
  server.ask(prompt_of(kLength, 3));  // nobody says what of it others will have
  EXPECT_EQ(server.store.num_common("me", prompt_of(kLength, 3)), 0);
  server.ask(prompt_of(kLength, 5));
  EXPECT_TRUE(server.has_stored(prompt_of(kLength, 7), kLength));
}

TEST(PrefixStore, WhatIsBrokenOrNoPrefixIsLeftAlone) {
  const TemporaryFolder folder;
  const TokenIds prompt = prompt_of(kLength, 3);
  std::ofstream(folder / "notes.safetensors") << "mine";
  {
    Started server(folder.path());
    server.ask(prompt, kLength);
    EXPECT_TRUE(server.has_stored(prompt, kLength));
  }
  fs::path stored;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().filename() != "notes.safetensors") stored = entry.path();
  }
  {  // a bit of a key
    std::fstream file(stored, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(stored)) - 1000);
    file.put('\x55');
  }
  {
    Started server(folder.path());
    EXPECT_EQ(server.ask(prompt), 0);
  }
  fs::resize_file(stored, fs::file_size(stored) / 2);
  {
    Started server(folder.path());
    EXPECT_EQ(server.ask(prompt), 0);
  }
  EXPECT_TRUE(fs::exists(folder / "notes.safetensors"));
}

TEST(PrefixStore, TheFolderHasABound) {
  const TemporaryFolder folder;
  const int64_t one = 2 * 2 * 2 * 8 * 4 * kLength;  // bytes
  Started server(folder.path(), "model", 3 * one);
  for (const TokenId begin : {11, 12, 13, 14}) {
    TokenIds prompt = prompt_of(kLength, 3);
    std::fill_n(prompt.begin(), 100, begin);
    server.ask(prompt, kLength);
    EXPECT_TRUE(server.has_stored(prompt, kLength)) << begin;
  }
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    bytes += static_cast<int64_t>(entry.file_size());
  }
  EXPECT_GT(bytes, 2 * one);
  EXPECT_LE(bytes, 3 * one);
}

TEST(PrefixStore, RefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  const FakeLanguageModel with_states({.keeps_state = true});
  expect_user_error([&] { PrefixStore({.folder = folder.path()}, with_states.kv_layout()); },
                    {"--prefix-cache", "states"});
  expect_user_error([&] { PrefixStore({.folder = folder / "file"}, small_model()->kv_layout()); },
                    {"--prefix-cache", "file"});
}

}  // namespace
}  // namespace predgen::serve
