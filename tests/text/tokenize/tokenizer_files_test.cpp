#include "text/tokenize/tokenizer_files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

TEST(TokenizerFiles, AreThereInEitherForm) {
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    const TemporaryFolder folder;
    write_file(folder / "tokenizer_config.json", "{}");
    EXPECT_FALSE(has_tokenizer(folder.path()));
    write_file(folder / name, "");
    EXPECT_TRUE(has_tokenizer(folder.path())) << name;
  }
  EXPECT_FALSE(has_tokenizer("no such folder"));
}

TEST(TokenizerFiles, AreNotTheModelsOwn) {
  const auto has = [](std::string_view name) {
    return std::ranges::find(tokenizer_file_names(), name) != tokenizer_file_names().end();
  };
  for (const char* name : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json",
                           "chat_template.jinja", "special_tokens_map.json", "added_tokens.json"}) {
    EXPECT_TRUE(has(name)) << name;
  }
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors", ""}) {
    EXPECT_FALSE(has(name)) << name;
  }
}

}  // namespace
}  // namespace predgen
