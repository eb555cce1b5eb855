#include "evaluate/method.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace predgen {
namespace {

Method top_k_method(int64_t k) {
  return {.name = "top" + std::to_string(k),
          .work = InputTimeWork::kSpeculate,
          .verifier = {.name = "topk", .top_k = k},
          .help = "speculation, a token stays while it is among the k likeliest"};
}

}  // namespace

std::vector<Method> known_methods() {
  const auto speculate = InputTimeWork::kSpeculate;
  return {
      {.name = "baseline", .help = "nothing is done while the user speaks"},
      {.name = "prefill",
       .work = InputTimeWork::kPrefill,
       .help = "the prompt is cached as it arrives, no answer"},
      {.name = "greedy", .work = speculate, .help = "speculation with exact verification"},
      top_k_method(3),
      {.name = "tree",
       .work = speculate,
       .preset = {.speculation = {.num_candidates = 8}},
       .help = "greedy, which also verifies earlier drafts of the turn"},
      {.name = "ngram",
       .work = speculate,
       .preset = {.sources = {"ngram"}},
       .help = "greedy, drafting from earlier drafts and the conversation"},
      {.name = "draft_model",
       .work = speculate,
       .draft_model = true,
       .help = "greedy, for which a smaller model drafts"},
      {.name = "branches",
       .work = speculate,
       .preset = {.speculation = find_preset("eager").speculation},
       .help = "tree, with other answers prepared in idle time"},
      {.name = "next_words",
       .work = speculate,
       .preset = {.speculation = {.num_candidates = 8, .next_words = 8}},
       .help = "tree, with the answer to the words that the model expects next, in idle time"},
      {.name = "economy",
       .work = speculate,
       .preset = find_preset("economy"),
       .help = "tree and ngram, drafts that grow slowly: fewer passes while the user speaks"},
      {.name = "best",
       .work = speculate,
       .preset = find_preset("eager"),
       .help = "branches and ngram: the fewest passes after the user's last word"},
      {.name = "reflection",
       .work = speculate,
       .verifier = {.name = "reflection"},
       .help = "speculation, the first sentence stays if the model judges that it still fits"},
      {.name = "reflection_judge",
       .work = speculate,
       .verifier = {.name = "reflection"},
       .judge = true,
       .help = "reflection, judged by the base weights with the judge's adapter"},
      {.name = "cllm",
       .work = speculate,
       .decoder = "jacobi",
       .adapter = true,
       .help = "speculation with the adapter's weights and Jacobi decoding"},
      {.name = "cllm_best",
       .work = speculate,
       .decoder = "jacobi",
       .preset = find_preset("eager"),
       .adapter = true,
       .help = "best with the adapter's weights and Jacobi decoding"},
      {.name = "cllm_ar", .adapter = true, .help = "baseline with the adapter's weights"},
      {.name = "cllm_jacobi",
       .decoder = "jacobi",
       .adapter = true,
       .help = "Jacobi decoding with the adapter's weights, no speculation"},
      {.name = "base_jacobi",
       .decoder = "jacobi",
       .help = "Jacobi decoding with the base weights, no speculation"},
  };
}

namespace {

Method parse_first(const std::string& name) {
  std::string names;
  for (const Method& method : known_methods()) {
    if (method.name == name) return method;
    names += (names.empty() ? "" : ", ") + method.name;
  }
  if (name.starts_with("top")) {
    int64_t k = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + 3, end, k);
    if (error == std::errc() && stop == end && k >= 1 && k <= 1000) return top_k_method(k);
  }
  throw UserError(
      "there is no method '{}'; use one of {} (top<k> with any k), alone or "
      "with +jacobi, +adapter, +draft_model, +economy, +eager or +paper",
      name, names);
}

}  // namespace

Method parse_method(const std::string& name) {
  size_t end = name.find('+');
  Method method = parse_first(name.substr(0, end));
  while (end != std::string::npos) {
    const size_t begin = end + 1;
    end = name.find('+', begin);
    const std::string part = name.substr(begin, end - begin);
    if (part == "jacobi") {
      method.decoder = "jacobi";
    } else if (part == "adapter") {
      method.adapter = true;
    } else if (part == "draft_model") {
      method.draft_model = true;
    } else {
      method.preset = find_preset(part);
    }
  }
  method.name = name;
  return method;
}

std::string plain_method(const Method& method) { return method.adapter ? "cllm_ar" : "baseline"; }

}  // namespace predgen
