// The exported page: the screen over the recording that the page itself holds. See inspector/static_page.py.

import { mount } from "./main.js";
import { recordedSource } from "./recorded.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = () => document.body.classList.toggle("dark", dark.matches);
dark.addEventListener("change", colour);
colour();

const recording = JSON.parse(document.getElementById("recording").textContent);
mount(document.getElementById("screen"), recordedSource(recording));
