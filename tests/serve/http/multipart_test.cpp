#include <gtest/gtest.h>

#include "serve/api_error.h"
#include "serve/http/http.h"

namespace predgen::serve {
namespace {

const std::string kType = "multipart/form-data; boundary=xyz";

TEST(Multipart, FieldsHaveNamesAndContents) {
  const std::string body =
      "--xyz\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n"
      "--xyz\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a b.wav\"\r\n"
      "Content-Type: audio/wav\r\n\r\nRIFF\r\n\r\n--xy\r\n"
      "--xyz\r\nContent-Disposition: form-data; name=empty\r\n\r\n\r\n--xyz--\r\n";
  const auto fields = parse_form(body, kType);
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields[0].name, "model");
  EXPECT_EQ(fields[0].content, "whisper-1");
  EXPECT_EQ(fields[0].file_name, "");
  EXPECT_EQ(fields[1].name, "file");
  EXPECT_EQ(fields[1].file_name, "a b.wav");
  EXPECT_EQ(fields[1].content, "RIFF\r\n\r\n--xy");
  EXPECT_EQ(fields[2].name, "empty");
  EXPECT_EQ(fields[2].content, "");
}

TEST(Multipart, TheBoundaryIsAnyText) {
  const std::string body =
      "preamble\r\n--a=_b \r\nContent-Disposition: form-data; name=x\r\n\r\n1\r\n--a=_b--";
  for (const char* type : {"Multipart/Form-Data; charset=utf-8; boundary=\"a=_b\"",
                           "multipart/form-data;boundary=a=_b"}) {
    ASSERT_EQ(parse_form(body, type).size(), 1U) << type;
    EXPECT_EQ(parse_form(body, type)[0].content, "1");
  }
  EXPECT_TRUE(parse_form("--xyz--", kType).empty());
}

TEST(Multipart, WhatIsNoFormIsRefused) {
  const std::string whole =
      "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--xyz--\r\n";
  EXPECT_EQ(parse_form(whole, kType).size(), 1U);
  for (size_t length = 0; length < whole.size() - 4; ++length) {
    EXPECT_THROW(parse_form(whole.substr(0, length), kType), ApiError) << length;
  }
  EXPECT_THROW(parse_form(whole, "application/json"), ApiError);
  EXPECT_THROW(parse_form(whole, "multipart/form-data"), ApiError);
  EXPECT_THROW(parse_form("--xyz\r\n\r\n1\r\n--xyz--", kType), ApiError) << "no name";
  std::string many;
  for (int i = 0; i < 101; ++i) many += whole.substr(0, whole.find("--xyz--"));
  EXPECT_THROW(parse_form(many + "--xyz--", kType), ApiError);
}

}  // namespace
}  // namespace predgen::serve
