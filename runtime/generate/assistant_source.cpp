#include "runtime/generate/assistant_source.h"

#include <algorithm>
#include <utility>

#include "runtime/generate/choices.h"

namespace predgen {

AssistantSource::AssistantSource(Engine& engine, DraftWidth width)
    : engine_(engine), width_(std::move(width)), sequence_(engine.make_sequence(1)) {}

std::optional<std::vector<TokenIds>> AssistantSource::propose(TokenSpan tokens,
                                                              std::span<const TokenIds> /*drafts*/,
                                                              const GenerationConfig& config,
                                                              const DraftRoom& room) {
  width_.learn(std::exchange(last_, {}), tokens);
  const int64_t num_read = std::ssize(tokens) - 1;
  const bool is_read =
      num_read >= 1 && room.has_hidden(num_read) && room.sequence->num_cached() >= num_read;
  const int64_t width = std::min(width_.best(), room.max_tokens);
  if (width_.best() == 0) width_.record(0, 0);
  if (!is_read || width < 1) return std::vector<TokenIds>();
  const RowsOfAnother rows =
      room.sequence->rows_for_another(engine_.pool().layout().read_layers, num_read);
  at::Tensor given_1E = room.sequence->hidden_SE().narrow(0, num_read - 1, 1);
  TokenIds text(tokens.begin(), tokens.end()), draft;
  const TokenTree none;
  while (std::ssize(draft) < width) {
    sequence_.truncate(0);
    sequence_.append(TokenSpan(&text.back(), 1));
    const EngineResult pass = engine_.run({.sequence = &sequence_,
                                           .given_PE = given_1E,
                                           .read = &rows,
                                           .priority = config.priority,
                                           .should_stop = config.should_stop});
    if (!pass.logits) return std::nullopt;
    const TokenId next = Choices(config, *pass.logits, text, none).after({});
    if (next == kNoToken) break;
    draft.push_back(next);
    text.push_back(next);
    const bool is_full = std::ssize(draft) - room.tree.num_known(draft) >= room.left();
    if (is_full || is_stop_token(config.stop_tokens, next)) break;
    given_1E = sequence_.hidden_SE().clone();
  }
  last_ = {TokenIds(tokens.begin(), tokens.end()), draft};
  if (draft.empty()) return std::vector<TokenIds>();
  return std::vector<TokenIds>{std::move(draft)};
}

}  // namespace predgen
