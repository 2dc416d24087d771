#!/bin/sh
# Make sure there is a Chromium for the browser tests: the system's, best the one without a window, which takes a
# fifth less time, or Playwright's own.
set -e
if [ -n "$CHROMIUM" ] || command -v chromium-headless-shell >/dev/null; then exit 0; fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq || true
    if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium-headless-shell; then exit 0; fi
    if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; then exit 0; fi
fi
if command -v chromium >/dev/null || command -v google-chrome >/dev/null; then exit 0; fi
.venv/bin/playwright install chromium
