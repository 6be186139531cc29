// What is being looked at. It stands in the address, so that a link restores it.

const PLAIN = {
  model: "", into: "", text: "", target: "", prefix: "", beam: 5, view: "translate", changes: [],
  tap: "", head: "mean", words: false, place: 0, unit: -1, step: -1, color: "", without: [],
  written: [], temperature: 1, sample: 0,
  vectors: "", placed: [], word: "", top: 300, projection: "", sum: "",
};

export const state = { ...PLAIN };

/** The address of what is being looked at: everything that is not as it was at the beginning. */
export function link() {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    const text = typeof PLAIN[name] === "string" ? value : JSON.stringify(value);
    const plain = typeof PLAIN[name] === "string" ? PLAIN[name] : JSON.stringify(PLAIN[name]);
    if (text !== plain) said.set(name, text);
  }
  return `#${said}`;
}

/** Takes over what an address says; what is none of ours is left out. */
export function restore(address) {
  const said = new URLSearchParams(address.replace(/^#/, ""));
  for (const [name, plain] of Object.entries(PLAIN)) {
    state[name] = plain;
    if (!said.has(name)) continue;
    if (typeof plain === "string") {
      state[name] = said.get(name);
      continue;
    }
    try {
      const value = JSON.parse(said.get(name));
      if (typeof value === typeof plain && Array.isArray(value) === Array.isArray(plain)) state[name] = value;
    } catch {
      // Not a link of this page: as it was.
    }
  }
}

export function remember() {
  const address = link();
  if (address !== location.hash) history.replaceState(null, "", address);
}
