"""Draws the page of predgen serve as a picture, from a real conversation in Debian's Chromium (selenium).

usage: "$(scripts/setup.sh --with-tests)" scripts/draw_page.py PROGRAM MODEL OUTPUT.png

A question is typed like by a person, 0.1 s a key, and answered; a second one is under way when the picture is taken.
"""
import pathlib
import shutil
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PORT, WIDTH, HEIGHT, SECONDS_PER_KEY = 8731, 900, 480, 0.1
ASKED, UNDER_WAY = "What is the capital of France?", "Tell me a story about a cat "


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, model, output = sys.argv[1:]
    server = subprocess.Popen([program, "serve", "--model", model, "--port", str(PORT), "--tts", "none", "--recogniser", "none"], stderr=subprocess.DEVNULL)
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        for _ in range(100):
            if server.poll() is not None:
                sys.exit(f"{program} serve has ended")
            try:
                driver.get(f"http://127.0.0.1:{PORT}")
                break
            except Exception:  # it loads its model
                time.sleep(0.2)
        wait = WebDriverWait(driver, 60)
        text = lambda name: driver.find_element(By.ID, name).text
        wait.until(lambda _: text("state").startswith("ready"))
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False})
        words = driver.find_element(By.ID, "words")
        for key in ASKED + Keys.ENTER:
            words.send_keys(key)
            time.sleep(SECONDS_PER_KEY)
        wait.until(lambda _: "Paris" in text("messages"))
        time.sleep(2)
        for key in UNDER_WAY:
            words.send_keys(key)
            time.sleep(SECONDS_PER_KEY)
        time.sleep(2)
        pathlib.Path(output).write_bytes(driver.get_screenshot_as_png())
    finally:
        driver.quit()
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
