"""A headless Chromium that opens pages, driven by the DevTools protocol over two pipes.

Nothing but the browser itself is needed: https://chromedevtools.github.io/devtools-protocol/.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Browser", "Page", "browser", "find_browser"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
)
# Fixed by the protocol: where the browser reads commands, and where it writes.
_COMMANDS, _MESSAGES = 3, 4
_PATIENCE_S = 60.0
# Neither a number that a pipe may have nor one that the browser's own side needs.
_ABOVE = 10


def find_browser() -> str | None:
    """Give the path of a Chromium or Chrome on this machine; None without one."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@dataclass(slots=True)
class Browser:
    """A browser that runs; made by :func:`browser`.

    Attributes:
        commands: Where it is written to.
        messages: Where it is read from.
    """

    commands: int
    messages: int
    _number: int = 0
    _unread: bytes = b""
    _events: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, /, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command and give its result; events that come meanwhile are kept.

        Raises:
            RuntimeError: The browser refuses the command.
            TimeoutError: It does not answer.
        """
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        left = json.dumps(message).encode() + b"\0"
        while left:
            left = left[os.write(self.commands, left) :]
        while True:
            answer = self._read()
            if answer.get("id") != self._number:
                self._events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            result: dict[str, Any] = answer["result"]
            return result

    def events(self, session: str) -> list[dict[str, Any]]:
        """Give the events of a page so far, in their order."""
        return [event for event in self._events if event.get("sessionId") == session]

    def wait(self, session: str, method: str) -> None:
        """Wait for an event of a page, unless it has come."""
        while not any(event["method"] == method for event in self.events(session)):
            self._events.append(self._read())

    def open(self, file: Path, *, dark: bool = False, width: int = 1280) -> Page:
        """Open a file and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        page.call("Page.navigate", url=file.resolve().as_uri())
        self.wait(page.session, "Page.loadEventFired")
        return page

    def _read(self) -> dict[str, Any]:
        """Read the next message."""
        until = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self.messages], [], [], until - time.monotonic())
            if not ready:
                raise TimeoutError(f"the browser said nothing for {_PATIENCE_S:.0f} s")
            read = os.read(self.messages, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self._unread += read
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is loaded."""

    browser: Browser
    session: str

    def call(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """Send a command to the page and give its result."""
        return self.browser.call(method, self.session, **parameters)

    def value(self, expression: str) -> Any:
        """Give what a JavaScript expression is worth in the page, as JSON holds it."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    @property
    def requests(self) -> list[str]:
        """Addresses of all that the page asked for, its own first."""
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events(self.session)
            if event["method"] == "Network.requestWillBeSent"
        ]

    @property
    def complaints(self) -> list[str]:
        """Errors of scripts, and all that the browser or a script told the console."""
        told = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [
            json.dumps(event["params"])
            for event in self.browser.events(self.session)
            if event["method"] in told
        ]

    def screenshot(self, file: Path) -> None:
        """Save the whole page as a picture."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def browser(path: str, profile: Path) -> Iterator[Browser]:
    """Run a browser for the time of a block.

    Args:
        path: Of the program.
        profile: Folder that it may fill.
    """
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, _ABOVE) for end in (theirs_in, theirs_out)]
    for end in (theirs_in, theirs_out):
        os.close(end)
    log = os.open(profile / "stderr.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    # Root has no sandbox; what is opened here are pages of our own.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    process = os.posix_spawn(
        path,
        [path, *_FLAGS, *sandbox, f"--user-data-dir={profile}"],
        {**os.environ, "HOME": str(profile)},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, theirs[0], _COMMANDS),
            (os.POSIX_SPAWN_DUP2, theirs[1], _MESSAGES),
            (os.POSIX_SPAWN_DUP2, log, 2),
        ],
        setpgroup=0,
    )
    for end in (*theirs, log):
        os.close(end)
    try:
        yield Browser(ours_out, ours_in)
    finally:
        # It ends when nobody can command it any more; what is left of it after that is killed.
        os.close(ours_out)
        _await_end(process)
        os.close(ours_in)


def _await_end(process: int) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        ended, _ = os.waitpid(process, os.WNOHANG)
        if ended:
            return
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
