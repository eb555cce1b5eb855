#include "data/past_answers.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "data/conversation.h"
#include "data/dataset_store.h"

namespace predgen::data {
namespace {

constexpr size_t kInFront = 4;  // prompt tokens by which an answer's beginning is found

/// The target tokens, with kInFront tokens before them.
void add_answers(const Record& record, std::vector<TokenIds>& answers) {
  const auto& mask = record.loss_mask;
  for (auto begin = mask.begin(); begin != mask.end();) {
    begin = std::find(begin, mask.end(), 1);
    const auto end = std::find(begin, mask.end(), 0);
    if (begin == end) break;
    const auto first = static_cast<size_t>(begin - mask.begin());
    const auto tokens = TokenSpan(record.tokens).first(static_cast<size_t>(end - mask.begin()));
    const TokenSpan answer = tokens.subspan(first - std::min(first, kInFront));
    answers.emplace_back(answer.begin(), answer.end());
    begin = end;
  }
}

std::vector<TokenIds> answers_of_dataset(const std::filesystem::path& folder,
                                         const Tokenizer& tokenizer) {
  const std::unique_ptr<DatasetReader> dataset = open_dataset(folder);
  const Json& recipe = dataset->manifest().at("recipe");
  if (recipe.value("tokenizer", "") != tokenizer.content_hash()) {
    throw UserError("{}: was made for another tokenizer than the model's", folder.string());
  }
  std::vector<TokenIds> answers;
  for (int64_t i = 0; i < dataset->size(); ++i) add_answers(dataset->read(i), answers);
  return answers;
}

std::vector<TokenIds> answers_of_conversations(const std::filesystem::path& file,
                                               const Tokenizer& tokenizer) {
  const TokenIds asked = tokenizer.render_chat({{.role = "user", .content = "hi"}});
  const TokenSpan in_front = TokenSpan(asked).last(std::min(asked.size(), kInFront));
  std::vector<TokenIds> answers;
  const std::unique_ptr<ConversationReader> rows = open_conversations(file, BadRows::kFail);
  for (CorpusConversation conversation; rows->next(conversation);) {
    for (const Message& message : conversation.messages) {
      if (message.role != "assistant" || message.content.empty()) continue;
      TokenIds& answer = answers.emplace_back(in_front.begin(), in_front.end());
      const TokenIds said = tokenizer.encode(message.content);
      answer.insert(answer.end(), said.begin(), said.end());
      if (!tokenizer.stop_tokens().empty()) answer.push_back(tokenizer.stop_tokens().front());
    }
  }
  return answers;
}

}  // namespace

std::shared_ptr<const AnswerStore> read_past_answers(const std::filesystem::path& source,
                                                     const Tokenizer& tokenizer) {
  const std::vector<TokenIds> answers = std::filesystem::is_directory(source)
                                            ? answers_of_dataset(source, tokenizer)
                                            : answers_of_conversations(source, tokenizer);
  if (answers.empty()) throw UserError("{}: has no answers to draft from", source.string());
  return std::make_shared<AnswerStore>(answers);
}

}  // namespace predgen::data
