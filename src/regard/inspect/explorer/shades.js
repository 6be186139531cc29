// Colors that people who do not tell red from green can tell apart: blue to yellow (after cividis) for amounts, orange
// to purple (after PuOr) for what has a sign. Nothing is the color of the page, in light and in dark.

import { make } from "./dom.js";

const LIGHT = ["#ffffff", "#f7f0cf", "#dccf98", "#a9a285", "#737a80", "#40557a", "#143a6b", "#00204d"];
const DARK = ["#161d26", "#12335f", "#33507a", "#5f6b83", "#8c8781", "#bba971", "#e3cd58", "#ffee7a"];
const BELOW = { light: ["#ffffff", "#fdd9ab", "#f0a149", "#c9690d", "#7f3b08"], dark: ["#161d26", "#5a3512", "#a65a10", "#e58c2b", "#ffc078"] };
const ABOVE = { light: ["#ffffff", "#dcd9ec", "#ab9fce", "#70529d", "#35104f"], dark: ["#161d26", "#3a3160", "#6b5aa3", "#a593d6", "#dccfff"] };
const STEPS = 256;

export const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

const tables = {};

function tableOf(name, stops) {
  if (!tables[name]) {
    const colors = stops.map((stop) => [1, 3, 5].map((place) => parseInt(stop.slice(place, place + 2), 16)));
    tables[name] = Array.from({ length: STEPS }, (_, step) => {
      const place = (step / (STEPS - 1)) * (colors.length - 1);
      const low = Math.min(Math.floor(place), colors.length - 2);
      return colors[low].map((channel, index) => Math.round(channel + (colors[low + 1][index] - channel) * (place - low)));
    });
  }
  return tables[name];
}

/** The color of a share from -1 to 1, as red, green and blue; signed amounts have other colors than those that cannot
 * be below zero. */
export function shade(share, signed = false) {
  const theme = isDark() ? "dark" : "light";
  const step = Math.round(Math.min(Math.abs(share) || 0, 1) * (STEPS - 1));
  if (!signed) return tableOf(theme, theme === "dark" ? DARK : LIGHT)[step];
  return share < 0 ? tableOf(`below ${theme}`, BELOW[theme])[step] : tableOf(`above ${theme}`, ABOVE[theme])[step];
}

export const css = (color) => `rgb(${color.join(" ")})`;

/** Gives an element the color of a share, and its text the one that is read on it: 0.179 is as far from black as from
 * white. */
export function tint(element, share, signed = false) {
  const color = shade(share, signed);
  const [red, green, blue] = color.map((channel) => (channel / 255) ** 2.2);
  element.style.background = css(color);
  element.style.color = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
}

/** What colors mean: a strip of them, with what stands at its two ends. */
export function scale(low, high, isSigned = false) {
  const colors = Array.from({ length: 9 }, (_, place) => css(isSigned ? shade(place / 4 - 1, true) : shade(place / 8)));
  const strip = make("span", { class: "strip" });
  strip.style.background = `linear-gradient(to right, ${colors.join()})`;
  return make("span", { class: "hint scale" }, low, strip, high);
}

/** Puts a matrix on a canvas, one pixel a number; NaN has none. */
export function paint(canvas, { values, rows, columns, largest, signed }, leftward = false) {
  canvas.width = Math.max(columns, 1);
  canvas.height = Math.max(rows, 1);
  if (!values.length) return;
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const packed = (color) => (255 << 24) | (color[2] << 16) | (color[1] << 8) | color[0];
  const known = (sign) => Array.from({ length: STEPS }, (_, step) => packed(shade((sign * step) / (STEPS - 1), signed)));
  const above = known(1);
  const below = signed ? known(-1) : above;
  const scale = (STEPS - 1) / (largest || 1);
  for (let place = 0; place < values.length; place += 1) {
    if (Number.isNaN(values[place])) continue; // transparent: what is behind the canvas stands for what is missing
    const step = Math.min(Math.abs(values[place]) * scale + 0.5 || 0, STEPS - 1) | 0;
    const column = place % columns;
    pixels[leftward ? place - column + columns - 1 - column : place] = (values[place] < 0 ? below : above)[step];
  }
  pen.putImageData(image, 0, 0);
}
