"""The form above the screen: prompt, Run, the settings, and a rule's parameters while it has some.

Gradio wants a fixed list of components, so a rule's parameters share a few slots that are named anew for each
rule; `values` and `updates` are the way from the components to the controller's form and back.
"""

from __future__ import annotations

import hashlib
import html
import json
from dataclasses import dataclass

import gradio as gr

Component = gr.components.Component


@dataclass
class PromptForm:
    """The form's components by the names of the controller's form. `slots` hold the chosen rule's parameters
    in their order, and `rule_file` a path that wins over the chosen rule."""

    fields: dict[str, Component]
    slots: list[gr.Number]
    rule_file: gr.Textbox
    run: gr.Button
    rules: dict[str, dict]

    @property
    def components(self) -> list[Component]:
        """All that is read and written, in one order."""
        return [*self.fields.values(), *self.slots, self.rule_file]

    def values(self, given: tuple) -> dict:
        """The components' values as the controller's form."""
        n = len(self.fields)
        form = dict(zip(self.fields, given[:n], strict=True))
        file = (given[-1] or "").strip()
        if file:
            return form | {"rule": file}
        names = [param["name"] for param in self.rules[form["rule"]]["parameters"]]
        return form | {"params": dict(zip(names, given[n:-1], strict=False))}

    def updates(self, form: dict) -> list:
        """The components set to a session's form; a rule that came from a file is named in its field."""
        known = form["rule"] in self.rules
        fields = [form[name] for name in self.fields]
        if not known:
            fields[list(self.fields).index("rule")] = gr.skip()
            return [*fields, *(gr.skip() for _ in self.slots), form["rule"]]
        return [*fields, *slot_updates(self.rules[form["rule"]], len(self.slots), form["params"]), ""]


def prompt_form(choices: dict, own_rules: bool) -> PromptForm:
    """Build the form. `own_rules` says whether a rule may be a file of this machine."""
    defaults, rules = choices["defaults"], {rule["id"]: rule for rule in choices["rules"]}
    fields: dict[str, Component] = {}
    with gr.Row(elem_classes="ds-formrow"):
        gr.HTML("<h1>draftscope</h1>", elem_classes="ds-brand", apply_default_css=False)
        fields["prompt"] = gr.Textbox(
            value=defaults["prompt"],
            placeholder="Ask the target model something",
            show_label=False,
            label="Prompt",
            container=False,
            lines=1,
            max_lines=6,
            scale=8,
            elem_id="prompt",
        )
        gr.HTML("<div id='stop-place'></div>", elem_classes="ds-stopplace", apply_default_css=False)
        run = gr.Button("Run", variant="primary", scale=0, min_width=96, elem_id="run")
    with gr.Row(elem_classes="ds-settings ds-firstsettings"):
        fields["rule"] = gr.Dropdown(
            [(f"{rule['title']} ({kind(rule)})", rule["id"]) for rule in rules.values()],
            value=defaults["rule"],
            label="Acceptance rule",
            scale=3,
            min_width=220,
            elem_id="rule",
        )
        fields["drafter"] = gr.Dropdown(
            choices["drafters"],
            value=defaults["drafter"],
            label="Drafter",
            allow_custom_value=True,
            scale=2,
            min_width=150,
            elem_id="drafter",
        )
        fields["k"] = number(defaults, "k", "Drafts, k", 0)
        fields["temperature"] = number(defaults, "temperature", "Temperature, T", None, step=0.1)
        fields["seed"] = number(defaults, "seed", "Seed", 0)
        fields["max_tokens"] = number(defaults, "max_tokens", "Max tokens", 0)
    first = rules[defaults["rule"]]
    with gr.Row(elem_classes="ds-settings ds-params"):
        slots = [slot(i, first) for i in range(max(len(rule["parameters"]) for rule in rules.values()))]
    with gr.Row(elem_classes="ds-meaningrow"):
        meaning = gr.HTML(meaning_of(first), elem_classes="ds-meaning", apply_default_css=False)
        gr.HTML(
            None, html_template=FOLD, js_on_load=FOLDING, elem_classes="ds-foldplace", apply_default_css=False
        )
    with gr.Column(elem_id=MORE, elem_classes="ds-more"):
        rule_file = more_settings(choices, fields, own_rules)

    def choose(rule_id: str) -> list:
        return slot_updates(rules[rule_id], len(slots), {})

    # `select`, not `change`: a form that is filled from a session brings its own parameters. And not `input`:
    # a choice fires it twice, and the second answer would undo what was typed into a parameter meanwhile.
    fields["rule"].select(choose, fields["rule"], slots, **QUIET)
    fields["rule"].change(lambda rule_id: meaning_of(rules[rule_id]), fields["rule"], meaning, **QUIET)
    return PromptForm(fields, slots, rule_file, run, rules)


def keep_typed(demo: gr.Blocks, form: PromptForm) -> None:
    """What was typed stays through a reload, for as long as the tab lives. The browser keeps it, so it is
    back before anybody can type; a form with other fields or rules does not read it."""
    shape = json.dumps([list(form.fields), len(form.slots), list(form.rules)])
    key = json.dumps(f"draftscope.form.{hashlib.sha256(shape.encode()).hexdigest()[:12]}")
    keep = f"(...values) => {{ sessionStorage.setItem({key}, JSON.stringify(values)); return []; }}"
    bring_back = f"(...values) => JSON.parse(sessionStorage.getItem({key}) ?? JSON.stringify(values))"
    rule, default = form.fields["rule"], form.fields["rule"].value

    def look_again(rule_id: str, *values: float) -> list:
        """The parameters' names and limits, for a rule that came back."""
        if rule_id == default:
            return [gr.skip() for _ in form.slots]
        names = [param["name"] for param in form.rules[rule_id]["parameters"]]
        return slot_updates(form.rules[rule_id], len(form.slots), dict(zip(names, values, strict=False)))

    private = {"api_visibility": "private"}
    gr.on([one.change for one in form.components], None, form.components, None, js=keep, **private)
    back = demo.load(None, form.components, form.components, js=bring_back, **private)
    back.then(look_again, [rule, *form.slots], form.slots, **QUIET)


#: The rest of the settings. No gr.Accordion: when one opens for the first time it puts its children's first
#: values over what a quick hand has typed meanwhile.
MORE = "more-settings"
FOLD = f"""
<button type="button" class="ds-fold" aria-expanded="false" aria-controls="{MORE}">More settings</button>
"""
FOLDING = f"""
const fold = element.querySelector("button");
fold.addEventListener("click", () => {{
  const open = fold.getAttribute("aria-expanded") !== "true";
  fold.setAttribute("aria-expanded", String(open));
  document.getElementById("{MORE}").toggleAttribute("data-open", open);
}});
"""

QUIET = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


def more_settings(choices: dict, fields: dict[str, Component], own_rules: bool) -> gr.Textbox:
    """The settings behind the fold; returns the field for a rule's file."""
    defaults = choices["defaults"]
    with gr.Row(elem_classes="ds-settings"):
        fields["target"] = gr.Dropdown(
            choices["targets"],
            value=defaults["target"],
            label="Target model",
            allow_custom_value=True,
            scale=2,
            min_width=200,
        )
        fields["top_k"] = number(defaults, "top_k", "Top-k (0: off)", 0)
        fields["top_p"] = number(defaults, "top_p", "Top-p (1: off)", None, step=0.05)
        fields["min_p"] = number(defaults, "min_p", "Min-p (0: off)", None, step=0.01)
        fields["stop"] = gr.Textbox(label="Stop string", value="", scale=1, min_width=110)
        fields["repetition_penalty"] = number(
            defaults, "repetition_penalty", "Repetition penalty (1: off)", None, step=0.05
        )
        fields["raw"] = gr.Checkbox(
            label="Raw prompt, no chat template", value=defaults["raw"], min_width=200
        )
    with gr.Row(elem_classes="ds-settings"):
        faults = [(f"{fault['title']} ({fault['id']})", fault["id"]) for fault in choices["faults"]]
        fields["fault"] = gr.Dropdown(
            [("none", ""), *faults],
            value=defaults["fault"],
            label="Fault on purpose: break the engine to see how it shows; the session is marked for good",
            scale=1,
            min_width=280,
            elem_id="fault",
        )
    with gr.Row(elem_classes="ds-settings", visible=own_rules):
        return gr.Textbox(
            label="Or a rule of your own: a Python file on this machine, in place of the rule above",
            placeholder="path/to/my_rule.py",
            value="",
            max_lines=1,
            elem_id="rule-file",
        )


def number(defaults: dict, name: str, label: str, precision: int | None, step: float = 1) -> gr.Number:
    return gr.Number(
        value=defaults[name],
        label=label,
        precision=precision,
        step=step,
        scale=1,
        min_width=96,
        elem_id=name.replace("_", "-"),
    )


def slot(i: int, rule: dict) -> gr.Number:
    """The place of a rule's i-th parameter."""
    return gr.Number(**slot_look(rule, i, {}), scale=1, min_width=220, elem_id=f"param-{i}")


def slot_updates(rule: dict, n: int, values: dict[str, float]) -> list[dict]:
    return [gr.update(**slot_look(rule, i, values)) for i in range(n)]


def slot_look(rule: dict, i: int, values: dict[str, float]) -> dict:
    """How the i-th slot looks for a rule: named and explained, or hidden.

    Never gone: a part that is made anew when it comes on view has not always its value yet when Run is
    pressed. And no limits: the controller says in our own words what is outside them.
    """
    if i >= len(rule["parameters"]):
        return {"visible": "hidden", "value": None, "label": "", "info": None}
    param = rule["parameters"][i]
    whole = isinstance(param["default"], int)
    span = param["high"] - param["low"]
    return {
        "visible": True,
        "value": values.get(param["name"], param["default"]),
        "label": param["name"],
        "info": meaning_of_param(param),
        "step": 1 if whole else 0.01 if span <= 1 else 0.1,
        "precision": 0 if whole else None,
    }


def meaning_of_param(param: dict) -> str:
    """What it does, its limits, and where its default comes from."""
    limits = f"{param['low']:g} to {param['high']:g}"
    return f"{param['meaning']} {limits}; {param['default']:g}: {param['origin']}."


def kind(rule: dict) -> str:
    return "lossless" if rule["lossless"] else "faulty" if rule["faulty"] else "biased"


def meaning_of(rule: dict) -> str:
    """Our own words from the rule table, escaped all the same."""
    return f"{html.escape(rule['meaning'])} <code>{html.escape(rule['formula'])}</code>"
