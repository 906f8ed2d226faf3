"""A real browser for tests: Chromium, driven by Selenium."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.ui import WebDriverWait

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DRIVERS = ("chromedriver", "chromium.chromedriver")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
_PATIENCE = 60.0

CONTRAST = """
(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  document.querySelectorAll("details").forEach((part) => (part.open = true));
  let worst = [99, ""];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || ["SCRIPT", "STYLE", "title", "desc"].includes(node.nodeName)) continue;
    const style = getComputedStyle(node);
    const [a, b] = [light(parse(node instanceof SVGElement ? style.fill : style.color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, node.outerHTML.slice(0, 80)];
  }
  return worst;
})()
"""
"""A script: the lowest contrast of a text to what is behind it, and the element that has it."""


def _program(names: tuple[str, ...]) -> str | None:
    return next((found for name in names if (found := shutil.which(name))), None)


needs_browser = pytest.mark.skipif(
    _program(PROGRAMS) is None or _program(DRIVERS) is None,
    reason=f"no browser: one of {', '.join(PROGRAMS)} and one of {', '.join(DRIVERS)} must be installed",
)


class Browser:
    """A headless Chromium; ``problems`` are console errors and refused loads, ``requests`` what it asked for."""

    def __init__(self, profile: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(_program(PROGRAMS))
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(_program(DRIVERS)))
        self._problems: list[str] = []
        self._requests: list[str] = []

    def call(self, method: str, **params: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(method, params)

    @property
    def problems(self) -> list[str]:
        logged = self.driver.get_log("browser")
        self._problems += [entry["message"] for entry in logged if entry["level"] in ("SEVERE", "WARNING")]
        return self._problems

    @property
    def requests(self) -> list[str]:
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self._requests.append(message["params"]["request"]["url"])
        return self._requests

    def open(
        self, place: Path | str, *, width: int = 1100, height: int = 900, dark: bool = False, media: str = ""
    ) -> None:
        """Load a file or an address, at a size and in a colour scheme."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        _ = self.problems, self.requests
        self._problems, self._requests = [], []
        self.driver.get(place.as_uri() if isinstance(place, Path) else place)
        self.wait("document.readyState === 'complete' && document.body !== null")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Wait until an expression is true in the page; while the page loads, it may raise errors."""
        patience = WebDriverWait(self.driver, _PATIENCE, 0.05, ignored_exceptions=[RuntimeError])
        return patience.until(lambda _: self.run(expression), f"{expression} did not become true")

    def press(self, *keys: str) -> None:
        """Keys on the keyboard, one after the other."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def touch(self, selector: str) -> None:
        """A tap on the middle of an element."""
        x, y = self.run(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2] })()"
        )
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def paper(self, path: Path) -> None:
        data = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self.driver.quit()
