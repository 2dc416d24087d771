"""What the check of a rule of one's own found, as an object and as text."""

from __future__ import annotations

from engine.core.rule_check import Report, Worst
from engine.rules.own import Own

SHOWN = 6  # outcomes of a biased law in the text


def rule_object(own: Own) -> dict:
    """What `check-rule --json` prints."""
    rule, report = own.rule, own.report
    words = ("id", "title", "meaning", "formula", "source", "closed_form", "looks_ahead", "params")
    return {name: getattr(rule, name) for name in words} | {
        "file": str(own.path),
        "sha256": own.sha256,
        "lossless": report.lossless,
        "claims_lossless": report.claims,
        "contradicted": report.contradicted,
        "lacks_looks_ahead": report.ahead,
        "tables": report.tables,
        "largest_tv": report.error,
        "verdict": verdict(report),
        "table": None if report.worst is None else table_object(report.worst),
    }


def verdict(report: Report) -> str:
    """One sentence."""
    if report.lossless:
        return f"lossless on {report.tables} random tables, largest error {report.error:.1e}"
    return (
        f"biased: TV {report.worst.tv:.4f} on this table ({report.error:.4f} on the worst of {report.tables})"
    )


def table_object(worst: Worst) -> dict:
    """The table, every row by the tokens before it, and both laws by the tokens emitted."""
    case = worst.case
    return {
        "kind": case.kind,
        "vocab": case.vocab,
        "k": case.k,
        "tv": worst.tv,
        "rows": [
            {"after": list(prefix), "p": case.p(prefix).tolist(), "q": case.q(prefix).tolist()}
            for prefix in worst.prefixes
        ],
        "law": [
            {"tokens": list(tokens), "emitted": worst.emitted.get(tokens, 0.0), "target": prob}
            for tokens, prob in sorted(worst.right.items())
        ],
    }


def rule_text(own: Own) -> str:
    """The verdict, the table it rests on, and what to do about a claim that does not hold."""
    report = own.report
    lines = [f"{own.rule.id}: {verdict(report)}"]
    if report.worst is not None:
        lines += table_lines(report.worst)
    if report.contradicted:
        lines.append("It claims lossless = True. The claim is contradicted and does not count.")
    if report.ahead:
        lines.append(
            "It looks ahead without saying so: with looks_ahead = True it is lossless on every table."
        )
    if report.lossless and not report.claims:
        lines.append("It claims nothing; lossless = True would hold.")
    return "\n".join(lines)


def table_lines(worst: Worst) -> list[str]:
    case = worst.case
    lines = [f"  {case.vocab} tokens, {case.k} drafted a round, rows {case.kind}"]
    for prefix in worst.prefixes:
        after = " ".join(map(str, prefix)) or "the start"
        lines.append(f"  after {after:<10} p = {numbers(case.p(prefix))}   q = {numbers(case.q(prefix))}")
    apart = sorted(worst.right, key=lambda tokens: -abs(worst.emitted.get(tokens, 0.0) - worst.right[tokens]))
    for tokens in sorted(apart[:SHOWN]):
        text = " ".join(map(str, tokens))
        emitted, right = worst.emitted.get(tokens, 0.0), worst.right[tokens]
        lines.append(f"  emits {text:<10} with probability {emitted:.4f}, the target with {right:.4f}")
    return lines


def numbers(row) -> str:
    return "(" + ", ".join(f"{value:.4f}" for value in row) + ")"
