#include "runtime/generate/mtp_source.h"

#include <algorithm>
#include <utility>

#include "runtime/generate/choices.h"

namespace predgen {

std::optional<std::vector<TokenIds>> guess_one_by_one(TokenSpan tokens, int64_t width,
                                                      const GenerationConfig& config,
                                                      const DraftRoom& room,
                                                      const std::function<EngineResult()>& run,
                                                      const std::function<void(TokenId)>& append,
                                                      MadeDraft& made) {
  TokenIds text(tokens.begin(), tokens.end()), draft;
  const TokenTree none;
  while (std::ssize(draft) < width) {
    const EngineResult pass = run();
    if (!pass.logits) return std::nullopt;
    const TokenId next = Choices(config, *pass.logits, text, none).after({});
    if (next == kNoToken) break;
    draft.push_back(next);
    text.push_back(next);
    const bool is_full = std::ssize(draft) - room.tree.num_known(draft) >= room.left();
    if (is_full || is_stop_token(config.stop_tokens, next)) break;
    append(next);
  }
  made = {TokenIds(tokens.begin(), tokens.end()), draft};
  if (draft.empty()) return std::vector<TokenIds>();
  return std::vector<TokenIds>{std::move(draft)};
}

MtpSource::MtpSource(Engine& engine, DraftWidth width)
    : engine_(engine),
      width_(std::move(width)),
      sequence_(engine.make_sequence(engine.model().max_positions())) {}

std::optional<std::vector<TokenIds>> MtpSource::propose(TokenSpan tokens,
                                                        std::span<const TokenIds> /*drafts*/,
                                                        const GenerationConfig& config,
                                                        const DraftRoom& room) {
  width_.learn(std::exchange(last_, {}), tokens);
  const int64_t num_read = std::ssize(tokens) - 1;
  if (num_read >= 0 && tokens.front() != first_) {  // then all hidden states are others
    first_ = tokens.front();
    sequence_.truncate(0);
  }
  if (num_read < 1 || !room.has_hidden(num_read)) return std::vector<TokenIds>();
  const int64_t width =
      std::min({width_.best(), room.max_tokens, sequence_.capacity() - num_read + 1});
  if (width_.best() == 0) width_.record(0, 0);
  if (width < 1) return std::vector<TokenIds>();
  sequence_.replace(tokens.subspan(1));
  at::Tensor given_PE = room.sequence->hidden_SE().narrow(0, sequence_.num_cached(),
                                                          num_read - sequence_.num_cached());
  const auto run = [&] {
    return engine_.run({.sequence = &sequence_,
                        .given_PE = given_PE,
                        .priority = config.priority,
                        .should_stop = config.should_stop});
  };
  const auto append = [&](TokenId next) {
    given_PE = sequence_.hidden_SE().narrow(0, sequence_.size() - 1, 1).clone();
    sequence_.append(TokenIds{next});
  };
  auto drafts = guess_one_by_one(tokens, width, config, room, run, append, last_);
  sequence_.truncate(num_read);  // its own hidden states stand in for the model's no longer
  return drafts;
}

}  // namespace predgen
