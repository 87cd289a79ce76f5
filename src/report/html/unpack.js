"use strict";
// From packed columns to lanes of spans that are drawn.
const hallway = {};

// A lane has at most so many lines; what does not fit shares the last one.
hallway.LINES = 4;

hallway.unpack = async text => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(plain).text());
};

// Spans of a view as columns of absolute values.
hallway.spans = view => {
  const [rows, calls, starts, lengths, whys, afters] = view.columns;
  const count = rows.length;
  const spans = {
    count, row: rows, call: new Int32Array(count), start: new Float64Array(count),
    end: new Float64Array(count), why: whys, after: new Int32Array(count),
  };
  let call = 0, start = 0, row = 0;
  for (let at = 0; at < count; at++) {
    if (rows[at] !== row) { row = rows[at]; start = 0; }
    call += calls[at];
    start += starts[at];
    spans.call[at] = call;
    spans.start[at] = start;
    spans.end[at] = start + lengths[at];
    spans.after[at] = call - afters[at];
  }
  return spans;
};

// Lanes from top to bottom: host threads, then engines, or streams if asked for.
hallway.lanes = (data, spans, byStream) => {
  const lanes = new Map();
  for (let at = 0; at < spans.count; at++) {
    const row = spans.row[at];
    const stream = data.calls[2][spans.call[at]];
    const moves = byStream && data.rows[row].kind !== "host" && stream >= 0;
    const key = moves ? data.rows.length + stream : row;
    if (!lanes.has(key)) {
      const name = moves ? data.streams[stream] : data.rows[row].name;
      lanes.set(key, { key, name, spans: [] });
    }
    lanes.get(key).spans.push(at);
  }
  const sorted = [...lanes.values()].sort((one, other) => one.key - other.key);
  const waits = at => data.rows[spans.row[at]].kind === "host" && data.calls[6][spans.call[at]] === 1;
  for (const lane of sorted) hallway.arrange(lane, spans, byStream, waits);
  return sorted;
};

// Puts spans that overlap on lines of their own: each goes to the first line that is free.
hallway.arrange = (lane, spans, mixed, waits) => {
  if (mixed) lane.spans.sort((a, b) => spans.start[a] - spans.start[b] || spans.end[a] - spans.end[b]);
  const lines = [];
  lane.busy = hallway.busy(lane, spans, waits);
  for (const at of lane.spans) {
    let line = lines.find(one => one.until <= spans.start[at]);
    if (!line && lines.length < hallway.LINES) lines.push(line = { until: 0, spans: [] });
    line = line || lines[lines.length - 1];
    line.spans.push(at);
    line.until = Math.max(line.until, spans.end[at]);
  }
  lane.lines = lines.map(line => {
    // The latest end so far, so that a search finds the first span in view where spans overlap.
    const reached = new Float64Array(line.spans.length);
    // Time taken by all spans before each place, and in the end by all of them.
    const taken = new Float64Array(line.spans.length + 1);
    let latest = 0;
    line.spans.forEach((at, place) => {
      reached[place] = latest = Math.max(latest, spans.end[at]);
      taken[place + 1] = taken[place] + spans.end[at] - spans.start[at];
    });
    return { spans: Int32Array.from(line.spans), reached, taken };
  });
};

// Time in which a lane does something, without waiting for what others do.
hallway.busy = (lane, spans, waits) => {
  let busy = 0, reached = 0;
  for (const at of lane.spans) {
    if (waits(at)) continue;
    busy += Math.max(0, spans.end[at] - Math.max(spans.start[at], reached));
    reached = Math.max(reached, spans.end[at]);
  }
  return busy;
};

// The first place from which on a condition holds that stays true once it is.
hallway.search = (count, holds, low = 0) => {
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle; else low = middle + 1;
  }
  return low;
};

// Nanoseconds with three digits, as the rest of the page has them.
hallway.time = nanos => {
  const sign = nanos < 0 ? "-" : "", size = Math.abs(nanos);
  if (size < 999.5) return `${sign}${Math.round(size)} ns`;
  const [scale, unit] = size < 999.5e3 ? [1e3, "us"] : size < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
  const value = size / scale;
  return `${sign}${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
};

hallway.bytes = bytes => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < 4) { bytes /= 1024; unit++; }
  return `${Number.isInteger(bytes) ? bytes : bytes.toFixed(1)} ${units[unit]}`;
};
