#include "runtime/generate/drafting_generator.h"

#include <algorithm>

#include "runtime/generate/choices.h"
#include "runtime/generate/sequence_pass.h"
#include "runtime/generate/token_tree.h"

namespace predgen {

DraftingGenerator::DraftingGenerator(Engine& engine,
                                     std::vector<std::unique_ptr<DraftSource>> sources,
                                     DraftWidth width, bool refines)
    : engine_(engine), sources_(std::move(sources)), width_(std::move(width)), refines_(refines) {}

GenerationResult DraftingGenerator::generate(Sequence& sequence, const Guess& guess,
                                             const GenerationConfig& config,
                                             const TokenCallback& on_tokens) {
  GenerationResult result;
  TokenIds next(guess.next.begin(), guess.next.end());
  while (has_room(sequence, config, result)) {
    const int64_t room = std::min({width_.best(), config.max_new_tokens - result.num_new_tokens - 1,
                                   sequence.capacity() - sequence.size()});
    TokenTree tree;
    const std::vector<int64_t> first = tree.add(next, room);
    for (const auto& source : sources_) {
      if (tree.size() >= room) break;
      const auto paths = source->propose(sequence.tokens(), guess.drafts, config, {tree, room});
      if (!paths) {
        result.stop_reason = StopReason::kCancelled;
        return result;
      }
      for (const TokenIds& path : *paths) tree.add(path, room);
    }
    const at::Tensor tree_GG = tree.mask_GG();
    const std::optional<at::Tensor> logits =
        run_draft(engine_, sequence, tree.tokens(), config, result, tree_GG);
    if (!logits) break;
    const Choices choices(config, *logits, sequence.tokens(), tree);
    const std::vector<int64_t> path = choices.follow();
    const TokenIds found = choices.found(path);
    if (!refines_) {
      next.clear();
    } else if (!config.sampler) {
      next = choices.guess_after(path, first);
    }
    width_.record(tree.depth(), std::ssize(path));
    if (tree_GG.defined()) sequence.keep_path(path);  // else it lies where it stays
    if (!commit_tokens(sequence, found, config, on_tokens, result)) break;
  }
  return result;
}

void DraftingGenerator::prefill(TokenSpan tokens) {
  for (const auto& source : sources_) source->prefill(tokens);
}

}  // namespace predgen
