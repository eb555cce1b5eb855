#include "evaluate/judge/local_chat.h"

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/json.h"
#include "core/stop.h"
#include "runtime/engine/engine.h"
#include "runtime/generate/make_generator.h"
#include "text/thoughts.h"
#include "text/tokenizer.h"

namespace predgen::evaluate {
namespace {

class LocalChat {
 public:
  LocalChat(const Checkpoint& checkpoint, const LoadOptions& load, std::stop_token stop)
      : tokenizer_(load_tokenizer(checkpoint.read_tokenizer({}))),
        engine_(load_model(checkpoint, {}, load)),
        generator_(make_generator({}, engine_)),
        stop_(std::move(stop)) {}

  PostReply reply(const std::string& json) {
    try {
      return {200, to_text(answer(Json::parse(json))), "", std::nullopt};
    } catch (const UserError& error) {
      return {400, error.what(), "", std::nullopt};
    }
  }

 private:
  Json answer(const Json& request) {
    std::vector<Message> messages;
    for (const Json& message : request.at("messages")) {
      messages.push_back({message.at("role"), message.at("content")});
    }
    const TokenIds prompt = tokenizer_->render_chat(messages, /*add_generation_prompt=*/true, {},
                                                    tokenizer_->thinking_switch(false));
    const auto length = static_cast<int64_t>(prompt.size());
    const int64_t room = engine_.model().max_positions() - length;
    if (room < 1) throw UserError("{} tokens are too long for the judge", length);
    const int64_t most = std::min(room, request.at("max_tokens").get<int64_t>());

    Sequence sequence = engine_.make_sequence(length + most);
    sequence.append(prompt);
    generator_->generate(
        sequence, {},
        {.max_new_tokens = most, .stop_tokens = tokenizer_->stop_tokens(), .answer_begin = length},
        [&](TokenSpan) {
          throw_if_stopped(stop_);
          return true;
        });
    TokenIds tokens(sequence.tokens().begin() + length, sequence.tokens().end());
    const auto num_tokens = tokens.size();
    // The model's vocabulary may be padded beyond the tokenizer's.
    std::erase_if(tokens, [&](TokenId id) { return id >= tokenizer_->vocab_size(); });
    return {
        {"choices", {{{"message", {{"content", without_thoughts(tokenizer_->decode(tokens))}}}}}},
        {"usage", {{"prompt_tokens", length}, {"completion_tokens", num_tokens}}}};
  }

  const std::unique_ptr<Tokenizer> tokenizer_;
  Engine engine_;
  const std::unique_ptr<Generator> generator_;
  const std::stop_token stop_;
};

}  // namespace

HttpPost load_local_chat(const Checkpoint& checkpoint, const LoadOptions& load,
                         const std::stop_token& stop) {
  const auto chat = std::make_shared<LocalChat>(checkpoint, load, stop);
  return [chat](const std::string& json) { return chat->reply(json); };
}

}  // namespace predgen::evaluate
