"""The bundler: what the screen's modules are as one script, and what it refuses to guess at."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from inspector.standalone.bundle import BundleError, bundle
from inspector.standalone.static_page import ASSETS


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return folder


def run(script: str) -> object:
    """The value of a bundle's exports, as node sees them."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; the browser test runs the bundle as well")
    code = f"console.log(JSON.stringify({script}))"
    return json.loads(subprocess.run([node, "-e", code], capture_output=True, text=True, check=True).stdout)


DEEP = {
    "main": "import { a,\n  twice as double } from \"./one.js\";\nimport {b} from './two.js'\n"
    "export const answer = double(a) + b;\nconst hidden = 1;\nexport class Box {}\n",
    "one": 'import { b } from "./two.js";\nexport const a = b + 1;\nexport function twice(x) {\n'
    "  return 2 * x;\n}\n",
    "two": "// import nothing from here\nexport const b = 3;\nexport async function later() {}\n",
}


def test_a_bundle_exports_what_its_entry_exports(tmp_path):
    assert run(bundle(write(tmp_path, **DEEP), "main.js") + ".answer") == 11


def test_a_module_that_two_import_stands_once(tmp_path):
    assert bundle(write(tmp_path, **DEEP), "main.js").count("const b = 3") == 1


def test_a_bundle_is_the_same_every_time(tmp_path):
    write(tmp_path, **DEEP)
    assert bundle(tmp_path, "main.js") == bundle(tmp_path, "main.js")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('import x from "./one.js";', "import x"),
        ('import * as x from "./one.js";', "import *"),
        ('import "./one.js";', 'import "./one.js"'),
        ('import { a } from "https://elsewhere/one.js";', "elsewhere"),
        ("export default 1;", "export default"),
        ("export { a };", "export {"),
        ("export let a = 1;", "export let"),
        ('export * from "./one.js";', "export *"),
        ('const a = await import("./one.js");', "import("),
        ("const a = import.meta.url;", "import.meta"),
    ],
)
def test_a_form_it_does_not_know_is_refused(text, named, tmp_path):
    write(tmp_path, **DEEP, odd=text + "\n")
    with pytest.raises(BundleError) as caught:
        bundle(tmp_path, "odd.js")
    assert named in str(caught.value) and "odd.js" in str(caught.value)


def test_modules_may_live_in_folders(tmp_path):
    (tmp_path / "lab").mkdir()
    main = 'import { a } from "./lab/one.js";\nexport const answer = a;\n'
    write(tmp_path, main=main, two="export const b = 3;\n")
    write(tmp_path / "lab", one='import { b } from "../two.js";\nexport const a = b + 1;\n')
    assert run(bundle(tmp_path, "main.js") + ".answer") == 4


def test_a_circle_is_refused(tmp_path):
    write(tmp_path, a='import { b } from "./b.js";\n', b='import { a } from "./a.js";\n')
    with pytest.raises(BundleError, match="a circle"):
        bundle(tmp_path, "a.js")


def test_the_screens_own_modules_are_understood():
    script = bundle(ASSETS, "exported.js")
    assert "</script" not in script and "<!--" not in script
    for module in ("main.js", "source/recorded.js", "source/store.js"):
        assert f"modules['{module}'] = " in script
