"""The page of predgen serve, in Debian's Chromium as a person uses it: with the keyboard."""

import array
import importlib.util
import math
import os
import sys
import tempfile
import time
import wave
from pathlib import Path

from report_pages import Browser, has_browser

if not has_browser():
    print("skipped: the page needs selenium and chromium-driver")
    sys.exit(77)

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from serving import check, server, wait_for  # noqa: E402
from program import ESPEAK  # noqa: E402


class Page(Browser):
    def __init__(self, url, width, scheme, arguments=()):
        super().__init__(width, scheme, arguments)
        self.driver.get(url)
        wait_for(lambda: self.text("state").startswith("ready"), "connects")

    def find(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.find(name).text

    def parts(self, selector):
        return [part.text.strip() for part in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def load(self):
        """How many are here, speak, are answered and wait."""
        return self.parts("#load dd")

    def focused(self):
        return self.driver.switch_to.active_element

    def type(self, keys):
        for key in keys:
            self.focused().send_keys(key)
            time.sleep(0.02)

    def tab_to(self, name):
        for _ in range(20):
            if self.focused().get_attribute("id") == name:
                return
            self.focused().send_keys(Keys.TAB)
        check(False, f"{name} is reached with the keyboard")


def check_load(process):
    """Two at a time: of the other one nothing but that it is there."""
    first, second = (Page(process.url, 400, scheme) for scheme in ("light", "dark"))
    try:
        first.type("My secret is safe")
        wait_for(lambda: second.load()[:2] == ["2", "1"], f"the other one is counted: {second.load()}")
        check("secret" not in second.driver.page_source, "and nothing else of it is shown")
        second.screenshot("page_load.png")
        check(second.driver.get_log("browser") == [], "the browser has nothing to complain about")
    finally:
        first.driver.quit()
        second.driver.quit()


def check_typing_over(page):
    """Words that come while the answer sounds end it, and what is drafted on them stays."""
    page.driver.execute_script("""
      window.sent = [];
      const plain = send;
      send = (event) => { sent.push(event.type); plain(event); };
      if (hasVoice) player.play(btoa("\\0".repeat(48000 * 60)));  // a long answer""")
    page.focused().send_keys("Hello")  # a word that may go on
    wait_for(lambda: page.text("ready"), "it is drafted on when no key comes")
    check(not page.driver.execute_script("return player.isPlaying()"), "and nothing sounds any more")
    sent = page.driver.execute_script("return sent")
    check(sent == ["conversation.item.truncate"] * ESPEAK + ["predgen.transcript.update"], f"what is sent: {sent}")
    page.type([Keys.ENTER])
    wait_for(lambda: len(page.parts("#turns tbody tr")) == 2, "the turn ends")
    row = page.parts("#turns tbody tr")[0].split()
    check(row[1] == "on" and row[3:] == ["0", "yes"], f"the answer was there without a pass: {row}")


def check_new_conversation(page, question, answer):
    """It forgets: the first question gets the answer that it had, as if nothing had been said since."""
    page.tab_to("new")
    page.type([Keys.ENTER])
    wait_for(lambda: not page.parts("#messages li") and page.text("state").startswith("ready"), "nothing is left of it")
    check(page.focused().get_attribute("id") == "words", "and one can type at once")
    page.type([*question, Keys.ENTER])
    wait_for(lambda: len(page.parts("#turns tbody tr")) == 4, "its first turn ends")
    check(page.parts("#messages li") == [question, answer], f"the answer of a first turn: {page.parts('#messages li')}")


def check_browsers_recogniser(page):
    """Before it is used the page says where the voice may go; and what keeps it from hearing, in words."""
    check(page.find("speech-note").is_displayed() == page.find("speak").is_displayed(), "the note is there where the button is")
    faults = page.driver.execute_script("""
      window.SpeechRecognition = class {
        start() { this.onerror({error: window.fault}); this.onend(); }
      };
      setUpSpeech();
      const before = at("messages").childElementCount;
      for (window.fault of ["not-allowed", "aborted", "audio-capture"]) at("speak").click();
      const shown = Array.from(at("messages").children).slice(before);
      shown.forEach((item) => item.remove());
      return shown.map((item) => item.textContent);""")
    check(len(faults) == 2 and "allow it" in faults[0] and "No microphone" in faults[1], f"{faults}")


def check_messages(page):
    """A long answer leaves the form in sight and is followed, its code is code; why a key is refused is said."""
    shown = page.driver.execute_async_script(r"""
      const done = arguments[0];
      const before = at("messages").childElementCount;
      answer = show("assistant", "");
      for (let line = 0; line < 200; ++line) addText(`line ${line}\n`);
      const form = at("talk").getBoundingClientRect(), end = answer.getBoundingClientRect().bottom;
      const inView = form.bottom <= innerHeight + 1 && end <= form.top + 1 && scrollY > 0;
      answer.textContent = "So **do** this:\n```python\nprint(1)\n```\nwith `x`.";
      finish({status: "completed"});
      const last = at("messages").lastChild;
      const html = Array.from(last.querySelectorAll("strong, pre, code"), (part) => part.textContent);
      const copies = last.querySelectorAll("button.copy").length;
      while (at("messages").childElementCount > before) at("messages").lastChild.remove();
      const plainFetch = fetch;
      window.fetch = async () => new Response('{"error": {"message": "wrong key"}}', {status: 401});
      explainRefusal().then(() => {
        window.fetch = plainFetch;
        const state = at("state").textContent, isOpen = at("access").open;
        setState("ready");
        at("access").open = false;
        done([inView, html, copies, state, isOpen]);
      });""")
    check(shown == [True, ["do", "print(1)\n", "x"], 1, "wrong key", True], f"messages: {shown}")


def check_page(process, width, scheme):
    page = Page(process.url, width, scheme)
    try:
        check(page.focused().get_attribute("id") == "words", "one can type at once")
        page.type("Find me a cheap restaurant")
        wait_for(lambda: page.text("ready"), "the first sentence is ready before the end")
        check(page.text("draft") and not page.parts("#messages li"), "a draft is shown, and nothing said")
        wait_for(lambda: page.load()[:3] == ["1", "1", "0"], f"one is here, and speaks: {page.load()}")
        page.type([Keys.BACKSPACE] * 10 + list("hotel in San Jose."))
        wait_for(lambda: page.text("heard").endswith("Jose."), "the words are heard")
        check(page.parts("#heard mark") == ["hotel"], f"what was revised is marked: {page.parts('#heard mark')}")
        page.screenshot(f"page_{width}_draft.png")
        page.type([Keys.ENTER])
        wait_for(lambda: len(page.parts("#turns tbody tr")) == 1, "the turn ends")
        said = page.parts("#messages li")
        check(len(said) == 2 and said[0] == "Find me a cheap hotel in San Jose." and said[1], f"answered: {said}")
        check(page.parts("#draft .kept")[0] and said[1].startswith(page.parts("#draft .kept")[0]), "kept in part")
        wait_for(lambda: page.load() == ["1", "0", "0", "0"], "and then is silent, and has the answer")
        check(page.find("waterfall").is_displayed() and page.parts("#waterfall text"), "its waterfall is drawn")
        if ESPEAK:
            samples = page.driver.execute_script("return player.numSamples")
            check(samples > 24000 / 4, f"there is sound: {samples} samples")
        check_typing_over(page)
        page.tab_to("speculation")
        page.type([Keys.SPACE])
        page.tab_to("words")
        page.type("Play some music.")
        check(not page.text("draft"), "nothing is drafted when that is off")
        page.type([Keys.ENTER])
        wait_for(lambda: len(page.parts("#turns tbody tr")) == 3, "the next turn ends")
        rows = page.parts("#turns tbody tr")
        check(" off " in rows[0] and " on " in rows[1], f"both are compared: {rows}")
        page.screenshot(f"page_{width}_after.png")
        check(not page.parts("#draft .rejected"), "what was rejected goes with the answer")
        check_messages(page)
        check_new_conversation(page, *said)
        check_browsers_recogniser(page)
        check(not page.driver.execute_script("return document.documentElement.scrollWidth > innerWidth"),
              f"it fits into {width} pixels")
        check(page.driver.get_log("browser") == [], "the browser has nothing to complain about")
    finally:
        page.driver.quit()


def check_microphone(folder):
    """What is said is four words, with a pause behind them."""
    recogniser = Recogniser()
    recogniser.says = "Play some music now"
    with wave.open(f"{folder}/said.wav", "wb") as file:
        file.setparams((1, 2, 48000, 0, "NONE", ""))
        file.writeframes(array.array("h", (int(20000 * math.sin(i * i / 1e6)) if i < 60000 else 0
                                           for i in range(300000))).tobytes())
    with server(f"realtime.recogniser={recogniser.url}") as process:
        page = Page(process.url, 1400, "light",
                    ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
                     f"--use-file-for-fake-audio-capture={folder}/said.wav%noloop"))
        try:
            check(not page.find("speech-note").is_displayed(), "no voice goes to the browser's maker")
            page.tab_to("speak")
            page.type([Keys.ENTER])
            wait_for(lambda: page.text("heard"), "words are shown as they are heard")
            page.screenshot("page_microphone.png")
            wait_for(lambda: len(page.parts("#messages li")) == 2, "a pause ends the turn")
            said = page.parts("#messages li")
            check(said[0].startswith("Play some") and said[1], f"answered: {said}")
            check(page.find("speak").get_attribute("aria-pressed") == "true", "it goes on listening")
            page.tab_to("speak")
            page.type([Keys.ENTER])
            check(page.find("speak").get_attribute("aria-pressed") == "false", "until it is switched off")
            check_closing(page)
            check_refused_microphone(page)
            check(page.driver.get_log("browser") == [], "the browser has nothing to complain about")
        finally:
            page.driver.quit()


def check_calls(folder):
    """A tool that reads runs while one types: each call is a line, with what became of it."""
    model = make_tool_model(folder / "lamp")
    file = write_servers(folder, "lamps.json", tools={"*": {"effects": "read"}})
    with server("--mcp", file, model=model) as process:
        page = Page(process.url, 1400, "light")
        try:
            page.type("Quick, the lamp")
            wait_for(lambda: "done after" in page.text("calls") and "while you speak" in page.text("calls"),
                     f"it runs while one types: {page.text('calls')}")
            check(page.text("calls").startswith("switch_lamp: ") and '"room":"kitchen"' in page.text("calls"), "what")
            page.type(Keys.ENTER)
            wait_for(lambda: len(page.parts("#messages li")) == 2, "the turn ends")
            wait_for(lambda: page.parts("#calls .kept") and "kept, done after" in page.text("calls"), "it is kept")
            page.screenshot("page_calls.png")
            page.type("Quick, the lamp")
            wait_for(lambda: "while you speak" in page.text("calls"), "another one")
            page.type([Keys.BACKSPACE] * 20 + list("Hello") + [Keys.ENTER])
            wait_for(lambda: page.parts("#calls .discarded"), f"is discarded: {page.text('calls')}")
            wait_for(lambda: len(page.parts("#messages li")) == 4, "and answered otherwise")
            check("secret" not in page.driver.page_source, "what the tool said is not shown")
            check(page.driver.get_log("browser") == [], "the browser has nothing to complain about")
        finally:
            page.driver.quit()


def check_closing(page):
    """What is sent when it is switched off; and that it is off, however soon that is."""
    page.driver.execute_script("""
      window.sent = [];
      window.plainSend = send;
      send = (event) => sent.push(event.type);""")

    def sent(transcript, is_switched):
        """When these turn out to be the last words: after the microphone was switched off, or by themselves."""
        return page.driver.execute_script("""
          sent = [];
          if (arguments[1]) {
            microphone = new Microphone();
            switchMicrophone();
          }
          handlers["conversation.item.input_audio_transcription.completed"]({transcript: arguments[0]});
          return sent.filter((type) => /^(input_audio_buffer|response.create)/.test(type));""", transcript, is_switched)

    check(sent("Yes.", True) == ["input_audio_buffer.commit", "response.create"], "words not known yet are answered")
    check(sent("", True) == ["input_audio_buffer.commit"], "silence is not")
    check(sent("Yes.", False) == [], "the server answers a turn that ended by itself")
    ended = page.driver.execute_async_script("""
      const done = arguments[0];
      const devices = navigator.mediaDevices, open = devices.getUserMedia.bind(devices);
      let let_go = null, stream = null;
      devices.getUserMedia = async (what) => {
        stream = await open(what);
        await new Promise((resolve) => { let_go = resolve; });
        return stream;
      };
      const opening = switchMicrophone();
      const wait = setInterval(async () => {
        if (!let_go) return;
        clearInterval(wait);
        switchMicrophone();
        let_go();
        await opening;
        devices.getUserMedia = open;
        send = window.plainSend;
        done(stream.getTracks().every((track) => track.readyState === "ended"));
      }, 20);""")
    check(ended, "a microphone that was switched off while it was asked for stays off")


def check_refused_microphone(page):
    shown = page.driver.execute_async_script("""
      const done = arguments[0];
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("Permission denied", "NotAllowedError"));
      switchMicrophone().then(() => done([at("messages").lastChild.textContent, at("speak").getAttribute("aria-pressed")]));""")
    check("allow it" in shown[0] and shown[1] == "false", f"a microphone that is refused: {shown}")


os.environ.setdefault("OMP_NUM_THREADS", "1")
with server(*(["--tts", "espeak"] if ESPEAK else [])) as process:
    check_page(process, 1400, "light")
    check_page(process, 400, "dark")
    check_load(process)
if importlib.util.find_spec("websockets") is None:
    print("skipped: the microphone (the recogniser needs websockets)")
else:
    from fake_recogniser import Recogniser
    with tempfile.TemporaryDirectory() as scratch:
        check_microphone(scratch)
if importlib.util.find_spec("mcp") is None:
    print("skipped: calls of tools (a tool server needs mcp)")
else:
    from lamp_server import write_servers
    from tool_model import make_tool_model
    with tempfile.TemporaryDirectory() as scratch:
        check_calls(Path(scratch))
