"""Rules of one's own: loaded from a file somebody names, checked, found by id, and never run by a session."""

import re
import shutil
from pathlib import Path

import pytest

from engine import rules, session
from engine.errors import BadSetting
from engine.rules import RULES, own
from engine.session import Request
from inspector.rule_report import rule_text

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
MY_RULE = EXAMPLES / "my_rule.py"
BIASED = EXAMPLES / "my_biased_rule.py"


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch):
    monkeypatch.setattr(own, "_loaded", {})


def test_the_example_of_the_guide_is_lossless_as_it_says():
    loaded = own.find(rules.named(str(MY_RULE)))
    assert loaded.report.lossless and loaded.rule.lossless
    assert loaded.rule.params == {"caution": 0.5}
    assert rules.get(loaded.rule.id, caution=0.25).caution == 0.25
    assert loaded.rule.id == f"cautious@{loaded.sha256[:12]}"


def test_the_slip_of_the_guide_is_found_and_its_claim_does_not_count():
    loaded = own.find(rules.named(str(BIASED)))
    assert loaded.report.contradicted
    assert not loaded.rule.lossless
    assert 0.1 < loaded.report.worst.tv < 1


def test_the_built_in_table_stays_as_it_was():
    before = dict(RULES)
    rules.named(str(MY_RULE))
    assert before == RULES


def test_a_file_is_run_once_for_each_content(tmp_path):
    copy = tmp_path / "copy.py"
    shutil.copy(MY_RULE, copy)
    first = rules.named(str(MY_RULE))
    assert rules.named(str(copy)) == first
    copy.write_text(copy.read_text().replace("caution: float = 0.5", "caution: float = 0.25"))
    changed = rules.named(str(copy))
    assert changed != first
    assert (rules.get(first).caution, rules.get(changed).caution) == (0.5, 0.25)


def test_an_id_stays_an_id():
    assert rules.named("block") == "block"
    assert own._loaded == {}


def test_a_plan_names_the_rule_by_its_content_and_no_path():
    started = session.plan(Request(prompt="Hello", rule=rules.named(str(MY_RULE))))
    assert started.rule == started.asked == rules.named(str(MY_RULE))
    assert str(EXAMPLES) not in repr(started)


def test_a_greedy_target_runs_a_lossless_rule_of_ones_own_as_greedy_argmax():
    from engine.core.types import Sampling

    cold = Sampling(temperature=0.0)
    mine, slip = (rules.named(str(file)) for file in (MY_RULE, BIASED))
    assert session.plan(Request(prompt="Hello", rule=mine, sampling=cold)).rule == "greedy-argmax"
    assert session.plan(Request(prompt="Hello", rule=slip, sampling=cold)).rule == slip


@pytest.mark.parametrize("ask", [rules.get, lambda name: session.plan(Request(prompt="Hello", rule=name))])
def test_no_session_and_no_plan_runs_a_file(ask, tmp_path):
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')")
    with pytest.raises(BadSetting, match="There is no rule"):
        ask(str(trap))
    assert not (tmp_path / "sprung").exists()


def test_a_rule_whose_file_is_not_loaded_is_refused_with_the_way_to_it():
    with pytest.raises(BadSetting) as caught:
        rules.get("cautious@0123456789ab")
    assert "'cautious' is a rule of somebody's own" in caught.value.message
    assert "--rule" in caught.value.hint and "0123456789ab" in caught.value.hint


HEAD = MY_RULE.read_text()


def changed(old: str, new: str) -> str:
    assert old in HEAD
    return HEAD.replace(old, new)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x = 1\n", "defines no rule"),
        ("from engine.rules.block import BlockVerification\n", "defines no rule"),
        (HEAD + "\n\nclass Second(Cautious):\n    id = 'second'\n", r"defines 2 rules \(Cautious, Second\)"),
        ("def broken(:\n", "fails in line 1: SyntaxError"),
        ("x = 1\ny = {}['a']\n", "fails in line 2: KeyError"),
        ("import no_such_module_at_all\n", "fails in line 1: ModuleNotFoundError"),
        ("raise SystemExit('bye')\n", "fails in line 1: SystemExit: bye"),
        (changed('    title = "Cautious rejection sampling"\n', ""), "lacks title"),
        (changed('source = "our own example"', 'source = ""'), "lacks source"),
        (changed("def judge(self", "def judged(self"), "lacks judge"),
        (changed('id = "cautious"', 'id = "stochastic"'), "'stochastic' is the id of a built-in rule"),
        (changed('id = "cautious"', 'id = "My Rule"'), "'My Rule' in .* is no id"),
        (changed("    caution: float = 0.5\n", ""), "no field for its parameter 'caution'"),
        (changed("    caution: float = 0.5\n", "    caution: float\n"), "cannot be made"),
        (changed("caution: float = 0.5", "caution: float = 7.0"), r"cautious: caution is 7\.0"),
        (changed("kept = self.caution * min(p, q)", "kept = 1 / 0"), "judge raises ZeroDivisionError"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(text, named, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(BadSetting, match=named) as caught:
        rules.named(str(file))
    assert caught.value.hint
    assert own._loaded == {}


def test_a_file_that_is_not_there_or_is_a_folder_is_named(tmp_path):
    with pytest.raises(BadSetting, match="No such file"):
        rules.named(str(tmp_path / "none.py"))
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(BadSetting, match="Is a directory"):
        rules.named(str(tmp_path / "folder.py"))


@pytest.mark.parametrize("file", [MY_RULE, BIASED], ids=lambda file: file.name)
def test_the_guide_shows_what_the_check_prints(file):
    """Run `python app.py check-rule` on the example and paste what it says; only rounding may differ."""

    def without_rounding(text: str) -> str:
        return re.sub(r"largest error \S+", "largest error …", text)

    guide = without_rounding((EXAMPLES.parent / "your-own-rule.md").read_text())
    printed = without_rounding(rule_text(own.find(rules.named(str(file)))))
    assert all(f"    {line}\n" in guide for line in printed.splitlines())
