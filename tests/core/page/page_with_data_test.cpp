#include "core/page/page_with_data.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace predgen {
namespace {

TEST(PageWithData, NoTextEndsTheElementThatItStandsIn) {
  const Json data{{"</script>", "<!--<script>"}, {"n", 1.5}};
  const std::string page = page_with_data("<script>@DATA@</script>\n", data);
  EXPECT_EQ(page,
            "<script>{\"\\u003c/script>\":\"\\u003c!--\\u003cscript>\",\"n\":1.5}</script>\n");
  EXPECT_EQ(Json::parse(page.substr(8, page.size() - 18)), data);
}

TEST(PageWithData, FillsAPageOnly) { EXPECT_THROW(page_with_data("<p>", {}), Error); }

}  // namespace
}  // namespace predgen
