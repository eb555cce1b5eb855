#include "runtime/generate/model_source.h"

#include <algorithm>
#include <memory>
#include <string>

#include "core/error.h"
#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/make_generator.h"

namespace predgen {

ModelSource::ModelSource(Engine& engine, int64_t vocab_size, DraftWidth width)
    : engine_(engine),
      generator_(engine),
      num_ids_(std::min(vocab_size, engine.model().vocab_size())),
      width_(std::move(width)),
      sequence_(engine.make_sequence(engine.model().max_positions())) {}

std::optional<std::vector<TokenIds>> ModelSource::propose(TokenSpan tokens,
                                                          std::span<const TokenIds> /*drafts*/,
                                                          const GenerationConfig& config,
                                                          const DraftRoom& room) {
  learn(tokens);
  const int64_t width = std::min(width_.best(), room.max_tokens);
  if (width == 0) width_.record(0, 0);
  if (width == 0 || !knows(tokens)) return std::vector<TokenIds>();
  sequence_.replace(tokens);
  draft_begin_ = sequence_.size();
  GenerationConfig own = config;
  own.max_new_tokens = width;
  const auto drafted = [&] { return sequence_.tokens().subspan(tokens.size()); };
  bool full = false;
  try {
    const GenerationResult result = generator_.generate(sequence_, {}, own, [&](TokenSpan) {
      full = std::ssize(drafted()) - room.tree.num_known(drafted()) >= room.left();
      return !full && !(config.should_stop && config.should_stop());
    });
    if (result.stop_reason == StopReason::kCancelled && !full) return std::nullopt;
  } catch (const DeadEnd&) {  // the answer need not come to it
  }
  // A pass with forced tokens may find more than there is room for.
  const int64_t longest = room.tree.num_known(drafted()) + room.left();
  const TokenSpan draft = drafted().first(std::min(drafted().size(), static_cast<size_t>(longest)));
  TokenIds path(draft.begin(),
                std::ranges::find_if(draft, [&](TokenId id) { return id >= num_ids_; }));
  return path.empty() ? std::vector<TokenIds>() : std::vector<TokenIds>{std::move(path)};
}

void ModelSource::prefill(TokenSpan tokens) {
  if (width_.best() == 0 || tokens.empty() || std::ssize(tokens) > sequence_.capacity() ||
      !knows(tokens)) {
    return;
  }
  sequence_.replace(tokens);
  draft_begin_ = sequence_.size();
  engine_.run({.sequence = &sequence_});
}

bool ModelSource::knows(TokenSpan tokens) const {
  return std::ranges::all_of(tokens, [&](TokenId id) { return id < num_ids_; });
}

void ModelSource::learn(TokenSpan tokens) {
  const TokenSpan drafted = sequence_.tokens();
  const int64_t right = std::ranges::mismatch(drafted, tokens).in1 - drafted.begin() - draft_begin_;
  const int64_t checked = std::min(std::ssize(drafted), std::ssize(tokens)) - draft_begin_;
  if (right >= 0 && checked > 0) width_.record(checked, right);  // else it belongs to another text
  draft_begin_ = sequence_.size();
}

namespace {

/// UserError unless the tokenizers of both give the same ids. `tokenizer`: of `model`.
void check_same_tokenizer(const Tokenizer& tokenizer, const Checkpoint& model,
                          const Checkpoint& draft) {
  if (draft.read_config().assistant) return;  // Transformer::guess_for() checks
  const std::unique_ptr<Tokenizer> other = load_tokenizer(draft.read_tokenizer({}));
  bool same = tokenizer.vocab_size() == other->vocab_size();
  for (TokenId id = 0; same && id < tokenizer.vocab_size(); ++id) {
    const auto piece = [id](const Tokenizer& of) {
      try {
        return of.decode_next(TokenSpan(&id, 1), /*keep_special=*/true);
      } catch (const UserError&) {
        return std::string();  // a gap in the ids
      }
    };
    same = piece(tokenizer) == piece(*other);
  }
  if (!same) {
    throw UserError("the draft model {} has another tokenizer than {}: choose one of its family",
                    draft.name(), model.name());
  }
}

}  // namespace

std::unique_ptr<const Checkpoint> open_draft_model(const std::string& draft_model,
                                                   const Checkpoint& model,
                                                   const Tokenizer* tokenizer) {
  if (draft_model.empty() || draft_model == kOwnLayer) return nullptr;
  std::unique_ptr<const Checkpoint> draft = open_checkpoint(draft_model);
  if (tokenizer) check_same_tokenizer(*tokenizer, model, *draft);
  return draft;
}

}  // namespace predgen
