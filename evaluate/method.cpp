#include "evaluate/method.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace predgen {
namespace {

Method top_k_method(int64_t k) {
  return {"top" + std::to_string(k),
          InputTimeWork::kSpeculate,
          "topk",
          k,
          "ar",
          false,
          "speculation, a token stays while it is among the k likeliest"};
}

}  // namespace

std::vector<Method> known_methods() {
  return {
      {"baseline", InputTimeWork::kCascade, "greedy", 1, "ar", false,
       "nothing is done while the user speaks"},
      {"prefill", InputTimeWork::kPrefill, "greedy", 1, "ar", false,
       "the prompt is cached as it arrives, no answer"},
      {"greedy", InputTimeWork::kSpeculate, "greedy", 1, "ar", false,
       "speculation with exact verification"},
      top_k_method(3),
      {"cllm", InputTimeWork::kSpeculate, "greedy", 1, "jacobi", true,
       "speculation with the adapter's weights and Jacobi decoding"},
      {"cllm_ar", InputTimeWork::kCascade, "greedy", 1, "ar", true,
       "baseline with the adapter's weights"},
      {"cllm_jacobi", InputTimeWork::kCascade, "greedy", 1, "jacobi", true,
       "Jacobi decoding with the adapter's weights, no speculation"},
      {"base_jacobi", InputTimeWork::kCascade, "greedy", 1, "jacobi", false,
       "Jacobi decoding with the base weights, no speculation"},
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
