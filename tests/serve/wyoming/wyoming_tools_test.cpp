#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <semaphore>

#include "tests/fakes/fake_tools.h"
#include "tests/serve/wyoming/visit.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A server whose own tools are a lamp.
struct SpokenLampHouse : House {
  SpokenLampHouse() {
    host.tools = &own;
    tools.offered.front().parameters = Json::parse(
        R"({"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]})");
    host.session.turn.max_new_tokens = 200;
    answer = [](const std::string& user) -> std::string {
      if (const size_t end = user.find('>'); end != std::string::npos) {
        return "It says " + user.substr(end + 1) + ".";
      }
      if (user.find("one") != std::string::npos) return "You said one.";
      return R"(Yes. <tool_call>{"name": "lamp", "arguments": {"room": ")" + user +
             "\"}}</tool_call>";
    };
  }
  FakeTools tools;
  OwnTools own{.runner = tools};
};

TEST(WyomingTools, AreCalledByAnAnswerOnce) {
  SpokenLampHouse house;
  Service service(house);
  Visit visit(service);
  visit.say("red", "c");
  EXPECT_EQ(visit.answer(), "Yes. It says on.");
  EXPECT_THAT(house.tools.calls, ElementsAre(R"(lamp {"room":"red"})"));
  Visit later(service);
  later.say("one", "c");
  EXPECT_EQ(later.answer(), "You said one.");
  EXPECT_THAT(house.last_prompt(), HasSubstr(R"("arguments": {"room":"red"})"))
      << "the conversation knows its calls";
  EXPECT_EQ(house.tools.calls.size(), 1u);
  EXPECT_THAT(house.metrics.text({}), HasSubstr(R"(outcome="done"} 1)"));
}

/// Words that may still change act on nothing.
TEST(WyomingTools, WaitForTheLastWord) {
  SpokenLampHouse house;
  Service service(house);
  Visit visit(service);
  visit.send("transcript-start");
  visit.send("transcript-chunk", {{"text", "red"}});
  settle(house, "<tool_call>");
  visit.send("transcript", {{"text", "one"}});
  EXPECT_EQ(visit.answer(), "You said one.");
  EXPECT_TRUE(house.tools.calls.empty());
}

TEST(WyomingTools, ACallThatIsLeftIsCancelledAndNotMadeAgain) {
  SpokenLampHouse house;
  std::binary_semaphore is_running{0};
  house.tools.answer = [&](const std::string&, const std::stop_token& stop, const auto&) {
    is_running.release();
    while (!stop.stop_requested()) take(std::chrono::milliseconds(1));
    return act::ToolResult{act::ToolResult::Status::kCancelled, "Cancelled."};
  };
  Service service(house);
  {
    Visit visit(service);
    visit.say("red", "c");
    is_running.acquire();
  }
  Visit later(service);
  later.say("one", "c");
  EXPECT_EQ(later.answer(), "You said one.");
  EXPECT_EQ(house.tools.calls.size(), 1u);
}

TEST(WyomingTools, NobodySaysThatAFailedCallWorked) {
  SpokenLampHouse house;
  house.tools.answer = [](const std::string&, const std::stop_token&, const auto&) {
    return act::ToolResult{act::ToolResult::Status::kTimedOut, "Error: late",
                           /*may_have_happened=*/true};
  };
  Service service(house);
  Visit visit(service);
  visit.say("red", "c");
  EXPECT_EQ(visit.answer(), "Yes. Sorry, I got no answer, so I do not know whether that was done.");
  EXPECT_EQ(house.tools.calls.size(), 1u);
}

/// The lamp of the second one is there first.
TEST(WyomingTools, TwoWhoSpeakAtOnceAreNotMixedUp) {
  SpokenLampHouse house;
  std::binary_semaphore is_red_running{0}, is_blue_done{0};
  house.tools.answer = [&](const std::string& arguments, const std::stop_token&, const auto&) {
    const bool is_red = arguments.find("red") != std::string::npos;
    if (is_red) {
      is_red_running.release();
      is_blue_done.acquire();
    }
    return act::ToolResult{act::ToolResult::Status::kDone, is_red ? "rot" : "blau"};
  };
  Service service(house);
  Visit red(service, "kitchen"), blue(service, "bath");
  red.say("red", "r");
  is_red_running.acquire();
  blue.say("blue", "b");
  EXPECT_EQ(blue.answer(), "Yes. It says blau.");
  is_blue_done.release();
  EXPECT_EQ(red.answer(), "Yes. It says rot.");
  EXPECT_THAT(house.tools.calls, ElementsAre(R"(lamp {"room":"red"})", R"(lamp {"room":"blue"})"));
}

TEST(WyomingTools, TheServersPromptIsTheSystemPrompts) {
  SpokenLampHouse house;
  house.tools.home = "There is a lamp.";
  house.host.session.system_prompt = "Be brief.";
  Service service(house);
  Visit visit(service);
  visit.say("one", "c");
  EXPECT_EQ(visit.answer(), "You said one.");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<system>Be brief.\n\nThere is a lamp.<end>"));
  house.tools.home = "There is none.";
  Visit later(service);
  later.say("one", "c");
  EXPECT_EQ(later.answer(), "You said one.");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<system>Be brief.\n\nThere is none.<end>"));
}

TEST(WyomingTools, AreToldHomeAssistant) {
  SpokenLampHouse house;
  Service service(house);
  service.host.offer.has_tools = true;
  Visit visit(service);
  visit.send("describe");
  EXPECT_EQ(visit.client.next().data["handle"][0]["supports_home_control"], true);
}

}  // namespace
}  // namespace predgen::serve
