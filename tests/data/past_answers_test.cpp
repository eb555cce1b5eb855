#include "data/past_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "data/dataset_store.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::data {
namespace {

using testing::ElementsAre;

TEST(PastAnswers, AreThoseOfConversationsWithWhatIsInFrontOfThem) {
  const TemporaryFolder folder;
  const FakeTokenizer tokenizer;
  write_file(folder / "chats.jsonl",
             R"({"messages": [{"role": "user", "content": "hi"}, )"
             R"({"role": "assistant", "content": "Yo"}, {"role": "user", "content": "go"}, )"
             R"({"role": "assistant", "content": "Ok"}]})"
             "\n"
             R"({"prompt": "nothing"})"
             "\n");
  const auto store = read_past_answers(folder / "chats.jsonl", tokenizer);
  const TokenId end = FakeTokenizer::kEnd;
  EXPECT_THAT(store->find(tokenizer.render_chat({{.role = "user", .content = "no"}}), 4, 8),
              ElementsAre(TokenIds{'O', 'k', end}, TokenIds{'Y', 'o', end}));
}

TEST(PastAnswers, OfADataSetAreWhatItsLossIsOf) {
  const TemporaryFolder folder;
  const FakeTokenizer tokenizer;
  const auto write = [&](const char* name, const std::string& hash,
                         const std::vector<uint8_t>& mask) {
    const auto dataset = create_dataset(folder / name, {{"tokenizer", hash}}, {});
    dataset->append({.conversation_id = "a",
                     .tokens = {1, 2, 3, 4, 5, 6, 7, 8},
                     .loss_mask = mask,
                     .prompt_length = 5,
                     .branches = {},
                     .blocks = {}});
    dataset->finish({});
  };
  write("data", tokenizer.content_hash(), {0, 1, 0, 0, 0, 1, 1, 1});
  const auto store = read_past_answers(folder / "data", tokenizer);
  EXPECT_THAT(store->find(TokenIds{1}, 4, 8), ElementsAre(TokenIds{2}));
  EXPECT_THAT(store->find(TokenIds{4, 5}, 4, 8), ElementsAre(TokenIds{6, 7, 8}));
  EXPECT_EQ(store->num_tokens(), 1 + 3 + 3);  // four tokens are in front of the second answer
  write("other", "of another", {0, 0, 0, 0, 0, 1, 1, 1});
  expect_user_error([&] { read_past_answers(folder / "other", tokenizer); }, {"another tokenizer"});
  write("none", tokenizer.content_hash(), std::vector<uint8_t>(8));
  expect_user_error([&] { read_past_answers(folder / "none", tokenizer); }, {"no answers"});
  expect_user_error([&] { read_past_answers(folder / "missing.jsonl", tokenizer); },
                    {"missing.jsonl"});
}

}  // namespace
}  // namespace predgen::data
