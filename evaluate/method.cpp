#include "evaluate/method.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace predgen::evaluate {
namespace {

Method top_k_method(int64_t k) {
  return {.name = "top" + std::to_string(k),
          .work = InputTimeWork::kSpeculate,
          .verifier = {.name = "topk", .top_k = k}};
}

/// Every name that parse_method() knows, top3 standing for top<k>.
std::vector<Method> known_methods() {
  const auto speculate = InputTimeWork::kSpeculate;
  return {
      {.name = "baseline"},
      {.name = "prefill", .work = InputTimeWork::kPrefill},
      {.name = "greedy", .work = speculate},
      top_k_method(3),
      {.name = "tree", .work = speculate, .preset = {.speculation = {.num_candidates = 8}}},
      {.name = "ngram",
       .work = speculate,
       .preset = {.speculation = {.in_parts = true}, .sources = {"ngram"}}},
      {.name = "draft_model", .work = speculate, .draft_model = true},
      {.name = "branches",
       .work = speculate,
       .preset = {.speculation = find_preset("eager").speculation}},
      {.name = "economy", .work = speculate, .preset = find_preset("economy")},
      {.name = "best", .work = speculate, .preset = find_preset("eager")},
      {.name = "auto", .work = speculate, .preset = find_preset("auto")},
      {.name = "preemptive", .work = InputTimeWork::kPreempt, .sound_ahead = false},
      {.name = "preemptive_tts", .work = InputTimeWork::kPreempt},
      {.name = "reflection", .work = speculate, .verifier = {.name = "reflection"}},
      {.name = "cllm", .work = speculate, .decoder = "jacobi", .adapter = true},
      {.name = "cllm_best",
       .work = speculate,
       .decoder = "jacobi",
       .preset = find_preset("eager"),
       .adapter = true},
      {.name = "cllm_ar", .adapter = true},
      {.name = "cllm_jacobi", .decoder = "jacobi", .adapter = true},
      {.name = "mtp", .adapter = true, .mtp = true},
      {.name = "base_jacobi", .decoder = "jacobi"},
  };
}

/// "top7": 7.
std::optional<int64_t> top_k_of(const std::string& name) {
  int64_t k = 0;
  const char* end = name.data() + name.size();
  if (!name.starts_with("top")) return std::nullopt;
  const auto [stop, error] = std::from_chars(name.data() + 3, end, k);
  if (error != std::errc() || stop != end || k < 1 || k > 1000) return std::nullopt;
  return k;
}

Method parse_first(const std::string& name) {
  std::string names;
  for (const Method& method : known_methods()) {
    if (method.name == name) return method;
    names += (names.empty() ? "" : ", ") + method.name;
  }
  if (const std::optional<int64_t> k = top_k_of(name)) return top_k_method(*k);
  throw UserError("there is no method '{}'; use one of {} (top<k> with any k), alone or with parts",
                  name, names);
}

/// One way to change a method; a method has at most one part in each `place`.
struct Part {
  std::string name, place;
  bool needs_drafts;
  bool (*is_there)(const Method& method);
  void (*add)(Method& method);
};

bool has_verifier(const Method& m) {
  return m.verifier.name != "greedy" || m.name.starts_with("greedy");
}
bool works_ahead(const Method& m) {
  return m.work == InputTimeWork::kSpeculate || m.work == InputTimeWork::kPreempt;
}
bool has_ngram(const Method& m) { return std::ranges::count(m.preset.sources, "ngram") > 0; }
bool has_preset(const Method& m) {
  const SpeculationConfig& speculation = m.preset.speculation;
  return !m.preset.name.empty() || !m.preset.sources.empty() || speculation.num_candidates > 1;
}

void add_tree(Method& m) {
  int64_t& candidates = m.preset.speculation.num_candidates;
  candidates = std::max<int64_t>(candidates, 8);
}
void add_branches(Method& m) { m.preset.speculation = find_preset("eager").speculation; }

const std::vector<Part>& parts() {
  using M = Method&;
  using C = const Method&;
  static const std::vector<Part> list{
      {"reflection", "verifier", true, has_verifier, [](M m) { m.verifier.name = "reflection"; }},
      {"ngram", "n-gram source", false, has_ngram,
       [](M m) {
         m.preset.sources.insert(m.preset.sources.begin(), "ngram");
         m.preset.speculation.in_parts = true;  // as the preset that has it
       }},
      {"past_answers", "source of past answers", false, [](C m) { return m.past_answers; },
       [](M m) { m.past_answers = true; }},
      {"draft_model", "draft model", false, [](C m) { return m.draft_model; },
       [](M m) { m.draft_model = true; }},
      {"tree", "tree", true, [](C m) { return m.preset.speculation.num_candidates > 1; }, add_tree},
      {"branches", "branches", true, [](C m) { return m.preset.speculation.num_branches > 0; },
       add_branches},
      {"jacobi", "Jacobi decoding", false, [](C m) { return m.decoder == "jacobi"; },
       [](M m) { m.decoder = "jacobi"; }},
      {"adapter", "LoRA adapter", false, [](C m) { return m.adapter; },
       [](M m) { m.adapter = true; }},
      {"mtp", "LoRA adapter", false, [](C m) { return m.adapter; },
       [](M m) { m.adapter = m.mtp = true; }},
      {"sound", "sound", false, [](C m) { return m.sound_ahead && works_ahead(m); },
       [](M m) { m.sound_ahead = true; }},
      {"early", "early calls", true, [](C m) { return m.early; }, [](M m) { m.early = true; }},
      {"grammar", "grammar", false, [](C m) { return m.grammar; }, [](M m) { m.grammar = true; }},
      {"split=paper", "split", false, [](C m) { return m.split.has_value(); },
       [](M m) { m.split = SplitMode::kPaper; }},
      {"split=natural", "split", false, [](C m) { return m.split.has_value(); },
       [](M m) { m.split = SplitMode::kNatural; }},
  };
  return list;
}

/// Throws unless the method has room for a part in that place.
void check_room(const Method& method, const std::string& part, const std::string& place, bool taken,
                bool needs_drafts) {
  if (taken) throw UserError("method '{}+{}': there is a {} already", method.name, part, place);
  if (needs_drafts && method.work == InputTimeWork::kPreempt) {
    throw UserError("method '{}+{}': {} begins each answer from scratch, so no draft is verified",
                    method.name, part, method.name);
  }
  if (needs_drafts && method.work != InputTimeWork::kSpeculate) {
    throw UserError("method '{}+{}': {} drafts nothing while the user speaks", method.name, part,
                    method.name);
  }
}

/// The number of a part "rate=600", within [low, high]; `what` says what to give.
double number_of(const Method& method, const std::string& part, double low, double high,
                 const char* what) {
  const char *begin = part.data() + part.find('=') + 1, *end = part.data() + part.size();
  double number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop != end || !(number >= low && number <= high)) {
    throw UserError("method '{}+{}': give {}", method.name, part, what);
  }
  return number;
}

std::string wait_part(double seconds) { return fmt::format("wait={}", seconds); }

/// A name that includes what it is compared with has the number as that name does.
void add_wait(Method& method, const std::string& part) {
  check_room(method, part, "wait", method.end_of_turn_wait.has_value(), false);
  const double wait = number_of(method, part, 0, 10, "a wait of 0 to 10 seconds");
  if (part != wait_part(wait)) {
    throw UserError("method '{}+{}': write it as +{}", method.name, part, wait_part(wait));
  }
  method.end_of_turn_wait = wait;
}

void add_part(Method& method, const std::string& name) {
  if (name == "sound" && !works_ahead(method)) {
    throw UserError("method '{}+sound': {} answers nothing while the user speaks", method.name,
                    method.name);
  }
  const auto part = std::ranges::find(parts(), name, &Part::name);
  if (part != parts().end()) {
    check_room(method, name, part->place, part->is_there(method), part->needs_drafts);
    part->add(method);
  } else if (const std::optional<int64_t> k = top_k_of(name)) {
    check_room(method, name, "verifier", has_verifier(method), true);
    method.verifier = {.name = "topk", .top_k = *k};
  } else if (name.starts_with("rate=")) {
    check_room(method, name, "rate", method.characters_per_minute > 0, false);
    method.characters_per_minute =
        number_of(method, name, 1, 1e6, "a rate of 1 to 1000000 characters a minute");
  } else if (name.starts_with("wait=")) {
    add_wait(method, name);
  } else if (std::ranges::count(presets(), name, &Preset::name) > 0) {
    check_room(method, name, "preset", has_preset(method), true);
    method.preset = find_preset(name);
  } else {
    std::string names;
    for (const Part& known : parts()) names += '+' + known.name + ", ";
    for (const Preset& preset : presets()) names += '+' + preset.name + ", ";
    throw UserError(
        "method '{}+{}': there is no '+{}'; use {}+top<k>, +rate=<number> or +wait=<seconds>",
        method.name, name, name, names);
  }
  method.name += '+' + name;
}

}  // namespace

Method parse_method(const std::string& name) {
  size_t end = name.find('+');
  Method method = parse_first(name.substr(0, end));
  while (end != std::string::npos) {
    const size_t begin = end + 1;
    end = name.find('+', begin);
    add_part(method, name.substr(begin, end - begin));
  }
  return method;
}

std::string plain_method(const Method& method) {
  std::string name = method.adapter && !method.mtp ? "cllm_ar" : "baseline";
  if (method.grammar) name += "+grammar";
  return name + (method.end_of_turn_wait ? '+' + wait_part(*method.end_of_turn_wait) : "");
}

std::string baseline_method(const Method& method) {
  std::string name = "baseline";
  if (method.split) name += method.split == SplitMode::kPaper ? "+split=paper" : "+split=natural";
  if (method.grammar) name += "+grammar";
  if (method.end_of_turn_wait) name += '+' + wait_part(*method.end_of_turn_wait);
  return name;
}

}  // namespace predgen::evaluate
