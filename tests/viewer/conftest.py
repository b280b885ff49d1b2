"""Headless Chromium for the tests of the report and the page; they skip where it is not installed."""

import base64
import os
import shutil
import time
from pathlib import Path

import pytest

INSTALL = "scripts/chromium installs Debian's chromium and chromium-driver, pip install 'karat[test]' the rest"
FLAGS = (Path(__file__).parents[2] / "scripts" / "chromium.flags").read_text("utf-8").split()


class Browser:
    """A tab of Chromium; `driver` is selenium's."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        self.driver.get(str(address))

    def run(self, script, *arguments):
        """What a script returns: `return document.title`."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments, seconds=20):
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + seconds
        while not (found := self.run(f"return {script}", *arguments)):
            assert time.monotonic() < end, f"never true: {script}; {self.text('main')[:500]}"
            time.sleep(0.02)
        return found

    def text(self, selector):
        """The text of the first element that fits, "" where there is none."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def texts(self, selector):
        """The texts of all elements that fit."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map(each => each.innerText)", selector)

    def click(self, selector):
        """Click the first element that fits, where it is on the screen."""
        self.until("document.querySelector(arguments[0])", selector)
        self.driver.find_element("css selector", selector).click()

    def press(self, *keys):
        """Type keys where the focus is."""
        action_chains = pytest.importorskip("selenium.webdriver").ActionChains
        for key in keys:
            action_chains(self.driver).send_keys(key).perform()

    def show(self, *, width=1280, height=900, scheme="light", zoom=1):
        """Set the size of the page in CSS pixels before zooming, and its colours: "light" or "dark"."""
        size = {"width": int(width / zoom), "height": int(height / zoom), "deviceScaleFactor": zoom, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def log(self):
        """The messages of the browser's console since the last call, breaches of the content security policy too."""
        return [f"{line['level']}: {line['message']}" for line in self.driver.get_log("browser")]

    def violations(self):
        """What axe-core finds wrong: for each rule its name and the first elements."""
        axe_core_python = pytest.importorskip("axe_core_python", reason=INSTALL)
        script = next(Path(axe_core_python.__file__).parent.rglob("axe.min.js"))
        self._evaluate(script.read_text("utf-8") + ";0")
        found = self._evaluate("axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)")
        return [f"{each['id']}: {each['help']}: {[node['html'] for node in each['nodes'][:3]]}" for each in found]

    def scrolls_sideways(self):
        """Whether the page is wider than the window."""
        return self.run("const page = document.documentElement; return page.scrollWidth > page.clientWidth")

    def screenshot(self, path, *, whole=False):
        """Save a picture (PNG, or WebP by the name's ending) of the window, or of the whole page."""
        kind = Path(path).suffix[1:]
        options = {"format": kind, "captureBeyondViewport": whole}
        if whole:
            box = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            options["clip"] = {**box, "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", options)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def _evaluate(self, script):
        """Run a script as the developer tools do: a page's content security policy does not stop it."""
        answer = self.driver.execute_cdp_cmd(
            "Runtime.evaluate", {"expression": script, "awaitPromise": True, "returnByValue": True}
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """Start Chromium, or skip; it saves downloads in a folder of its own."""
    webdriver = pytest.importorskip("selenium.webdriver", reason=INSTALL)
    chromium, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if not chromium or not driver:
        pytest.skip(f"no chromium or no chromedriver: {INSTALL}")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(driver, env={**os.environ, "SE_OFFLINE": "true", "SE_AVOID_STATS": "true"})
    started = webdriver.Chrome(options, service)
    yield started
    started.quit()


@pytest.fixture
def browser(chromium):
    """A fresh tab, in light colours; the test fails where the console holds a warning or an error at its end."""
    chromium.switch_to.new_window("tab")
    tab = Browser(chromium)
    tab.log()
    tab.show()
    yield tab
    log = tab.log()
    for handle in chromium.window_handles[1:]:
        chromium.switch_to.window(handle)
        chromium.close()
    chromium.switch_to.window(chromium.window_handles[0])
    wrong = [line for line in log if line.startswith(("WARNING", "SEVERE"))]
    assert not wrong, "\n".join(wrong)
