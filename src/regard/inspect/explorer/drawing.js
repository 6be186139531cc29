// Parts of drawings.
import { filled } from "./dom.js";

/** A part of an SVG with attributes (`on…` are listeners), then texts and children. */
export function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}
