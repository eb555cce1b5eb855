#include "hear/asr/heard_text.h"

#include <gtest/gtest.h>

#include "hear/asr/ear.h"

namespace predgen::ears {
namespace {

constexpr int64_t kKnock = kRate / 5, kLong = 2 * kRate;

TEST(Inventions, CreditsOfSubtitlesAreNeverBelieved) {
  for (const char* text : {"Subtitles by the Amara.org community",
                           "Untertitel der Amara.org-Community",
                           "Untertitelung des ZDF, 2020",
                           "Untertitel von Stephanie Geiges",
                           "Sous-titres réalisés para la communauté d'Amara.org",
                           "Sous-titrage ST' 501",
                           "Subtítulos por la comunidad de Amara.org",
                           "Subtitulado por Jnkoil",
                           "Legendas pela comunidade Amara.org",
                           "Transcrição e Legendas pela comunidade de Amara.org",
                           "Sottotitoli creati dalla comunità Amara.org",
                           "Ondertitels ingediend door de Amara.org gemeenschap",
                           "Napisy stworzone przez społeczność Amara.org",
                           "Субтитры сделал DimaTorzok",
                           "Редактор субтитров А.Синецкая Корректор А.Егорова",
                           "字幕由Amara.org社区提供",
                           "小編字幕由Amara.org社區提供",
                           "字幕志愿者 杨茜茜",
                           "字幕by索兰娅",
                           "한글자막 by 한효정",
                           "ترجمة نانسي قنقر",
                           "Altyazı M.K.",
                           "Transcription by CastingWords"}) {
    EXPECT_EQ(believable_text(text, kKnock), "") << text;
    EXPECT_EQ(believable_text(text, kLong), "") << text;
  }
}

TEST(Inventions, TheEndOfAVideoTakesASecond) {
  for (const char* text : {"Thanks for watching!",
                           "Don't forget to like and subscribe.",
                           "谢谢观看",
                           "感谢您的观看。",
                           "देखने के लिए धन्यवाद।",
                           "चैनल को सब्सक्राइब करें",
                           "¡Gracias por ver el video!",
                           "¡Suscríbete al canal!",
                           "Merci d'avoir regardé cette vidéo !",
                           "Abonnez-vous !",
                           "اشتركوا في القناة",
                           "شكراً للمشاهدة",
                           "ভিডিওটি দেখার জন্য ধন্যবাদ",
                           "Obrigado por assistir!",
                           "Inscreva-se no canal.",
                           "Продолжение следует...",
                           "Спасибо за просмотр!",
                           "ویڈیو دیکھنے کا شکریہ۔",
                           "Terima kasih telah menonton!",
                           "Vielen Dank fürs Zuschauen.",
                           "ご視聴ありがとうございました",
                           "チャンネル登録をお願いします。",
                           "시청해주셔서 감사합니다!",
                           "구독과 좋아요 부탁드립니다.",
                           "Grazie per la visione!",
                           "Iscrivetevi al canale",
                           "Abone olmayı unutmayın.",
                           "İzlediğiniz için teşekkür ederim.",
                           "Thank you. Thanks for watching. Bye!"}) {
    EXPECT_EQ(believable_text(text, kKnock), "") << text;
    EXPECT_EQ(believable_text(text, kRate / 2), "") << text;
    EXPECT_EQ(believable_text(text, kLong), text);
  }
}

TEST(Inventions, ThanksAndGoodbyesTakeLess) {
  for (const char* text : {"Thank you.", "谢谢", "धन्यवाद", "Gracias.", "Merci.", "شكرا", "ধন্যবাদ",
                           "Obrigado.", "Спасибо.", "شکریہ", "Terima kasih.", "Vielen Dank.",
                           "Tschüss.", "ありがとうございました。", "감사합니다.", "Grazie.",
                           "Teşekkürler.", "Dziękuję. Do widzenia."}) {
    EXPECT_EQ(believable_text(text, kKnock), "") << text;
    EXPECT_EQ(believable_text(text, kRate / 2), text);
  }
}

TEST(Inventions, WhatHasMoreThanThatIsSaid) {
  for (const char* text : {"Thank you for watching my dog.",
                           "Who made the subtitles of Amara.org?",
                           "Subtitles by default, please",
                           "Turn on the subtitles",
                           "Subtitles by Amara are bad",
                           "Yes.",
                           "No",
                           "Thank you. What time is it?",
                           "Gracias, ¿qué hora es?",
                           "Merci de baisser la lumière",
                           "Danke, mach das Licht aus",
                           "Vielen Dank für die Blumen",
                           "Untertitel einschalten",
                           "Wer hat die Untertitel von Dark gemacht?",
                           "谢谢你的帮助",
                           "字幕由谁提供",
                           "打开字幕",
                           "感谢观看的人很多",
                           "धन्यवाद, बत्ती बंद करो",
                           "شكرا كم الساعة",
                           "ধন্যবাদ, আলো নিভিয়ে দাও",
                           "Obrigado pela ajuda",
                           "Спасибо за помощь",
                           "Включи субтитры",
                           "Terima kasih banyak atas bantuannya",
                           "字幕をつけて",
                           "ありがとう、電気を消して",
                           "자막 켜 줘",
                           "감사합니다 불 꺼 주세요",
                           "Grazie dell'aiuto",
                           "Altyazıyı aç",
                           "Napisy po polsku",
                           "See you in the next room",
                           "Subscribe me to the newsletter"}) {
    EXPECT_EQ(voice_to_believe(text), 0) << text;
    EXPECT_EQ(believable_text(text, kKnock), text);
  }
}

TEST(HeardText, WhatWhisperHearsInSilenceIsBelievedInALongVoiceOnly) {
  for (const char* text : {" you", "Thank you.", "Oh", " Bye-bye.", "Thanks for watching!", "."}) {
    EXPECT_EQ(believable_text(text, kRate / 5), "") << text;
  }
  EXPECT_EQ(believable_text(" Thank you.", kRate / 2), "Thank you.");
  EXPECT_EQ(believable_text("Yes.", kRate / 5), "Yes.");
  EXPECT_EQ(believable_text("you are", kRate / 5), "you are");
  EXPECT_EQ(believable_text(" ... ", kRate), "");
  EXPECT_EQ(believable_text("", kRate), "");
}

TEST(HeardText, LoopsBecomeWhatTheyRepeat) {
  EXPECT_EQ(believable_text("A A A A A A A A A", kRate), "A");
  EXPECT_EQ(believable_text("no no no no", kRate), "no no no no");
  EXPECT_EQ(believable_text("book it book it book it book it book it book it now", kRate),
            "book it now");
  EXPECT_EQ(believable_text("It was, it was, it was, it was, it was. The end", kRate),
            "It was, The end");
  EXPECT_EQ(believable_text("six six six six six", kRate), "six");
  EXPECT_EQ(believable_text("five five one two three four", kRate), "five five one two three four");
}

TEST(HeardText, TextThatStartsOverEnds) {
  EXPECT_EQ(believable_text("Make me a mocha with milk. Make me a", kRate),
            "Make me a mocha with milk.");
  EXPECT_EQ(believable_text("Get a 12-ounce mocha. Get a 12", kRate), "Get a 12-ounce mocha.");
  EXPECT_EQ(believable_text("Turn it off! Turn it off! Turn it off", kRate), "Turn it off!");
  for (const char* said :
       {"Make me a mocha. Make me", "Is it hot? It is hot", "It is hot. Is it hot",
        "Make me a mocha, make me a", "Hi. Make me a mocha. Make me a"}) {
    EXPECT_EQ(believable_text(said, kRate), said);
  }
}

TEST(HeardText, WhatIsDescribedIsNotSaid) {
  EXPECT_EQ(believable_text("[Music] hello (coughs) there \u266a", kRate), "hello there");
  EXPECT_EQ(believable_text("(coughs)", kRate), "");
  EXPECT_EQ(believable_text("a ( b", kRate), "a ( b");
  EXPECT_EQ(believable_text("\uff08\u62cd\u624b\uff09 \u3010\u97f3\u697d\u3011", kRate), "");
}

TEST(HeardText, FiguresInBracketsAreSaid) {
  for (const char* said : {"Call (415) 555 0132.", "[42]", "Seat (12B) is mine", "a function f(x)",
                           "It costs (about 20) euros"}) {
    EXPECT_EQ(believable_text(said, kRate), said);
  }
  EXPECT_EQ(believable_text("(415) 555 (coughs) 0132", kRate), "(415) 555 0132");
}

TEST(HeardText, OtherScriptsAreWords) {
  EXPECT_EQ(believable_text("\u4eca\u5929\u5929\u6c14", kRate), "\u4eca\u5929\u5929\u6c14");
}

TEST(HeardText, TheMarkAtTheEndOfAPartialGoes) {
  EXPECT_EQ(without_end_mark("Mr. John?"), "Mr. John");
  EXPECT_EQ(without_end_mark("so..."), "so");
  EXPECT_EQ(without_end_mark("what?! "), "what");
  EXPECT_EQ(without_end_mark("one, two,"), "one, two,");
  EXPECT_EQ(without_end_mark("\u597d\u3002"), "\u597d");
  EXPECT_EQ(without_end_mark("..."), "");
  EXPECT_EQ(without_end_mark(""), "");
}

TEST(HeardText, CapitalsBecomeSmallLetters) {
  EXPECT_EQ(in_small_letters("AND I THINK I'M LATE"), "and I think I'm late");
  EXPECT_EQ(in_small_letters("Hello NASA"), "Hello NASA");
  EXPECT_EQ(in_small_letters(""), "");
}

}  // namespace
}  // namespace predgen::ears
