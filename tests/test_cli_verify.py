"""The commands verify, check-rule and doctor --log, and rules of one's own in run and replay."""

import io
import json
from pathlib import Path

import pytest

from engine.rules import own
from inspector import cli, own_rules, verify_report

ROOT = Path(__file__).resolve().parents[1]
MY_RULE = ROOT / "docs" / "examples" / "my_rule.py"
BIASED = ROOT / "docs" / "examples" / "my_biased_rule.py"


@pytest.fixture
def call(capsys):
    """Run the command line in this process: (exit status, stdout, stderr)."""

    def run(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return ended.value.code, out, err

    return run


@pytest.fixture
def pair(tiny_folder) -> list[str]:
    return ["--target", tiny_folder, "--drafter", "self:3bit"]


def test_verify_prints_one_object_and_exits_0_for_a_lossless_rule(call, pair):
    code, out, err = call("verify", *pair, "--samples", 1000, "--json")
    body = json.loads(out)
    assert code == 0
    assert body["result"]["verdict"] == "consistent with the target"
    assert (body["rule"], body["k"], body["samples"]) == ("stochastic", 2, 1000)
    assert (body["sampling"]["temperature"], body["sampling"]["top_k"]) == (1.0, 8)
    assert body["prompt"].startswith("Heads or tails?") and body["raw"]
    assert "of 1000 samples" in err


def test_verify_exits_1_for_a_faulty_rule_and_says_why(call, pair):
    code, out, _ = call("verify", *pair, "--samples", 2000, "--rule", "fault-residual-from-p")
    assert code == 1
    assert "not the target's distribution" in out
    assert "do not follow the target: p " in out


def test_verify_text_names_every_part_of_the_finding(call, pair):
    _, out, _ = call("verify", *pair, "--samples", 500)
    for part in ("verdict", "first tokens", "pairs", "support", "acceptance", "drafts", "models", "power"):
        assert f"\n{part} " in out
    assert "a right rule fails each test once in 10000" in out
    assert "served all samples" in out


def test_verify_takes_a_rule_of_ones_own(call, pair):
    code, out, err = call("verify", *pair, "--samples", 500, "--rule", MY_RULE)
    assert code == 0, out
    assert "lossless on" in err and "cautious@" in out
    code, out, err = call("verify", *pair, "--samples", 2000, "--rule", BIASED)
    assert code == 1
    assert "The claim is contradicted" in err


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["--samples", "5"], "samples is 5"),
        (["--rule", "coin-toss"], "'coin-toss'"),
        (["--rule", "no/such/file.py"], "No such file"),
        (["--xtc-probability", "0.5"], "xtc_probability is 0.5"),
        (["--target", "/no/such/folder"], "/no/such/folder"),
        (["--prompt", " "], "prompt is empty"),
    ],
)
def test_verify_refuses_wrong_input_with_2(call, args, named):
    code, out, err = call("verify", *args)
    assert (code, out) == (2, "")
    assert named in err and err.count("Error:") == 1


def test_check_rule_prints_the_verdict_and_its_table(call):
    code, out, _ = call("check-rule", MY_RULE)
    assert (code, out.count("\n")) == (0, 1)
    assert "lossless on" in out and "largest error" in out
    code, out, _ = call("check-rule", BIASED)
    assert code == 1
    assert "biased: TV" in out and "p = (" in out and "The claim is contradicted" in out


def test_check_rule_as_an_object_has_the_whole_table(call):
    code, out, _ = call("check-rule", BIASED, "--json")
    body = json.loads(out)
    assert code == 1
    assert (body["lossless"], body["claims_lossless"], body["contradicted"]) == (False, True, True)
    table = body["table"]
    assert {len(row["p"]) for row in table["rows"]} == {table["vocab"]}
    assert sum(line["emitted"] for line in table["law"]) == pytest.approx(1)


@pytest.mark.parametrize("name", ["block", "no_such.py", "README"])
def test_check_rule_refuses_what_is_no_file_with_2(call, name):
    code, out, err = call("check-rule", name)
    assert (code, out) == (2, "") and "Error:" in err


@pytest.fixture
def ran(call, pair, tmp_path):
    """What `run` prints under a rule of one's own: (status, object, stderr), and the database."""
    db = tmp_path / "own.sqlite"
    asked = ("--prompt", "the other", "--max-tokens", 8, "--rule", MY_RULE, "--json")
    code, out, err = call("run", "--db", db, *pair, *asked)
    return code, json.loads(out), err, db


def test_a_session_under_a_rule_of_ones_own_lives_without_its_file(call, ran, monkeypatch):
    """Run, replay, then forget the file, as another program would never have had it."""
    code, session, err, db = ran
    assert code == 0 and "lossless on" in err
    assert session["rule"].startswith("cautious@")
    code, out, _ = call("replay", 1, "--db", db, "--rules", f"{MY_RULE},stochastic", "--json")
    mine, other = json.loads(out)["lanes"]
    assert mine["reproduced"] is True and other["rule"] == "stochastic"

    monkeypatch.setattr(own, "_loaded", {})
    code, out, _ = call("show", 1, "--db", db, "--json")
    assert code == 0 and json.loads(out)["head"]["rule"] == session["rule"]
    for mode in ("rerun", "rejudge"):
        code, out, err = call("replay", 1, "--db", db, "--rules", session["rule"], "--mode", mode)
        assert code == 2 and "its file is not loaded" in err
    code, out, _ = call("replay", 1, "--db", db, "--rules", MY_RULE, "--mode", "rejudge", "--json")
    assert code == 0 and json.loads(out)["lanes"][0]["reproduced"] is True


def test_a_changed_file_is_another_rule(call, ran, tmp_path):
    db = ran[-1]
    changed = tmp_path / "mine.py"
    changed.write_text(MY_RULE.read_text() + "\n# changed\n")
    code, out, _ = call("replay", 1, "--db", db, "--rules", changed, "--mode", "rejudge", "--json")
    (lane,) = json.loads(out)["lanes"]
    assert code == 0 and "reproduced" not in lane


def test_the_form_takes_a_file_only_where_the_page_is_ones_own(controller, tiny_folder, tiny_draft):
    from engine.errors import BadSetting

    form = {"prompt": "the", "target": tiny_folder, "drafter": "none", "max_tokens": 2, "rule": str(MY_RULE)}
    session = controller.start(form)
    controller.wait(session)
    assert controller.head(session)["rule"].startswith("cautious@")
    assert controller.head(session)["lossless"] is True
    controller.own_rules = False
    try:
        with pytest.raises(BadSetting, match="open to other machines"):
            controller.start(form)
    finally:
        controller.own_rules = True


GOOD = (
    "[Speculative acceptance] rule=sampler_match rounds=2700 proposed=10800 positions_tested=5000 "
    "accepted=2935 per_position_acceptance=0.5870 acceptance_rate=0.2718 mean_accepted_len=1.0870\n"
    "[Speculative acceptance] closed_form_sum_min=0.7422 closed_form_sum_prod=0.5823\n"
)


def test_doctor_reads_a_log_and_names_the_rule(call, tmp_path):
    log = tmp_path / "server.log"
    log.write_text("starting\n" + GOOD)
    code, out, _ = call("doctor", "--log", log)
    assert code == 0
    assert "line 2: rule sampler_match" in out
    assert "the rate is that of sampler-match" in out


def test_doctor_exits_1_where_a_log_contradicts_its_rule(call, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(GOOD.replace("sampler_match", "stochastic"))
    code, out, _ = call("doctor", "--log", log, "--json")
    (run,) = json.loads(out)["runs"]
    assert code == 1
    assert (run["rule"], run["on_its_form"], run["sound"]) == ("stochastic", False, False)
    assert "sampler-match" in run["rules_there"]


def test_doctor_reads_standard_input_and_timings(call, monkeypatch):
    body = json.dumps({"timings": {"draft_n": 40, "draft_n_accepted": 41, "predicted_n": 60}})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(body.encode())))
    code, out, _ = call("doctor", "--log", "-")
    assert code == 1
    assert "impossible: accepted 41 is above proposed 40" in out


@pytest.mark.parametrize("kind", ["missing", "folder", "nothing in it"])
def test_doctor_refuses_a_log_it_cannot_read_with_2(call, tmp_path, kind):
    path = tmp_path / "log"
    if kind == "folder":
        path.mkdir()
    elif kind == "nothing in it":
        path.write_bytes(b"\x00\xff some text\n")
    code, out, err = call("doctor", "--log", path)
    assert (code, out) == (2, "") and "Error:" in err


def test_a_violation_and_a_cache_that_does_not_follow_are_told_in_words():
    from dataclasses import replace

    from engine.core.verify import Violation
    from engine.rules import RULES
    from tests.exactness.test_verify import ask

    found = ask(RULES["stochastic"], samples=200)
    found = replace(found, violations=(Violation((3,), 5, 2),), unshared=7, rows_tv=0.2)
    told = verify_report.reasons(found, {5: b"\xff"})
    assert told[0] == "token 5 '\\\\xff' came 2 times where the target gives it no mass"
    assert told[1].startswith("1 of 8 samples came out otherwise")
    assert "TV 0.2000" in told[2]


#: A power of 2 000 simulated samples -> what is said of it.
POWERS = {0.0: "< 0.1%", 0.0005: "0.1%", 0.131: "13.1%", 0.9995: "> 99.9%", 1.0: "> 99.9%"}


def test_a_power_is_no_surer_than_the_simulations_behind_it():
    assert {power: verify_report.power_text(power) for power in POWERS} == POWERS


@pytest.mark.parametrize(
    ("host", "here"), [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False), ("192.168.1.5", False)]
)
def test_a_page_for_others_loads_no_files(host, here):
    assert own_rules.only_here(host) is here


def test_the_page_on_logs_shows_what_doctor_prints(call, tmp_path):
    page = (ROOT / "docs" / "logs.md").read_text()
    quoted = [line[4:] for line in page.splitlines() if line.startswith("    ")]
    start = next(i for i, line in enumerate(quoted) if line.startswith("$ "))
    (tmp_path / "server.log").write_text("\n".join(quoted[:start]) + "\n")
    code, out, _ = call("doctor", "--log", tmp_path / "server.log")
    assert code == 1
    assert out.splitlines() == quoted[start + 1 :]


def test_tokens_outside_drafted_rounds_are_no_fault(call, tmp_path):
    log = tmp_path / "timings.json"
    log.write_text(json.dumps({"draft_n": 40, "draft_n_accepted": 20, "draft_rounds": 10, "predicted_n": 60}))
    code, out, _ = call("doctor", "--log", log)
    assert code == 0
    assert "note: 29 of 60 tokens came in rounds without drafts" in out
