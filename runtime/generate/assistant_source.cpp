#include "runtime/generate/assistant_source.h"

#include <algorithm>
#include <utility>

#include "runtime/generate/mtp_source.h"

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
  const auto place = [&](TokenId token) {
    sequence_.truncate(0);
    sequence_.append(TokenSpan(&token, 1));
  };
  place(tokens.back());
  const auto run = [&] {
    return engine_.run({.sequence = &sequence_,
                        .given_PE = given_1E,
                        .read = &rows,
                        .priority = config.priority,
                        .should_stop = config.should_stop});
  };
  const auto append = [&](TokenId next) {
    given_1E = sequence_.hidden_SE().clone();
    place(next);
  };
  return guess_one_by_one(tokens, width, config, room, run, append, last_);
}

}  // namespace predgen
