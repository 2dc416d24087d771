// The views of the screen, in the order of their tabs. `whole` ones have the page to themselves; a view is offered
// where the source can do what it `needs`. A new view is a line here and its pane in main.js.

export const VIEWS = [
  { id: "inspect", title: "Inspect" },
  { id: "compare", title: "Compare" },
  { id: "stats", title: "Stats", whole: true, needs: "stats" },
  { id: "exactness", title: "Exactness", whole: true, needs: "verify", free: true },
  { id: "data", title: "Data", whole: true, needs: "data", free: true },
  { id: "lab", title: "Lab", whole: true, needs: "lab", free: true },
  { id: "faults", title: "Faults", whole: true, needs: "recording", free: true },
];

// A `free` view needs no session.
export const viewOf = (id) => VIEWS.find((view) => view.id === id);
