#!/bin/sh
# Make sure there is a Chromium for the browser tests: the system's, or Playwright's own.
set -e
if [ -n "$CHROMIUM" ] || command -v chromium >/dev/null || command -v google-chrome >/dev/null; then exit 0; fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium
else
    .venv/bin/playwright install chromium
fi
