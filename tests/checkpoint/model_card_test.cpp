#include "checkpoint/model_card.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

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

}  // namespace
}  // namespace predgen
