#include "runtime/generate/drafting_generator.h"

#include <algorithm>

#include "runtime/generate/choices.h"
#include "runtime/generate/masked_draft.h"
#include "runtime/generate/sequence_pass.h"
#include "runtime/generate/token_tree.h"

namespace predgen {

DraftingGenerator::DraftingGenerator(Engine& engine,
                                     std::vector<std::unique_ptr<DraftSource>> sources,
                                     DraftWidth width, bool refines, std::optional<Masks> masks)
    : engine_(engine),
      sources_(std::move(sources)),
      width_(std::move(width)),
      refines_(refines),
      masks_(std::move(masks)) {}

GenerationResult DraftingGenerator::generate(Sequence& sequence, const Guess& guess,
                                             const GenerationConfig& config,
                                             const TokenCallback& on_tokens) {
  GenerationResult result;
  TokenIds next(guess.next.begin(), guess.next.end());
  while (has_room(sequence, config, result)) {
    const int64_t left = config.max_new_tokens - result.num_new_tokens;
    const int64_t with_masks = masks_ ? masks_->width.best() : 0;
    const int64_t without = sources_.empty() ? 0 : width_.best();
    const bool has_masks = with_masks > 0;
    const int64_t free = sequence.capacity() - sequence.size();
    const int64_t width = std::min(has_masks ? with_masks : without, free);
    const TokenSpan masks = has_masks ? TokenSpan(masks_->tokens) : TokenSpan();
    // The next pass can check `left` - 2 tokens at most.
    const int64_t num_masks = masks_within(width, std::min(std::ssize(masks), left - 2));
    TokenTree tree;
    const AnswerConstraint::PlacePtr place = place_of(sequence.tokens(), config);
    next.resize(allowed_start(next, config, place).size());
    const std::vector<int64_t> first = tree.add(next, std::min(width - num_masks, left - 1));
    const int64_t room = std::min(width - num_masks * (1 + std::ssize(first)), left - 1);
    for (const auto& source : sources_) {
      if (tree.size() >= room) break;
      const auto paths =
          source->propose(sequence.tokens(), guess.drafts, config, {tree, room, &sequence});
      if (!paths) {
        result.stop_reason = StopReason::kCancelled;
        return result;
      }
      for (const TokenIds& path : *paths) tree.add(allowed_start(path, config, place), room);
    }
    const int64_t num_guessed = tree.size(), guessed_depth = tree.depth();
    const std::vector<int64_t> passed = add_forced(tree, place, free - num_guessed, left - 1);
    const MaskedDraft draft(tree, first, masks.first(static_cast<size_t>(num_masks)),
                            std::min(width - num_guessed, free - tree.size()), passed);
    const std::optional<at::Tensor> logits = run_draft(engine_, sequence, draft.tokens(), config,
                                                       result, draft.sees_DD(), draft.num_masks());
    if (!logits) break;
    const at::Tensor checked = logits->narrow(0, 0, 1 + tree.size());
    const Choices choices(config, checked, sequence.tokens(), tree);
    const std::vector<int64_t> path = choices.follow();
    const TokenIds found = choices.found(path);
    next = draft.guess_behind(path, *logits, choices.place_after(path, found.back()));
    if (next.empty() && refines_ && !config.sampler) next = choices.guess_after(path, first);
    // Forced tokens come after all guesses.
    const int64_t num_right =
        std::ranges::count_if(path, [&](int64_t token) { return token < num_guessed; });
    (has_masks ? masks_->width : width_).record(guessed_depth, num_right);
    if (masks_ && !has_masks) masks_->width.record(0, 0);     // so that they are tried again
    if (draft.sees_DD().defined()) sequence.keep_path(path);  // else it is already in place
    if (!commit_tokens(sequence, found, config, on_tokens, result)) break;
  }
  return result;
}

void DraftingGenerator::prefill(TokenSpan tokens) {
  for (const auto& source : sources_) source->prefill(tokens);
}

}  // namespace predgen
