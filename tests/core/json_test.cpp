#include "core/json.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"

namespace predgen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <typename Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Json, KeepsTheOrderOfKeys) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": 2})", "x").dump(), R"({"b":1,"a":2})");
}

TEST(Json, SyntaxErrorsNameThePlace) {
  for (const char* bad : {"", "{", "{\"a\": }", "[1,]", "nul", "{} {}", "\"\xff\""}) {
    EXPECT_THAT(error_of([&] { parse_json(bad, "rows.jsonl:3"); }),
                AllOf(HasSubstr("rows.jsonl:3: not valid JSON"), testing::Not(HasSubstr("\n"))))
        << bad;
  }
}

TEST(Json, ErrorsAreWithoutTheLibrarysNames) {
  EXPECT_THAT(error_of([&] { parse_json("{\n", "x.json"); }),
              testing::StartsWith("x.json: not valid JSON: line 2, column 1: "));
  const Json object{{"role", 3}};
  EXPECT_EQ(error_of([&] { json_get<std::string>(object, "role", "x.json"); }),
            "x.json: \"role\" must be string, but is number");
}

TEST(Json, TextThatIsNotWellFormedIsReplaced) {
  const Json json{{"output", "runs/\xff"}, {"n", {1, 2}}};
  EXPECT_EQ(to_text(json), "{\"output\":\"runs/\uFFFD\",\"n\":[1,2]}");
  EXPECT_EQ(to_text(Json{{"n", 1}}, 2), "{\n  \"n\": 1\n}");
  EXPECT_EQ(to_text(Json("caf\u00e9 \"")), "\"caf\u00e9 \\\"\"");
}

TEST(Json, HalvesOfSurrogatePairsAreReplaced) {
  const auto read = [](const std::string& text) {
    return parse_json(with_whole_surrogates(text), "x")[0].get<std::string>();
  };
  EXPECT_EQ(read(R"(["\ud83d\ude00"])"), "\U0001F600");
  EXPECT_EQ(read(R"(["a\ud83d"])"), "a\ufffd");
  EXPECT_EQ(read(R"(["\ude00\uD83D!"])"), "\ufffd\ufffd!");
  EXPECT_EQ(read(R"(["\ud83d\ud83d\ude00"])"), "\ufffd\U0001F600");
  EXPECT_EQ(read(R"(["\\ud83d\u00e9"])"), "\\ud83d\u00e9");
  for (const char* same : {"", "\\", "\\u", "\\ud83", "[1]"}) {
    EXPECT_EQ(with_whole_surrogates(same), same);
  }
}

TEST(Json, ReadsFiles) {
  const std::string file = testing::TempDir() + "predgen_json_test.json";
  write_file(file, "{\"a\": [1, 2]}");
  EXPECT_EQ(read_json(file).at("a").at(1), 2);
  write_file(file, "{\"a\": [1, 2}");
  EXPECT_THAT(error_of([&] { read_json(file); }), HasSubstr(file));
  EXPECT_THROW(read_json(file + ".absent"), UserError);
}

TEST(Json, RefusesDeepNesting) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(parse_json(nested(200), "x.json"));
  EXPECT_THAT(error_of([&] { parse_json(nested(201), "x.json"); }),
              HasSubstr("x.json: JSON nested"));
  EXPECT_THROW(parse_json(std::string(1'000'000, '['), "x.json"), UserError);
  const std::string in_text = "\"\\\"" + std::string(500, '[') + "\"";  // brackets of a string
  EXPECT_NO_THROW(parse_json(in_text, "x.json"));
}

TEST(Json, RefusesObjectsWhoseKeysWouldTakeLongToFind) {
  const auto object = [](int keys) {
    std::string text = "{";
    for (int i = 0; i < keys; ++i) text += fmt::format("{}\"{}:\": 0", i ? "," : "", i);
    return text + "}";
  };
  const auto listed = [](const std::string& text, int times) {
    std::string list = "[" + text;
    for (int i = 1; i < times; ++i) list += "," + text;
    return list + "]";
  };
  const auto error = [](const std::string& text) {
    return error_of([&] { parse_client_json(text, "the body"); });
  };
  EXPECT_EQ(error(object(1000)), "");
  EXPECT_EQ(parse_json(object(1001), "a file").size(), 1001u);
  EXPECT_THAT(error(object(1001)),
              AllOf(HasSubstr("the body: "), HasSubstr("more than 1000 keys"), HasSubstr("byte ")));
  EXPECT_THAT(error(listed(object(1001), 2)), HasSubstr("more than 1000 keys"));
  EXPECT_EQ(error(listed(listed(object(999), 2), 50)), "");
  EXPECT_THAT(error(listed(object(1000), 101)), HasSubstr("more than 100000 keys"));
  EXPECT_EQ(error(R"({"a": "{\"b\": 1, :::", "c": [":", {"d": 1}]})"), "");
}

TEST(Json, SyntaxErrorsDoNotRepeatWhatIsLong) {
  EXPECT_LT(error_of([] { parse_json("[" + std::string(100'000, 'x'), "x"); }).size(), 400u);
  EXPECT_LT(error_of([] { parse_json("\"" + std::string(100'000, 'x'), "x"); }).size(), 400u);
}

TEST(Json, GetNamesTheKey) {
  const Json object = parse_json(R"({"n": 3, "text": "x"})", "x");
  EXPECT_EQ(json_get<int>(object, "n", "config.json"), 3);
  EXPECT_EQ(json_get<std::string>(object, "text", "config.json"), "x");
  EXPECT_EQ(error_of([&] { json_get<int>(object, "m", "config.json"); }),
            "config.json: \"m\" is missing");
  EXPECT_THAT(error_of([&] { json_get<int>(object, "text", "config.json"); }),
              HasSubstr("config.json: \"text\""));
  EXPECT_THAT(error_of([&] { json_get<std::string>(object, "n", "config.json"); }),
              HasSubstr("config.json: \"n\""));
  EXPECT_THAT(error_of([&] { json_get<int>(Json::array(), "n", "config.json"); }),
              HasSubstr("config.json: \"n\""));
}

}  // namespace
}  // namespace predgen
