// Answers that were written into a page, where there is no server behind it (`regard/inspect/recording.py`).

const KINDS = { uint16: [Uint16Array, 65535], int16: [Int16Array, 32767] };

class Recorded {
  constructor({ models, answers, inspections }) {
    Object.assign(this, { models, answers, inspections });
  }

  /** What the server would answer; null if nobody asked it when the page was saved. */
  answer(path, body) {
    if (path === "/api/models") return answered(this.models);
    const [, model, verb] = /^\/api\/models\/([^/]+)\/(\w+)$/.exec(path) || [];
    if (model) return this.known(`${verb} ${decodeURIComponent(model)} ${canonical(JSON.parse(body))}`);
    const [, id, kind] = /^\/api\/inspections\/(\w+)\/derived\/(\w+)$/.exec(path) || [];
    if (id) return this.known(`${kind} ${id}`);
    const [, of, query] = /^\/api\/inspections\/(\w+)\/array\?(.*)$/.exec(path) || [];
    return of ? this.array(this.inspections[of], new URLSearchParams(query)) : null;
  }

  known(request) {
    const found = this.answers[request];
    if (found === undefined) return null;
    return answered(typeof found === "string" ? this.inspections[found] : found);
  }

  array(shown, query) {
    const array = shown.arrays.find(({ name }) => name === query.get("name"));
    let [values, axes, shape] = [unpacked(array), array.axes, array.shape];
    if (axes[0] === "head" && query.get("head") !== "all") {
      [values, axes, shape] = [headOf(values, shape, query.get("head")), axes.slice(1), shape.slice(1)];
    }
    if (query.get("words") === "true") [values, shape] = folded(values, shape, ...axes.slice(-2).map((axis) => shown.words[axis]));
    const most = Number(query.get("most"));
    if (most) [values, shape] = pooled(values, shape, most);
    let largest = 0;
    for (const value of values) if (Math.abs(value) > largest && Number.isFinite(value)) largest = Math.abs(value);
    const headers = new Map([["x-shape", shape.join(",")], ["x-type", "float32"], ["x-largest", String(largest)]]);
    return { arrayBuffer: async () => Float32Array.from(values).buffer, headers };
  }
}

const answered = (value) => ({ json: async () => structuredClone(value) });

/** A request as Python writes it too: names in order, and nothing that is not said. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const said = Object.entries(value).filter(([, each]) => each !== null && each !== undefined && each !== "" && each !== false);
  return `{${said.sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(",")}}`;
}

/** The numbers of an array, which are there as they are or in 16 bits. */
export function unpacked({ values, packed }) {
  if (values) return Float32Array.from(values, Number);
  const bytes = Uint8Array.from(atob(packed.data), (character) => character.charCodeAt(0));
  const [Kind, steps] = KINDS[packed.type];
  return Float32Array.from(new Kind(bytes.buffer), (value) => (value / steps) * packed.largest);
}

function headOf(values, [heads, ...shape], head) {
  const size = shape.reduce((product, each) => product * each, 1);
  if (/^\d+$/.test(head)) return values.subarray(Number(head) * size, (Number(head) + 1) * size);
  const found = values.slice(0, size);
  for (let each = 1; each < heads; each += 1) for (let place = 0; place < size; place += 1) {
    const value = values[each * size + place];
    found[place] = head === "max" ? Math.max(found[place], value) : found[place] + value;
  }
  return head === "max" ? found : found.map((value) => value / heads);
}

/** Weights between words: the sum of what pieces of a source word get, the mean of those of a target word. */
function folded(values, shape, rowWords, columnWords) {
  const count = (words) => 1 + words.reduce((most, word) => (word === null ? most : Math.max(most, word)), -1);
  const [tall, wide] = [count(rowWords), count(columnWords)];
  const pieces = Array.from({ length: tall }, (_, word) => rowWords.filter((each) => each === word).length || 1);
  return gathered(values, shape, [tall, wide], (r, c) => [rowWords[r], columnWords[c]], (sum, value, row) => sum + value / pieces[row]);
}

/** At most so many rows and columns, each with the largest absolute value that it stands for. */
function pooled(values, shape, most) {
  const [rows, columns] = shape.slice(-2);
  if (rows <= most && columns <= most) return [values, shape];
  const [tall, wide] = [Math.min(rows, most), Math.min(columns, most)];
  return gathered(values, shape, [tall, wide], (r, c) => [Math.floor((r * tall) / rows), Math.floor((c * wide) / columns)],
    (most, value) => (Math.abs(value) > Math.abs(most) ? value : most));
}

/** Matrices with fewer rows and columns: `to(r, c)` says which a number goes to, or null, and `join` what becomes of those
 * that go to one. */
function gathered(values, shape, [tall, wide], to, join) {
  const [rows, columns] = shape.slice(-2);
  const found = new Float32Array((values.length / (rows * columns)) * tall * wide);
  values.forEach((value, place) => {
    const [head, r, c] = [Math.floor(place / (rows * columns)), Math.floor(place / columns) % rows, place % columns];
    const [row, column] = to(r, c);
    if (row === null || column === null) return;
    const goal = (head * tall + row) * wide + column;
    found[goal] = join(found[goal], value, row);
  });
  return [found, [...shape.slice(0, -2), tall, wide]];
}

const written = document.getElementById("recorded");

/** What was recorded; null where a server answers. */
export const recorded = written && new Recorded(JSON.parse(written.textContent));
