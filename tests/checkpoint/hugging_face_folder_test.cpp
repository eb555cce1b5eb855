#include "checkpoint/hugging_face_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/save_model.h"
#include "core/files.h"
#include "model/weights/weight_files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tokenizer_folder.h"
#include "text/tokenizer.h"

namespace predgen {
namespace {

TEST(ReadModelCard, ReadsHeadAndHeading) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    write_file(folder / "README.md", text);
    return read_model_card(folder.path());
  };
  EXPECT_EQ(read_model_card(folder.path()).licence, "");
  ModelCard card =
      read("---\nlanguage:\n- en\nlicense: \"apache-2.0\"\r\n---\n\n# SmolLM2 \n# B\n");
  EXPECT_EQ(card.licence, "apache-2.0");
  EXPECT_EQ(card.title, "SmolLM2");
  card = read("---\nlicense: other\nlicense_name: qwen\nlicense_link: x\n---\n## no title");
  EXPECT_EQ(card.licence, "qwen");
  EXPECT_EQ(card.title, "");
  card = read("# Title\n\nlicense: mit\n---\nlicense: mit\n---\n");
  EXPECT_EQ(card.licence, "");
  EXPECT_EQ(card.title, "Title");
  EXPECT_EQ(read("---\nlicense: mit").licence, "mit");
  EXPECT_EQ(read("").title, "");
  EXPECT_EQ(read("# T").title, "T");
}

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(HuggingFaceFolder, EachPartNeedsItsOwnFilesOnly) {
  const TokenizerFolder texts;
  const auto tokenizer_alone = open_checkpoint(texts.write());
  EXPECT_TRUE(tokenizer_alone->has_tokenizer());
  EXPECT_EQ(load_tokenizer(tokenizer_alone->read_tokenizer({}))->encode("he"),
            TokenIds{TokenizerFolder::kHe});
  EXPECT_TRUE(tokenizer_alone->read_generation().stop_tokens.empty());
  expect_user_error([&] { tokenizer_alone->read_config(); }, {"config.json"});
  expect_user_error([&] { tokenizer_alone->open_tensors(); }, {"config.json"});

  const TemporaryFolder folder;
  write_file(folder / "config.json", small_config().to_json().dump());
  const auto without_tokenizer = open_checkpoint(folder.path());
  EXPECT_FALSE(without_tokenizer->has_tokenizer());
  EXPECT_EQ(without_tokenizer->read_config().to_json(), small_config().to_json());
  expect_user_error([&] { without_tokenizer->read_tokenizer({}); }, {"tokenizer.json"});
}

TEST(HuggingFaceFolder, WeightsAreKnownByTheirFiles) {
  const TemporaryFolder folder;
  const auto checkpoint = open_checkpoint(folder.path());
  write_file(folder / "config.json", "{}");
  write_file(folder / "model.safetensors", "weights");
  const std::string hash = hash_weights(checkpoint->weight_files());
  write_file(folder / "README.md", "no weights");
  EXPECT_EQ(hash_weights(checkpoint->weight_files()), hash);
  write_file(folder / "model.safetensors", "other weights");
  EXPECT_NE(hash_weights(checkpoint->weight_files()), hash);
}

TEST(HuggingFaceFolder, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  const auto checkpoint = open_checkpoint(folder.path());
  const auto missing = [&] {
    std::vector<std::string> names;
    for (const CheckpointFile& file : checkpoint->check_files()) {
      EXPECT_NE(file.is_missing, file.state.starts_with("ok") || file.state.starts_with("missing"))
          << file.name << ": " << file.state;
      if (file.is_missing) names.push_back(file.name);
    }
    return names;
  };
  EXPECT_EQ(missing(), (std::vector<std::string>{"model.safetensors", "tokenizer.json"}));
  write_file(folder / "tokenizer.model", "");
  write_file(folder / "model.safetensors.index.json",
             R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  write_file(folder / "one.safetensors", "");
  EXPECT_EQ(missing(), (std::vector<std::string>{"two.safetensors"}));
  EXPECT_EQ(checkpoint->check_files()[0].state, "ok, 2 shards");
  write_file(folder / "two.safetensors", "");
  EXPECT_TRUE(missing().empty());
}

TEST(HuggingFaceFolder, FilesAreCopiedByWhatTheyAreFor) {
  const TemporaryFolder source, texts, generation, others;
  for (const char* name : {"tokenizer.json", "chat_template.jinja", "generation_config.json",
                           "LICENSE", "config.json", "model.safetensors"}) {
    write_file(source / name, name);
  }
  make_folder(source / "additional_chat_templates");
  write_file(source / "additional_chat_templates/tool.jinja", "x");
  const auto checkpoint = open_checkpoint(source.path());
  checkpoint->copy_files(CopiedFiles::kTokenizer, texts.path());
  checkpoint->copy_files(CopiedFiles::kGeneration, generation.path());
  checkpoint->copy_files(CopiedFiles::kOther, others.path());
  EXPECT_EQ(names_in(texts.path()),
            (std::vector<std::string>{"additional_chat_templates", "chat_template.jinja",
                                      "tokenizer.json"}));
  EXPECT_EQ(names_in(texts / "additional_chat_templates"),
            (std::vector<std::string>{"tool.jinja"}));
  EXPECT_EQ(names_in(generation.path()), (std::vector<std::string>{"generation_config.json"}));
  EXPECT_EQ(names_in(others.path()), (std::vector<std::string>{"LICENSE"}));
}

TEST(HuggingFaceFolder, ItsLabelSaysWhatItHolds) {
  const TemporaryFolder folder;
  const auto model = small_model();
  save_model(*model, folder.path(), nullptr, "bf16");
  write_file(folder / "README.md", "---\nlicense: mit\n---\n# Tiny\n");
  const CheckpointLabel label = open_checkpoint(folder.path())->read_label();
  EXPECT_EQ(label.architecture, "qwen2");
  EXPECT_EQ(label.name, "Tiny");
  EXPECT_EQ(label.licence, "mit");
  EXPECT_EQ(label.type, "bf16");
  EXPECT_EQ(label.num_parameters, model->config().num_parameters());
  EXPECT_EQ(label.context, 128);
  EXPECT_EQ(label.num_bytes, static_cast<int64_t>(fs::file_size(folder / "config.json") +
                                                  fs::file_size(folder / "model.safetensors")));
  fs::resize_file(folder / "model.safetensors", 1000);
  expect_user_error([&] { open_checkpoint(folder.path())->read_label(); }, {"model.safetensors"});
}

TEST(HuggingFaceFolder, OtherFoldersAreToldWhatTheyAre) {
  const TemporaryFolder folder;
  const auto checkpoint = open_checkpoint(folder.path());
  const auto expect_refused = [&](const std::vector<std::string>& parts) {
    expect_user_error([&] { checkpoint->read_config(); }, parts);
    expect_user_error([&] { checkpoint->read_config_json(); }, parts);
    expect_user_error([&] { checkpoint->read_tokenizer({}); }, parts);
  };
  write_file(folder / "tiny-Q4_0.gguf", "x");
  expect_refused({"give the GGUF file in it", "tiny-Q4_0.gguf"});
  write_file(folder / "adapter_config.json", R"({"base_model_name_or_path": "org/base"})");
  expect_refused({"is an adapter", "--adapter", "org/base"});
  write_file(folder / "adapter_config.json", "[]");
  expect_refused({"is an adapter", "--adapter"});
  write_file(folder / "config.json", small_config().to_json().dump());
  EXPECT_NO_THROW(checkpoint->read_config());
}

}  // namespace
}  // namespace predgen
