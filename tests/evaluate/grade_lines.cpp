// What evaluate/eval_turn.h finds in texts: JSON lines {"kind", "text", "right"} on stdin, for each
// [strict, flexible, strictly right, flexibly right] on stdout.
#include <iostream>
#include <string>

#include "core/json.h"
#include "evaluate/eval_turn.h"

int main() {
  using namespace predgen::evaluate;
  using predgen::Json;
  std::string line;
  while (std::getline(std::cin, line)) {
    const Json row = predgen::parse_json(line, "stdin");
    const AnswerKind kind = row.at("kind") == "number" ? AnswerKind::kNumber : AnswerKind::kLetter;
    const auto text = row.at("text").get<std::string>();
    const Grade found = grade({kind, row.at("right").get<std::string>()}, text);
    const auto json = [](const std::optional<std::string>& value) {
      return value ? Json(*value) : Json();
    };
    const auto strict = extract_answer(kind, Extraction::kStrict, text);
    std::cout
        << Json{json(strict), json(found.extracted), found.is_strictly_right, found.is_right}.dump()
        << '\n';
  }
}
