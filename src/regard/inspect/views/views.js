// The views that need no model behind them. Each draws one inspection in a place of the page, and reads and writes what is
// chosen in it in a plain object; which there are is decided by what the inspection holds. Those of what is `inside` come
// after what the model gives.
import { drawArcs, hasArcs } from "./arcs.js";
import { drawGradients, hasGradients } from "./gradients.js";
import { drawLabels, hasLabels } from "./labels.js";
import { drawMap, hasMap } from "./map.js";
import { drawReading, hasReading } from "./reading.js";
import { drawStates, hasStates } from "./states.js";

export const SEEN = [
  { name: "labels", label: "Labels", fits: hasLabels, draw: drawLabels },
  { name: "arcs", label: "Tree", fits: hasArcs, draw: drawArcs },
  { name: "reading", label: "Surprisal", fits: hasReading, draw: drawReading },
  { name: "map", label: "Map", fits: hasMap, draw: drawMap },
  { name: "gradients", label: "Gradients", fits: hasGradients, draw: (place, seen, state) => drawGradients(place, [{ norms: seen }], state) },
  { name: "states", label: "States", inside: true, fits: hasStates, draw: drawStates },
];

/** What is chosen before anything is. */
export const NOTHING_CHOSEN = { tap: "", place: 0, unit: -1, step: -1, color: "", word: "" };
