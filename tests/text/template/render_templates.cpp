// Renders templates for jinja_parity.py. Each line of the input is an object with "template" and
// "variables", and "ms" if it may take another time than usual; each line of the output has "text",
// or "error" and its kind, and how long it took. With "tokens", those of the vocabulary that are
// special, instead of "variables" it has "calls".
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "core/json.h"
#include "text/template/chat_template.h"
#include "text/template/jinja_template.h"

namespace {

predgen::Json failed(const char* kind, const std::exception& error) {
  return {{"error", error.what()}, {"kind", kind}};
}

predgen::Json rendered(const predgen::Json& one, const std::tm& now) {
  try {
    predgen::jinja::Budget budget({.time = std::chrono::milliseconds(one.value("ms", 1000))});
    const predgen::JinjaTemplate jinja(one.at("template").get<std::string>(), "here");
    return {{"text", jinja.render(one.at("variables"), now, budget)}};
  } catch (const predgen::TemplateRaised& error) {
    return failed("raised", error);
  } catch (const predgen::TemplateTooCostly& error) {
    return failed("costly", error);
  } catch (const predgen::UserError& error) {
    return failed("refused", error);
  }
}

/// The form in which a chat template shows calls.
predgen::Json form_of_calls(const predgen::Json& one, const std::tm& now) {
  constexpr const char* kNames[] = {"none",    "hermes", "xml",    "llama",
                                    "mistral", "gemma",  "python", "harmony"};
  std::vector<predgen::AddedToken> tokens;
  for (const predgen::Json& token : one.at("tokens")) {
    tokens.push_back({.id = static_cast<predgen::TokenId>(tokens.size()),
                      .content = token.get<std::string>(),
                      .special = true});
  }
  try {
    const predgen::ChatTemplate chat(
        {.jinja = one.at("template").get<std::string>(),
         .where = "here",
         .special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}},
         .today = now},
        tokens);
    return {{"calls", kNames[static_cast<size_t>(chat.tool_format())]}};
  } catch (const predgen::UserError& error) {
    return failed("refused", error);
  }
}

}  // namespace

int main() {
  std::tm now{};
  const std::time_t time = std::time(nullptr);
  localtime_r(&time, &now);
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = std::chrono::steady_clock::now();
    const predgen::Json one = predgen::parse_json(line, "the input");
    predgen::Json result = one.contains("variables") ? rendered(one, now) : form_of_calls(one, now);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    result["seconds"] = seconds.count();
    std::cout << predgen::to_text(result) << std::endl;
  }
}
