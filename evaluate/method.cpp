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
      {.name = "cllm",
       .work = speculate,
       .decoder = "jacobi",
       .adapter = true,
       .help = "speculation with the adapter's weights and Jacobi decoding"},
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

Method parse_method(const std::string& name) {
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
  throw UserError("there is no method '{}'; use one of {} (top<k> with any k)", name, names);
}

std::string plain_method(const Method& method) { return method.adapter ? "cllm_ar" : "baseline"; }

}  // namespace predgen
