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
  const sums = Array.from({ length: n }, () => [0, 0, 0, 0]);
  for (let p = 0; p < labels.length; p += 1) {
    if (labels[p] === none) continue;
    const sum = sums[labels[p]];
    for (let c = 0; c < 3; c += 1) sum[c] += linear[rgba[4 * p + c]];
    sum[3] += 1;
  }
  return sums.map((sum) => [0, 1, 2].map((c) => Math.round(encoded(sum[c] / Math.max(1, sum[3])))));
}

function filled(out, labels, colorOf) {
  for (let p = 0; p < labels.length; p += 1) {
    const color = labels[p] === none ? [128, 128, 128] : colorOf(labels[p]);
    out.set(color, 4 * p);
    out[4 * p + 3] = 255;
  }
}

/** Paints a cut: `kind` is overlay, mean, labels or image. */
export function painted(kind, rgba, labels, n, width, height) {
  const picture = new ImageData(width, height);
  const out = picture.data;
  if (kind === "mean") {
    const colors = meanColors(rgba, labels, n);
    filled(out, labels, (label) => colors[label]);
  } else if (kind === "labels") {
    const colors = Array.from({ length: n }, (_, label) => labelColor(label));
    filled(out, labels, (label) => colors[label]);
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
