// What is seen of an element, as an SVG that stands for itself: boxes, texts, drawings, pixels; for the pictures that
// people take along. Nothing of the page's style is needed to show it.

const SPACE = "http://www.w3.org/2000/svg";
const MARGIN = 8;
const FEW_PIXELS = 4096;
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-size", "font-weight", "paint-order", "text-anchor"];
/** What is there to be used, and not to be seen. */
const LEFT_OUT = ".taking, .zoom, .turning, .own, .buttons, .slider, .behind, .sr, input, label:has(input):not(.outputs label), .readout .hint";
const FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/** The text of the SVG, with its size. */
export function pictureOf(element) {
  const origin = element.getBoundingClientRect();
  const drawing = new Drawing(origin);
  drawing.element(element);
  const { left, top, right, bottom } = drawing.bounds;
  const [width, height] = [Math.ceil(right - left + 2 * MARGIN), Math.ceil(bottom - top + 2 * MARGIN)];
  const background = colorBehind(element);
  const text = `<svg xmlns="${SPACE}" width="${width}" height="${height}" viewBox="${round(left - MARGIN)} ${round(top - MARGIN)} ${width} ${height}" font-family="${FONT}">`
    + `<rect x="${round(left - MARGIN)}" y="${round(top - MARGIN)}" width="${width}" height="${height}" fill="${background}"/>${drawing.parts.join("")}</svg>\n`;
  return { text, width, height };
}

const round = (number) => Math.round(number * 100) / 100;
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const isClear = (color) => color === "transparent" || /[,/]\s*0\)$/.test(color);

function colorBehind(element) {
  for (let each = element; each; each = each.parentElement) {
    const color = getComputedStyle(each).backgroundColor;
    if (!isClear(color)) return color;
  }
  return "#fff";
}

class Drawing {
  constructor(origin) {
    this.origin = origin;
    this.parts = [];
    this.bounds = { left: 0, top: 0, right: 0, bottom: 0 };
    this.clips = 0;
  }

  box(rectangle) {
    return { x: round(rectangle.left - this.origin.left), y: round(rectangle.top - this.origin.top), width: round(rectangle.width), height: round(rectangle.height) };
  }

  /** Makes room for what is drawn. */
  reach({ x, y, width, height }) {
    const { bounds } = this;
    Object.assign(bounds, { left: Math.min(bounds.left, x), top: Math.min(bounds.top, y), right: Math.max(bounds.right, x + width), bottom: Math.max(bounds.bottom, y + height) });
  }

  element(element) {
    if (element.matches(LEFT_OUT)) return;
    const style = getComputedStyle(element);
    const clipped = style.clipPath !== "none" && element.tagName !== "svg";
    if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0" || clipped) return;
    if (style.transform !== "none" && !(element instanceof SVGElement)) return this.turned(element, style);
    const box = this.box(element.getBoundingClientRect());
    if (element instanceof SVGSVGElement) return this.drawing(element, box);
    if (element instanceof HTMLCanvasElement) return this.pixels(element, box);
    this.background(style, box);
    if (element instanceof HTMLSelectElement) {
      return this.words(element.selectedOptions[0]?.textContent, { ...box, x: box.x + parseFloat(style.paddingLeft) + 4 }, style);
    }
    const cut = style.textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth;
    if (cut) this.parts.push(`<clipPath id="clip${(this.clips += 1)}"><rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}"/></clipPath><g clip-path="url(#clip${this.clips})">`);
    const faded = style.opacity !== "1";
    if (faded) this.parts.push(`<g opacity="${style.opacity}">`);
    for (const child of element.childNodes) {
      if (child instanceof Text) this.text(child, style);
      else if (child instanceof Element) this.element(child);
    }
    if (faded) this.parts.push("</g>");
    if (cut) this.parts.push("</g>");
  }

  /** An element that is turned or moved: as it would stand without, and then turned. */
  turned(element, style) {
    const { transform, transformOrigin } = style;
    const before = element.style.transform;
    element.style.transform = "none";
    const box = this.box(element.getBoundingClientRect());
    const [left, top] = transformOrigin.split(" ").map(parseFloat);
    const [x, y] = [box.x + left, box.y + top];
    const { a, b, c, d, e, f } = new DOMMatrix(transform);
    this.parts.push(`<g transform="translate(${round(x)} ${round(y)}) matrix(${[a, b, c, d, e, f].map((each) => Math.round(each * 1e5) / 1e5).join(" ")}) translate(${round(-x)} ${round(-y)})">`);
    const { bounds } = this;
    this.bounds = { ...bounds };
    this.element(element);
    this.bounds = bounds;
    this.parts.push("</g>");
    element.style.transform = before;
    const now = this.box(element.getBoundingClientRect());
    this.reach(now);
  }

  background(style, box) {
    const line = parseFloat(style.borderTopWidth) && style.borderTopStyle !== "none" && !isClear(style.borderTopColor) ? parseFloat(style.borderTopWidth) : 0;
    const below = parseFloat(style.borderBottomWidth) && !isClear(style.borderBottomColor) ? parseFloat(style.borderBottomWidth) : 0;
    const ring = /^(rgba?\([^)]*\)|#\w+|oklch\([^)]*\)|color\([^)]*\)) 0px 0px 0px ([\d.]+)px/.exec(style.boxShadow);
    const fill = isClear(style.backgroundColor) ? "none" : style.backgroundColor;
    const framed = (inset, looks) => this.parts.push(`<rect x="${round(box.x + inset / 2)}" y="${round(box.y + inset / 2)}" width="${round(Math.max(0, box.width - inset))}"`
      + ` height="${round(Math.max(0, box.height - inset))}" rx="${parseFloat(style.borderTopLeftRadius) || 0}" ${looks}/>`);
    if (fill !== "none" || line) {
      this.reach(box);
      framed(line, `fill="${fill}"${line ? ` stroke="${style.borderTopColor}" stroke-width="${line}"` : ""}`);
    } else if (below) {
      const y = round(box.y + box.height - below / 2);
      this.parts.push(`<path d="M${box.x} ${y}H${round(box.x + box.width)}" stroke="${style.borderBottomColor}" stroke-width="${below}"/>`);
    }
    if (ring) framed(0, `fill="none" stroke="${ring[1]}" stroke-width="${ring[2]}"`);
  }

  /** A text, line by line where it is broken. */
  text(node, style) {
    if (!node.data.trim()) return;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rectangles = [...range.getClientRects()].filter((each) => each.width > 0);
    if (!rectangles.length) return;
    if (rectangles.length === 1) return this.words(style.whiteSpace.startsWith("pre") ? node.data : node.data.replaceAll(/\s+/g, " "), this.box(rectangles[0]), style, rectangles[0].width);
    // Characters by the line that they stand in.
    const lines = new Map();
    for (let place = 0; place < node.data.length; place += 1) {
      range.setStart(node, place);
      range.setEnd(node, place + 1);
      const rectangle = range.getClientRects()[0];
      if (!rectangle) continue;
      const line = Math.round(rectangle.top);
      const known = lines.get(line);
      if (!known) lines.set(line, { text: node.data[place], left: rectangle.left, top: rectangle.top, right: rectangle.right, height: rectangle.height });
      else Object.assign(known, { text: known.text + node.data[place], left: Math.min(known.left, rectangle.left), right: Math.max(known.right, rectangle.right) });
    }
    for (const { text, left, top, right, height } of lines.values()) {
      const words = text.replaceAll(/\s+/g, " ").trim();
      if (words) this.words(words, this.box({ left, top, width: right - left, height }), style);
    }
  }

  words(text, box, style, width = null) {
    if (!text) return;
    this.reach(box);
    const size = parseFloat(style.fontSize);
    const leftward = style.direction === "rtl" || /^[\u0590-\u08ff]/.test(text);
    const baseline = round(box.y + box.height / 2 + size * 0.35);
    const place = leftward ? box.x + box.width : box.x;
    const fit = width ? ` textLength="${round(width)}" lengthAdjust="spacingAndGlyphs"` : "";
    this.parts.push(`<text x="${round(place)}" y="${baseline}" font-size="${size}"${style.fontWeight === "400" ? "" : ` font-weight="${style.fontWeight}"`}${/mono/.test(style.fontFamily) ? ' font-family="monospace"' : ""}${leftward ? ' direction="rtl"' : ""} fill="${style.color}" xml:space="preserve"${fit}>${escaped(text)}</text>`);
  }

  /** Another SVG, with the style that the page gives it. */
  drawing(element, box) {
    const copy = element.cloneNode(true);
    const [own, copies] = [[element, ...element.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
    own.forEach((part, place) => {
      const style = getComputedStyle(part);
      for (const name of STYLES) copies[place].setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "style", "tabindex", "role", "aria-label", "aria-hidden"]) copies[place].removeAttribute(name);
      if (style.display === "none") copies[place].setAttribute("display", "none");
    });
    for (const [name, value] of Object.entries(box)) copy.setAttribute(name, value);
    if (!copy.getAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    copy.setAttribute("overflow", "visible");
    this.reach(box);
    this.parts.push(new XMLSerializer().serializeToString(copy));
  }

  /** A canvas: a rectangle for each run of cells of one color, or an image if there are many. */
  pixels(canvas, box) {
    this.reach(box);
    const { width, height } = canvas;
    if (width * height > FEW_PIXELS) {
      this.parts.push(`<image x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" preserveAspectRatio="none" image-rendering="pixelated" href="${canvas.toDataURL()}"/>`);
      return;
    }
    const colors = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer);
    const [wide, high] = [box.width / width, box.height / height];
    const cells = [];
    for (let row = 0; row < height; row += 1) {
      for (let column = 0, end; column < width; column = end) {
        const color = colors[row * width + column];
        for (end = column + 1; end < width && colors[row * width + end] === color; end += 1);
        const hex = [color & 255, (color >> 8) & 255, (color >> 16) & 255].map((channel) => channel.toString(16).padStart(2, "0")).join("");
        cells.push(`<rect x="${round(box.x + column * wide)}" y="${round(box.y + row * high)}" width="${round((end - column) * wide)}" height="${round(high)}" fill="#${hex}"/>`);
      }
    }
    this.parts.push(`<g shape-rendering="crispEdges">${cells.join("")}</g>`);
  }
}
