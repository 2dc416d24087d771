"""A session that is faulty on purpose says so wherever it appears, for good; a healthy one nowhere."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest

from engine import verification
from engine.core.types import Sampling
from engine.errors import BadSetting
from engine.faults import FAULTS
from engine.session import Request
from engine.verification import Verification
from inspector import faults, report, verify_report
from inspector.commands import live
from inspector.many import Comparison
from inspector.standalone import static_page
from storage import Store
from tests.browser.toy import open_toy, run

ENGINE = "faulty on purpose: rows shifted by one"
RULE = "faulty on purpose: rule “refill from p”"
BOTH = "faulty on purpose: rows shifted by one and rule “refill from p”"


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    with open_toy(tmp_path_factory.mktemp("marks") / "toy.sqlite") as controller:
        yield controller


@pytest.fixture(scope="module")
def sessions(toy) -> dict[int, str]:
    """Session id -> the watermark it must have."""
    short = {"max_tokens": 12}
    healthy = run(toy, **short)
    engine = run(toy, fault="rows-shifted", **short)
    rule = run(toy, rule="fault-residual-from-p", **short)
    again, other, worse = toy.rerun(engine, ["stochastic", "block", "fault-residual-from-p"])
    branch = toy.branch(engine, 2, "#3")
    for one in (again, other, worse, branch):
        toy.wait(one)
    copy = toy.import_jsonl(toy.export_jsonl(engine))[0]
    ruled = toy.import_jsonl(toy.export_jsonl(rule))[0]
    engines = dict.fromkeys((engine, again, other, branch, copy), ENGINE)
    return {healthy: "", rule: RULE, ruled: RULE, worse: BOTH} | engines


def placed(toy, session_id: int) -> dict[str, str]:
    """Everything that is said of a session, by place, each with the watermark in it or the whole text."""
    lines = {line["id"]: line for line in toy.library.page({})["sessions"]}
    head = toy.head(session_id)
    shown = report.show_object(toy, session_id, None)
    page = static_page.page(toy, [session_id])
    recording = json.loads(re.search(r'id="recording">(.*?)</script>', page, re.S)[1])
    rejudged = toy.rejudge(session_id, ["stochastic"])[0]["watermark"]
    return {
        "list": lines[session_id]["watermark"],
        "search": next(line["watermark"] for line in toy.sessions() if line["id"] == session_id),
        "head": head["watermark"],
        "statistics": toy.statistics.of(session_id)["watermark"],
        "run --json": report.session_object(toy, session_id)["watermark"],
        "show --json": shown["head"]["watermark"],
        "show": next((x for x in report.show_text(shown).splitlines() if x.startswith("faulty")), ""),
        "exported page, list": recording["sessions"][0]["watermark"],
        "exported page, head": recording["heads"][str(session_id)]["watermark"],
        "table of lanes": toy.compared([session_id])["lines"][0]["watermark"],
        "re-judged": rejudged
        if session_rule_is_right(head)
        else faults.watermark(head["fault"], head["rule"]),
    }


def session_rule_is_right(head: dict) -> bool:
    """A session of a faulty rule, judged again by a right one, is no longer faulty for its rule's sake."""
    return not head["rule"].startswith("fault-")


def test_every_place_says_it_and_no_place_says_it_of_a_healthy_session(toy, sessions):
    for session_id, mark in sessions.items():
        found = placed(toy, session_id)
        assert found == dict.fromkeys(found, mark), f"session {session_id}"


def test_lanes_say_it_in_the_object_and_in_the_text(toy, sessions):
    parent = next(i for i, mark in sessions.items() if mark == ENGINE)
    children = [info.id for info in toy.store.children(parent) if info.relation == "rerun"]
    lanes = toy.lanes(parent, children)
    assert [lane["watermark"] for lane in lanes] == [sessions[child] for child in children]
    text = report.lanes_text({"session": parent, "mode": "rerun", "lanes": lanes})
    assert text.count("aulty on purpose: rows shifted by one") == 2 * len(children)  # its line and its text


def test_a_rerun_repeats_the_fault_and_is_the_same_to_the_last_coin(toy, sessions):
    parent = next(i for i, mark in sessions.items() if mark == ENGINE)
    own = min(info.id for info in toy.store.children(parent) if info.rule == "stochastic")
    assert toy.store.started(own).fault == "rows-shifted"
    assert toy.lanes(parent, [own])[0]["reproduced"] is True


def test_the_fault_is_in_the_database_and_in_every_files_first_event(toy, sessions):
    for session_id, mark in sessions.items():
        fault = "rows-shifted" if "rows" in mark else ""
        assert toy.store.session(session_id).fault == fault
        assert toy.store.started(session_id).fault == fault
        events = map(json.loads, toy.export_jsonl(session_id).splitlines())
        assert [e["body"]["fault"] for e in events if e["line"] == "event" and e["seq"] == 0] == [fault]
    found = toy.sql("select count(*) from sessions where fault <> ''")["rows"][0][0]
    assert found == sum("rows" in mark for mark in sessions.values())


def test_a_file_of_an_older_program_is_healthy(toy, sessions):
    """Its first event has no fault; what the digest is for is made anew."""
    import hashlib

    healthy = next(i for i, mark in sessions.items() if not mark)
    lines = toy.export_jsonl(healthy).decode().splitlines()[:-1]
    older = [line.replace(',"fault":""', "") for line in lines]
    assert older != lines
    text = "".join(line + "\n" for line in older)
    digest = hashlib.sha256(text.encode()).hexdigest()
    text += json.dumps({"line": "end", "sha256": digest}, separators=(",", ":")) + "\n"
    (session_id,) = toy.import_jsonl(text.encode())
    assert toy.store.started(session_id).fault == ""
    assert toy.head(session_id)["watermark"] == ""


def test_an_older_database_has_no_faults(tmp_path):
    path = tmp_path / "old.sqlite"
    with Store.open(path):
        pass
    with sqlite3.connect(path) as db:
        column = next(row for row in db.execute("PRAGMA table_info(sessions)") if row[1] == "fault")
    assert column[2:5] == ("TEXT", 1, "''")


def test_the_settings_of_a_faulty_session_fill_the_form_with_its_fault(toy, sessions):
    parent = next(i for i, mark in sessions.items() if mark == ENGINE)
    form, others = toy.library.settings(parent)
    assert form["fault"] == "rows-shifted"
    assert others == []


def test_the_terminal_says_it_before_the_text(toy, sessions, capsys):
    for session_id, mark in sessions.items():
        live.tell_of_another_rule(toy.store.started(session_id))
        assert capsys.readouterr().err == (f"{mark}\n" if mark else "")


def test_run_on_the_command_line_says_it_and_stores_it(call, tiny_folder, tmp_path):
    asked = ("run", "--db", tmp_path / "cli.sqlite", "--target", tiny_folder, "--drafter", "self:4bit")
    asked += ("--prompt", "the theme", "--max-tokens", 6, "--fault", "target-not-rewound")
    done = call(*asked)
    assert done.code == 0
    assert "faulty on purpose: target cache not rewound" in done.err
    assert "\nFaulty on purpose: target cache not rewound\nsession 1: finished" in done.out
    assert done.out.rstrip().splitlines()[-1].endswith(" fault=target-not-rewound")
    body = json.loads(call(*asked, "--json").out)
    assert (body["fault"], body["watermark"]) == (
        "target-not-rewound",
        "faulty on purpose: target cache not rewound",
    )
    shown = call("show", "1", "--db", tmp_path / "cli.sqlite").out
    assert shown.splitlines()[1] == "faulty on purpose: target cache not rewound"
    branched = call("branch", 1, "--at", 1, "--token", "#99", "--db", tmp_path / "cli.sqlite")
    assert "Faulty on purpose: target cache not rewound\nsession 3, a branch of 1" in branched.out


def test_a_fault_there_is_not_stores_nothing(call, tiny_folder, tmp_path):
    done = call("run", "--db", tmp_path / "x.sqlite", "--prompt", "a", "--fault", "typo")
    assert (done.code, done.out) == (2, "")
    assert "There is no fault 'typo'." in done.err
    assert all(name in done.err for name in FAULTS)


def test_a_verification_of_a_faulty_rule_says_so(toy):
    started = verification.planned(Request("a", rule="fault-shared-coin", k=2), 200)
    body = verify_report.verify_object(Verification(started, 200))
    assert body["watermark"] == "faulty on purpose: rule “one coin for the block”"


def test_comparisons_and_verifications_take_no_fault(toy):
    faulty = Request("-", fault="rows-shifted", sampling=Sampling())
    with pytest.raises(BadSetting, match="with the fault rows-shifted"):
        Comparison(faulty, (("stochastic", {}),), ("a",), (0,))
    with pytest.raises(BadSetting, match="with the fault rows-shifted"):
        verification.planned(faulty, 200)


def test_a_fault_of_a_newer_program_is_named_as_it_is():
    assert faults.watermark("cosmic-rays", "stochastic") == "faulty on purpose: cosmic-rays"


def test_every_fault_and_every_faulty_rule_has_its_words():
    from engine.rules import RULES

    assert list(faults.WORDS) == [*FAULTS, *(rule.id for rule in RULES.values() if rule.faulty)]
    for words in faults.WORDS.values():
        assert all(text.endswith(".") for text in (words.does, words.gives_away, words.seen))


def test_the_gallery_has_the_words_of_today():
    """`python -m bench.record_tour --only words` brings them into the recording."""
    path = Path(static_page.ASSETS) / "demo" / "faults.json"
    cases = json.loads(path.read_text("utf-8"))["cases"]
    assert {case["id"]: faults.Words(case["does"], case["gives_away"], case["seen"]) for case in cases} == (
        faults.WORDS
    )
