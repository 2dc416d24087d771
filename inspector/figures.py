"""Plotly figures of a session's statistics. Colours are the screen's own, by name: the browser puts in what
they are in its light or dark style, so a figure is made once and follows the theme."""

from __future__ import annotations

import plotly.graph_objects as go

#: CSS custom properties of assets/styles/inspector.css.
INK, SOFT, FAINT, TRACK = (f"var(--{name})" for name in ("ink", "soft", "faint", "track"))
ACCEPTED, REJECTED, CORRECTED = (f"var(--{name})" for name in ("accepted", "rejected", "corrected"))

PERCENT = ".0%"


def all_of(stats: dict) -> dict[str, dict]:
    """Every figure that the statistics have data for, by name, as Plotly's JSON."""
    made = {
        "depth": by_depth(stats["by_depth"]) if stats["by_depth"] else None,
        "lengths": lengths(stats["lengths"]) if stats["rounds"] else None,
        "entropy": by_entropy(stats["by_entropy"]) if stats["by_entropy"] else None,
        "closed": closed_forms(stats) if stats["measured"]["whole"] else None,
        "passes": per_pass(stats["pace"]) if stats["pace"] else None,
        "speed": speed(stats["pace"]) if any(one["per_second"] for one in stats["pace"]) else None,
        "stages": stages(stats) if any(one["ms"] for one in stats["stages"]) else None,
    }
    return {name: figure.to_plotly_json() for name, figure in made.items() if figure is not None}


def figure(*traces: go.Bar | go.Scatter, x: str, y: str, **layout: object) -> go.Figure:
    """Traces on two named axes, without Plotly's own look."""
    made = go.Figure(data=traces)
    made.update_layout(template=None, xaxis_title_text=x, yaxis_title_text=y, **layout)
    return made


def spans(cells: list[dict]) -> dict:
    """Error bars from the rate to both ends of its interval."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0 if one["rate"] is None else one["high"] - one["rate"] for one in cells],
        "arrayminus": [0 if one["rate"] is None else one["rate"] - one["low"] for one in cells],
        "color": INK,
        "thickness": 1.2,
        "width": 4,
    }


def counted(cells: list[dict]) -> list[str]:
    return [f"{one['part']} of {one['whole']}" for one in cells]


def by_depth(cells: list[dict]) -> go.Figure:
    """Of the drafts tested at each depth, the share that was accepted."""
    bars = go.Bar(
        x=[str(one["depth"]) for one in cells],
        y=[one["rate"] for one in cells],
        error_y=spans(cells),
        text=counted(cells),
        textposition="none",
        marker_color=ACCEPTED,
        hovertemplate="draft %{x}: %{y:.1%} accepted<br>%{text} tested<extra></extra>",
    )
    return figure(
        bars,
        x="draft of the round",
        y="accepted, of tested",
        xaxis_type="category",
        yaxis_range=[0, 1],
        yaxis_tickformat=PERCENT,
    )


def lengths(cells: list[dict]) -> go.Figure:
    """How many rounds accepted how many drafts."""
    bars = go.Bar(
        x=[str(one["accepted"]) for one in cells],
        y=[one["part"] for one in cells],
        text=[f"{one['rate']:.0%}" for one in cells],
        textposition="outside",
        cliponaxis=False,
        marker_color=ACCEPTED,
        hovertemplate="%{y} rounds accepted %{x} drafts (%{text})<extra></extra>",
    )
    return figure(bars, x="drafts accepted in the round", y="rounds", xaxis_type="category")


def by_entropy(cells: list[dict]) -> go.Figure:
    """Acceptance where the target is sure and where it is not, beside the ceiling sum min(p, q)."""
    x = [one["mean"] for one in cells]
    ceiling = go.Scatter(
        x=x,
        y=[one["sum_min"] for one in cells],
        name="sum min(p, q)",
        mode="lines+markers",
        line={"color": FAINT, "dash": "dot", "width": 1.5},
        marker={"symbol": "diamond-open", "size": 7, "color": FAINT},
        hovertemplate="mean sum min(p, q) %{y:.1%}<extra></extra>",
    )
    rates = go.Scatter(
        x=x,
        y=[one["rate"] for one in cells],
        name="accepted",
        mode="lines+markers",
        error_y=spans(cells),
        text=counted(cells),
        line={"color": ACCEPTED, "width": 2},
        marker={"size": 8, "color": ACCEPTED},
        hovertemplate="entropy %{x:.2f} nat: %{y:.1%} accepted<br>%{text} tested<extra></extra>",
    )
    return figure(
        ceiling,
        rates,
        x="entropy of p, nat",
        y="accepted, of tested",
        yaxis_range=[0, 1.02],
        yaxis_tickformat=PERCENT,
    )


def closed_forms(stats: dict) -> go.Figure:
    """The measured acceptance and, one line each, what each closed form expects with its 95 % range."""
    measured, forms = stats["measured"], [one for one in stats["closed_forms"] if one["expected"] is not None]
    expected = go.Scatter(
        x=[one["expected"] for one in forms],
        y=[one["name"] for one in forms],
        name="expected",
        mode="markers",
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [one["high"] - one["expected"] for one in forms],
            "arrayminus": [one["expected"] - one["low"] for one in forms],
            "color": SOFT,
            "thickness": 2,
            "width": 7,
        },
        marker={"symbol": "diamond", "size": 10, "color": CORRECTED},
        hovertemplate="%{y} expects %{x:.2%}<extra></extra>",
    )
    found = go.Scatter(
        x=[measured["rate"]],
        y=["measured"],
        name="measured",
        mode="markers",
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [measured["high"] - measured["rate"]],
            "arrayminus": [measured["rate"] - measured["low"]],
            "color": ACCEPTED,
            "thickness": 3,
            "width": 9,
        },
        marker={"symbol": "circle", "size": 11, "color": ACCEPTED},
        text=counted([measured]),
        hovertemplate="measured %{x:.2%}, %{text}<extra></extra>",
    )
    rate = measured["rate"]
    line = {"type": "line", "x0": rate, "x1": rate, "yref": "paper", "y0": 0, "y1": 1}
    made = figure(expected, found, x="acceptance of tested drafts", y="", xaxis_tickformat=PERCENT)
    made.update_layout(
        shapes=[line | {"line": {"color": ACCEPTED, "width": 1, "dash": "dot"}}],
        yaxis={
            "categoryorder": "array",
            "categoryarray": [*(one["name"] for one in reversed(forms)), "measured"],
        },
    )
    return made


def steps_of(pace: list[dict]) -> tuple[list[float], list[str]]:
    """The middle of each stretch of rounds, and the stretch in words."""
    middles = [(one["from"] + one["to"]) / 2 for one in pace]
    words = [
        f"round {one['from']}" if one["from"] == one["to"] else f"rounds {one['from']} to {one['to']}"
        for one in pace
    ]
    return middles, words


def per_pass(pace: list[dict]) -> go.Figure:
    """Tokens a target pass along the session, and their mean so far."""
    x, words = steps_of(pace)
    emitted, passes, mean = 0, 0, []
    for one in pace:
        emitted, passes = emitted + one["emitted"], passes + one["passes"]
        mean.append(emitted / passes)
    return figure(
        go.Scatter(
            x=x,
            y=[one["per_pass"] for one in pace],
            name="stretch",
            mode="lines" if len(pace) > 1 else "markers",
            line={"color": FAINT, "width": 1.2, "shape": "hvh"},
            text=words,
            hovertemplate="%{text}: %{y:.2f}<extra></extra>",
        ),
        go.Scatter(
            x=x,
            y=mean,
            name="mean so far",
            mode="lines" if len(pace) > 1 else "markers",
            line={"color": ACCEPTED, "width": 2.5},
            hovertemplate="mean so far %{y:.2f}<extra></extra>",
        ),
        x="round",
        y="tokens per target pass",
        yaxis_rangemode="tozero",
    )


def speed(pace: list[dict]) -> go.Figure:
    """Tokens a second along the session."""
    x, words = steps_of(pace)
    curve = go.Scatter(
        x=x,
        y=[one["per_second"] for one in pace],
        mode="lines+markers" if len(pace) < 40 else "lines",
        line={"color": INK, "width": 1.6},
        marker={"size": 5, "color": INK},
        text=[
            f"{word}: {one['emitted']} tokens in {one['ms']:.0f} ms"
            for word, one in zip(words, pace, strict=True)
        ],
        hovertemplate="%{text}<br>%{y:.1f} tokens a second<extra></extra>",
    )
    return figure(curve, x="round", y="tokens a second", yaxis_rangemode="tozero")


#: Stage -> its bar's colour and, as a second cue, its pattern.
LOOK = {
    "draft": (FAINT, "/"),
    "target": (INK, ""),
    "judge": (REJECTED, "x"),
    "matrix": (TRACK, "."),
    "store": (FAINT, "|"),
}


def stages(stats: dict) -> go.Figure:
    """Where the time of an average round goes, as one stacked bar."""
    bars = [
        go.Bar(
            x=[one["ms"] / stats["rounds"]],
            y=["a round"],
            name=one["stage"],
            orientation="h",
            marker={
                "color": LOOK[one["stage"]][0],
                "pattern": {"shape": LOOK[one["stage"]][1], "fillmode": "replace"},
            },
            hovertemplate=f"{one['stage']}: %{{x:.2f}} ms a round, {one['share']:.0%}<extra></extra>",
        )
        for one in stats["stages"]
    ]
    made = figure(*bars, x="mean milliseconds a round", y="", barmode="stack")
    made.update_layout(
        yaxis_showticklabels=False,
        showlegend=True,
        legend={"orientation": "h", "y": 1.25, "traceorder": "normal"},
    )
    return made
