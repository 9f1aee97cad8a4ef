"""Debian's Chromium, driven by python3-selenium."""

import json
import shutil

import pytest

import muster

selenium = pytest.importorskip("selenium", reason="python3-selenium is not installed")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402


class Browser:
    """What a person sees and does in the browser."""

    def __init__(self, width=1280, height=900, dark=False):
        driver = shutil.which("chromedriver")
        if driver is None or shutil.which("chromium") is None:
            pytest.skip("chromium and chromium-driver are not installed")
        options = Options()
        options.binary_location = shutil.which("chromium")
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                     "--window-size=%d,%d" % (width, height), "--force-device-scale-factor=1",
                     "--ignore-certificate-errors", "--disable-background-networking"):
            options.add_argument(word)
        if dark:
            options.add_argument("--blink-settings=preferredColorScheme=0")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)

    def open(self, port, where=""):
        self.driver.get("http://127.0.0.1:%d/%s" % (port, where))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector="main"):
        """The text at that place, "" if there is no such place."""
        return self.run("const e = document.querySelector(arguments[0]); return e && !e.hidden ? e.innerText : ''", selector)

    def see(self, words, timeout=10, selector="main"):
        """Waits until the words are visible, up to muster.eventually's bound in seconds."""
        return muster.eventually(lambda: words in self.text(selector), timeout,
                                 "the page shows %r; it shows: %s" % (words, self.text(selector)))

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)

    def type(self, selector, words):
        place = self.driver.find_element("css selector", selector)
        place.clear()
        place.send_keys(words)

    def errors(self):
        """The console's errors since the last call."""
        return [json.dumps(line["message"]) for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]

    def close(self):
        self.driver.quit()
