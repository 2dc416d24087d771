"""The screen's one script and one style sheet: what they hold, and that they follow their files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from inspector.screen.files import EXPORTS, Made, screen_texts
from inspector.standalone.bundle import module
from inspector.standalone.static_page import ASSETS, STYLES

ONE = {"main.js": ["answer"], "sub/two.js": ["b"]}


def write(folder: Path, **more: str) -> Path:
    """Two modules, one in a folder, and style sheets."""
    (folder / "sub").mkdir(exist_ok=True)
    texts = {
        "main.js": 'import {\n  b,\n} from "./sub/two.js";\n\nexport const answer = b + 1;\n',
        "sub/two.js": "// a comment\nexport const b = 3;\nexport function fail() {\n  throw Error();\n}\n",
    }
    for name, text in {**texts, **more}.items():
        (folder / name).write_text(text)
    return folder


def node(*arguments: str) -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed; the browser tests run the script as well")
    return subprocess.run([found, *arguments], capture_output=True, text=True, check=True).stdout


def test_the_script_is_a_module_that_exports_what_is_asked_for(tmp_path):
    script, _ = module(write(tmp_path), ONE, "all.js.map")
    (tmp_path / "all.mjs").write_text(script)
    code = f"import * as all from '{tmp_path}/all.mjs'; console.log(JSON.stringify(all))"
    assert json.loads(node("--input-type=module", "-e", code)) == {"answer": 4, "b": 3}


def test_the_source_map_leads_back_to_the_line_of_the_module(tmp_path):
    script, mapping = module(write(tmp_path), ONE, "all.mjs.map")
    (tmp_path / "all.mjs").write_text(script)
    (tmp_path / "all.mjs.map").write_text(mapping)
    line = next(i for i, text in enumerate(script.split("\n")) if "throw Error" in text)
    code = (
        "const {SourceMap} = require('module');"
        f"const text = require('fs').readFileSync('{tmp_path}/all.mjs.map', 'utf8');"
        "const map = new SourceMap(JSON.parse(text));"
        f"const found = map.findEntry({line}, 2);"
        "console.log(JSON.stringify([found.originalSource, found.originalLine]))"
    )
    assert json.loads(node("-e", code)) == ["sub/two.js", 3]


def test_the_screens_own_script_exports_its_three_names_and_needs_no_other_file():
    texts = screen_texts()
    for name, names in EXPORTS.items():
        assert f"export const {{ {', '.join(names)} }} = modules[{name!r}];" in texts["screen.js"]
    assert "\nimport " not in texts["screen.js"]
    assert json.loads(texts["screen.js.map"])["sources"][-1] in EXPORTS


def test_the_style_sheet_holds_every_style_sheet_of_the_folder():
    style = screen_texts()["screen.css"]
    for path in ASSETS.rglob("*.css"):
        assert path.read_text("utf-8") in style, f"{path.name} is missing from static_page.STYLES"
    assert len(STYLES) == len(set(STYLES))


def test_a_changed_file_makes_the_texts_anew_and_an_unchanged_one_does_not(tmp_path):
    made: list[int] = []
    write(tmp_path)

    def make() -> dict[str, str]:
        made.append(1)
        return {"all": (tmp_path / "main.js").read_text()}

    texts = Made(tmp_path, make)
    first = texts.get("all")
    assert texts.get("all") == first and texts.get("other") is None and len(made) == 1
    (tmp_path / "main.js").write_text("export const answer = 5;\n")
    os.utime(tmp_path / "main.js", ns=(1, 1))
    assert texts.get("all") == b"export const answer = 5;\n" and len(made) == 2


def test_a_module_that_does_not_fit_is_said_on_the_console(tmp_path):
    (tmp_path / "source").mkdir()
    write(tmp_path, **{"main.js": "export default 1;\n", "source/live.js": "", "source/demo.js": ""})
    (tmp_path / "styles").mkdir()
    for name in STYLES:
        (tmp_path / "styles" / name).write_text("")
    script = screen_texts(tmp_path)["screen.js"]
    assert script.startswith("throw new Error(") and "export default" in script
