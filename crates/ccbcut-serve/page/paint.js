// Pictures of a cut, as the command paints them.

const palette = [[230, 159, 0], [86, 180, 233], [0, 158, 115], [240, 228, 66], [0, 114, 178], [213, 94, 0], [204, 121, 167]];
const none = 65535;
const line = [255, 225, 0];

/** The fixed colour of a label: a palette that people with any common colour vision tell apart, lighter and darker. */
export function labelColor(label) {
  const base = palette[label % palette.length];
  const towards = (target, share) => base.map((v) => Math.trunc(v + share * (target - v)));
  return [base, towards(0, 0.45), towards(255, 0.5), towards(0, 0.7)][Math.floor(label / palette.length) % 4];
}

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

const linear = Float64Array.from({ length: 256 }, (_, v) => {
  const s = v / 255;
  return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
});
const encoded = (v) => 255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055);

/** The mean colour of each part, averaged in linear light. */
export function meanColors(rgba, labels, n) {
  const sums = new Float64Array(4 * n);
  for (let p = 0; p < labels.length; p += 1) {
    if (labels[p] === none) continue;
    const at = 4 * labels[p];
    sums[at] += linear[rgba[4 * p]];
    sums[at + 1] += linear[rgba[4 * p + 1]];
    sums[at + 2] += linear[rgba[4 * p + 2]];
    sums[at + 3] += 1;
  }
  const mean = (label, c) => Math.round(encoded(sums[4 * label + c] / Math.max(1, sums[4 * label + 3])));
  return Array.from({ length: n }, (_, label) => [0, 1, 2].map((c) => mean(label, c)));
}

/** Every pixel in the colour of its part, four bytes at a time, in the order that the machine has them. */
function filled(out, labels, colors) {
  const word = (color) => new Uint32Array(Uint8Array.of(...color, 255).buffer)[0];
  const words = Uint32Array.from(colors, word);
  const gray = word([128, 128, 128]);
  const pixels = new Uint32Array(out.buffer);
  for (let p = 0; p < labels.length; p += 1) pixels[p] = labels[p] === none ? gray : words[labels[p]];
}

/** Paints a cut: `kind` is overlay, mean, labels or image. */
export function painted(kind, rgba, labels, n, width, height) {
  const picture = new ImageData(width, height);
  const out = picture.data;
  if (kind === "mean") {
    filled(out, labels, meanColors(rgba, labels, n));
  } else if (kind === "labels") {
    filled(out, labels, Array.from({ length: n }, (_, label) => labelColor(label)));
  } else {
    out.set(rgba);
    if (kind === "overlay") drawLines(out, labels, width, height);
  }
  return picture;
}

function drawLines(out, labels, width, height) {
  const lines = new Uint8Array(labels.length);
  for (let p = 0; p < labels.length; p += 1) {
    const right = (p + 1) % width ? p + 1 : -1;
    const below = p + width < labels.length ? p + width : -1;
    for (const q of [right, below]) {
      if (q >= 0 && labels[p] !== labels[q]) {
        lines[p] |= 1;
        lines[q] |= 2;
      }
    }
  }
  for (let p = 0; p < labels.length; p += 1) {
    if (lines[p] & 1) out.set(line, 4 * p);
    else if (lines[p]) for (let c = 0; c < 3; c += 1) out[4 * p + c] = Math.trunc(out[4 * p + c] / 3);
  }
}

/** Everything outside some parts is dimmed. */
export function dimmed(labels, isLit, width, height) {
  const picture = new ImageData(width, height);
  for (let p = 0; p < labels.length; p += 1) {
    if (!isLit(labels[p])) picture.data[4 * p + 3] = 95;
  }
  return picture;
}

export const isNone = (label) => label === none;
