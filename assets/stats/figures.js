// Plotly figures in the screen's own colours. Plotly itself is a file of the Python package, fetched from this
// machine the first time a figure is drawn; a figure names its colours, and the theme says what they are.

let loading = null;

export function loadPlotly(address) {
  loading ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", () => done(window.Plotly));
    script.addEventListener("error", () => {
      loading = null;
      fail(new Error("The charts could not be loaded."));
    });
    document.head.append(script);
  });
  return loading;
}

const NAMED = /^var\((--[\w-]+)\)$/;

// A figure with every named colour replaced by what look(name) says.
export function coloured(value, look) {
  if (typeof value === "string") {
    const name = NAMED.exec(value);
    return name ? look(name[1]) : value;
  }
  if (Array.isArray(value)) return value.map((one) => coloured(one, look));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, coloured(one, look)]));
  }
  return value;
}

// The figure's layout on our paper: no frame, thin lines, the screen's letters. uirevision keeps a zoom.
export function dressed(layout, look, revision) {
  const axis = (own = {}) => ({
    gridcolor: look("--rule"),
    linecolor: look("--rule"),
    zerolinecolor: look("--rule"),
    tickcolor: look("--rule"),
    tickfont: { color: look("--faint"), size: 11 },
    automargin: true,
    ...own,
    title: { ...own.title, font: { size: 12, color: look("--soft") }, standoff: 8 },
  });
  return {
    ...layout,
    uirevision: revision,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: look("--sans"), size: 12, color: look("--ink") },
    margin: { l: 48, r: 12, t: 10, b: 40, ...layout.margin },
    bargap: 0.35,
    hoverlabel: {
      bgcolor: look("--ink"),
      bordercolor: look("--ink"),
      font: { color: look("--panel"), size: 12 },
    },
    legend: {
      orientation: "h",
      x: 0,
      y: 1.16,
      font: { size: 11.5, color: look("--soft") },
      ...layout.legend,
    },
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
  };
}

const CONFIG = {
  responsive: true,
  displaylogo: false,
  displayModeBar: "hover",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toggleSpikelines"],
};

export function drawFigure(plotly, node, figure, revision) {
  const style = getComputedStyle(node);
  const look = (name) => style.getPropertyValue(name).trim();
  const { data, layout } = coloured(figure, look);
  return plotly.react(node, data, dressed(layout, look, revision), CONFIG);
}
