#include "hear/onnx/onnx_session.h"

#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/onnx_file.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

using testing::ElementsAre;

constexpr auto kFloat = OnnxFile::Type::kFloat, kInt64 = OnnxFile::Type::kInt64;

struct OnnxSessionTest : testing::Test {
  void SetUp() override {
    if (!OnnxRuntime::is_there()) GTEST_SKIP() << "there is no ONNX Runtime (PREDGEN_SPEECH=OFF)";
  }

  /// twice = x + x, count = y as float32.
  static std::string small_network() {
    OnnxFile file;
    file.add_input("x", kFloat);
    file.add_input("y", kInt64);
    file.add_node("Add", {"x", "x"}, "twice");
    file.add_node("Cast", {"y"}, "count", OnnxFile::integer_attribute("to", 1));
    file.add_output("twice", kFloat);
    file.add_output("count", kFloat);
    return file.contents();
  }

  std::filesystem::path write(const std::string& contents) const {
    write_file(folder / "network.onnx", contents);
    return folder / "network.onnx";
  }

  static std::vector<float> values_of(const OnnxOutput& output) {
    return {output.values.begin(), output.values.end()};
  }
  static OnnxInput x(std::span<const float> values) {
    return {.name = "x", .shape = {std::ssize(values)}, .floats = values};
  }
  static OnnxInput y(std::span<const int64_t> values) {
    return {.name = "y", .shape = {std::ssize(values)}, .integers = values};
  }

  const std::array<float, 2> two{1.5F, -2.0F};
  const std::array<int64_t, 1> seven{7};
  TemporaryFolder folder;
};

TEST_F(OnnxSessionTest, RunsANetworkOverFloatsAndIntegers) {
  const OnnxSession session(write(small_network()));
  EXPECT_THAT(session.inputs(), ElementsAre("x", "y"));
  EXPECT_THAT(session.outputs(), ElementsAre("twice", "count"));
  const auto outputs = session.run({x(two), y(seven)}, {"count", "twice"}, {});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_THAT(outputs[0].shape, ElementsAre(1));
  EXPECT_THAT(values_of(outputs[0]), ElementsAre(7));
  EXPECT_THAT(outputs[1].shape, ElementsAre(2));
  EXPECT_THAT(values_of(outputs[1]), ElementsAre(3, -4));
}

TEST_F(OnnxSessionTest, OutputsAreSoundAfterItsEnd) {
  OnnxOutput twice;
  {
    const OnnxSession session(write(small_network()));
    twice = session.run({x(two), y(seven)}, {"twice"}, {}).front();
  }
  EXPECT_THAT(values_of(twice), ElementsAre(3, -4));
}

TEST_F(OnnxSessionTest, ThreadsShareASession) {
  for (const OnnxSessionOptions& options :
       {OnnxSessionOptions{}, OnnxSessionOptions{.threads = 3},
        OnnxSessionOptions{.threads = 2, .spins = true, .keeps_plans = true}}) {
    const OnnxSession session(write(small_network()), options);
    std::vector<int> wrong(4);
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < wrong.size(); ++i) {
        threads.emplace_back([&, i] {
          for (size_t k = 1; k <= 200; ++k) {
            const std::vector<float> ones(k, static_cast<float>(i));
            const auto outputs = session.run({x(ones), y(seven)}, {"twice"}, {});
            const std::vector<float> expected(k, 2 * static_cast<float>(i));
            if (values_of(outputs.front()) != expected) ++wrong[i];
          }
        });
      }
    }
    EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
  }
}

TEST_F(OnnxSessionTest, InputsThatTheNetworkCannotTakeAreErrors) {
  const OnnxSession session(write(small_network()));
  OnnxInput integers = y(seven), other = x(two), short_one = x(two);
  integers.name = "x";
  other.name = "z";
  short_one.shape = {3};
  const auto run = [&](const OnnxInput& first, const char* output) {
    return session.run({first, y(seven)}, {output}, {}).size();
  };
  EXPECT_THROW(run(integers, "twice"), Error);   // another type
  EXPECT_THROW(run(other, "twice"), Error);      // another name
  EXPECT_THROW(run(short_one, "twice"), Error);  // fewer values than its shape has
  EXPECT_THROW(run(x(two), "thrice"), Error);    // no such output
  EXPECT_EQ(run(x(two), "twice"), 1U);           // and it goes on
}

TEST_F(OnnxSessionTest, OutputsThatAreNotFloatsAreErrors) {
  OnnxFile file;
  file.add_input("y", kInt64);
  file.add_node("Add", {"y", "y"}, "twice");
  file.add_output("twice", kInt64);
  const OnnxSession session(write(file.contents()));
  EXPECT_THROW(session.run({y(seven)}, {"twice"}, {}), Error);
}

TEST_F(OnnxSessionTest, APassThatIsStoppedSaysSo) {
  const OnnxSession session(write(small_network()));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(session.run({x(two), y(seven)}, {"twice"}, stop.get_token()), Interrupted);
  EXPECT_EQ(session.run({x(two), y(seven)}, {"twice"}, {}).size(), 1U);
}

TEST_F(OnnxSessionTest, FilesThatCannotBeUsedAreUserErrorsOfALine) {
  const auto open = [](const std::filesystem::path& file) {
    return [file] { OnnxSession session(file); };
  };
  expect_user_error(open("/nowhere.onnx"), {"/nowhere.onnx: no such file"});
  expect_user_error(open(folder.path()), {"no such file"});
  const std::string whole = small_network();
  expect_user_error(open(write(whole.substr(0, whole.size() / 2))), {"network.onnx", "fetch"});
  expect_user_error(open(write("")), {"network.onnx", "fetch"});
  OnnxFile unknown;
  unknown.add_input("x", kFloat);
  unknown.add_node("Telepathy", {"x"}, "thought");
  unknown.add_output("thought", kFloat);
  expect_user_error(open(write(unknown.contents())), {"network.onnx", "Telepathy"});
  expect_user_error([&] { OnnxSession session(write(whole), {.threads = 0}); }, {"threads", "0"});
}

TEST_F(OnnxSessionTest, GraphsOfAnotherKindAreNamed) {
  const OnnxSession session(write(small_network()));
  check_graph(session, {"x"}, {"twice"}, "sums");
  expect_user_error(
      [&] {
        check_graph(session, {"x", "z"}, {}, "sums");
      },
      {"network.onnx: is no network of sums: it has no input 'z'"});
  expect_user_error([&] { check_graph(session, {}, {"x"}, "sums"); }, {"no output 'x'"});
}

TEST_F(OnnxSessionTest, LibrariesThatAreNoOnnxRuntimeAreUserErrors) {
  EXPECT_NE(OnnxRuntime::open()->env(), nullptr);
  expect_user_error([] { OnnxRuntime::open("/nowhere.so"); }, {"/nowhere.so", "setup.sh"});
  expect_user_error([] { OnnxRuntime::open("libm.so.6"); }, {"libm.so.6: is no ONNX Runtime"});
}

}  // namespace
}  // namespace predgen
